"""Static files, on real threads (the unit tests of the same name hold the rest)."""

from tests.support.asgi_client import request
from zkconsumer.web.files import PageFiles


def test_a_file_that_did_not_change_is_not_sent_again() -> None:
    """The browser revalidates its copy, and gets 304 without a body."""
    app = PageFiles()
    styles = request(app, "/page.css", {})
    assert styles.headers["cache-control"] == "no-cache"
    again = request(app, "/page.css", {"if-none-match": styles.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert again.headers["cache-control"] == "no-cache"
