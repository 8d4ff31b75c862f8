"""How fast tokens can be guessed, on real threads."""

import pytest

from tests.support.asgi_client import request
from tests.threads.web.test_app import FORM, HTML, TOKEN, Served
from zkconsumer.web.throttling import GUESS_EACH_MS, GUESSES_AT_ONCE


def log_in(served: Served, token: str) -> int:
    """Send the login form, and return the status."""
    body = f"token={token}".encode()
    return request(served.app, "/login", {**FORM, **HTML}, method="POST", body=body).status


def test_guesses_by_the_form_are_throttled(caplog: pytest.LogCaptureFixture) -> None:
    """Even the right token is refused then; clients that are logged in are not affected."""
    served = Served(token=TOKEN)
    session = {
        "cookie": f"{served.tokens.cookie_name}={served.tokens.cookie(served.clock.wall_ms())}"
    }
    assert [log_in(served, f"wrong-{number}") for number in range(GUESSES_AT_ONCE)] == [
        403
    ] * GUESSES_AT_ONCE
    assert "wrong tokens from '127.0.0.1'" in caplog.text
    assert "wrong-" not in caplog.text
    refused = request(
        served.app, "/login", {**FORM, **HTML}, method="POST", body=f"token={TOKEN}".encode()
    )
    assert (refused.status, refused.headers["retry-after"]) == (429, "6")
    assert "Too many wrong tokens" in refused.text
    assert "set-cookie" not in refused.headers
    assert served.get("/groups", **session).status == 200
    assert served.get("/groups", authorization=f"Bearer {TOKEN}").status == 200
    served.clock.advance(GUESS_EACH_MS)
    assert log_in(served, TOKEN) == 303


def test_guesses_by_the_header_are_throttled() -> None:
    """They are at every address: public ones must not reveal whether the token was right."""
    served = Served(token=TOKEN)
    served.states.publish(problem="zk1:2181 does not answer")
    right, wrong = f"Bearer {TOKEN}", "Bearer wrong-token-wrong"
    for _ in range(GUESSES_AT_ONCE):
        assert served.get("/api/state", authorization=wrong).status == 401
    refused = served.get("/api/state", authorization=right)
    assert (refused.status, refused.headers["retry-after"]) == (429, "6")
    assert "zk1" not in served.get("/healthz", authorization=right).text
    sorry = served.get("/static/nothing", authorization=right, accept="text/html")
    assert sorry.status == 404
    assert "zk1" not in sorry.text
    assert served.get("/", authorization=right, accept="text/html").status == 303
    assert log_in(served, TOKEN) == 303
    served.clock.advance(GUESS_EACH_MS)
    assert served.get("/api/state", authorization=right).status == 200


def test_a_failed_request_without_a_guess_does_not_count() -> None:
    """A proxy's own password, an old cookie and a missing token are no guesses."""
    served = Served(token=TOKEN)
    for _ in range(3 * GUESSES_AT_ONCE):
        assert served.get("/api/state", authorization="Basic dTpw").status == 401
        assert served.get("/api/state", cookie=f"{served.tokens.cookie_name}=1.x").status == 401
        assert served.get("/api/state").status == 401
    assert served.get("/api/state", authorization=f"Bearer {TOKEN}").status == 200
