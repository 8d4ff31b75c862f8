"""On real threads: what the unit tests of the same name do not hold."""

from tests.support.asgi_client import request
from zkconsumer.web.files import PageFiles


def test_browsers_keep_what_they_have() -> None:
    """It is asked for again, and costs no bytes where it is the same."""
    app = PageFiles()
    styles = request(app, "/page.css", {})
    assert styles.headers["cache-control"] == "no-cache"
    again = request(app, "/page.css", {"if-none-match": styles.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert again.headers["cache-control"] == "no-cache"
