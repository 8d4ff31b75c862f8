"""How quickly tokens can be guessed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.asgi_client import request, scope_of
from tests.unit.web.test_app import FORM, HTML, TOKEN, Served
from zkconsumer.web.guarding import client_host
from zkconsumer.web.throttling import GUESS_EACH_MS, GUESSES_AT_ONCE, GuessThrottle


def test_some_wrong_tokens_are_free_and_later_ones_take_time() -> None:
    """Of each address by itself; with time all is forgiven."""
    throttle = GuessThrottle(at_once=3, each_ms=100)
    for _ in range(3):
        assert throttle.wait_ms("10.0.0.1", 0) == 0
        throttle.failed("10.0.0.1", 0)
    assert throttle.wait_ms("10.0.0.1", 0) == 100
    assert throttle.wait_ms("10.0.0.2", 0) == 0
    assert throttle.wait_ms("10.0.0.1", 60) == 40
    assert throttle.wait_ms("10.0.0.1", 100) == 0
    throttle.failed("10.0.0.1", 100)
    assert throttle.wait_ms("10.0.0.1", 100) == 100
    for _ in range(3):
        assert throttle.wait_ms("10.0.0.1", 500) == 0
        throttle.failed("10.0.0.1", 500)
    assert throttle.wait_ms("10.0.0.1", 500) == 100


def test_as_many_addresses_are_remembered_as_there_is_room_for() -> None:
    """The one that failed longest ago is forgotten."""
    throttle = GuessThrottle(at_once=1, each_ms=100, addresses_max=2)
    for host in ("a", "b", "a", "c"):
        throttle.failed(host, 0)
    assert [throttle.wait_ms(host, 0) > 0 for host in "abc"] == [True, False, True]
    assert len(throttle) == 2


@given(st.lists(st.integers(0, 5_000), max_size=200))
def test_nobody_guesses_quicker_than_allowed(pauses_ms: list[int]) -> None:
    """Who tries whenever it may, or not so often."""
    throttle = GuessThrottle(at_once=5, each_ms=1_000)
    now_ms, tried = 0, 0
    for pause_ms in pauses_ms:
        now_ms += pause_ms
        if not throttle.wait_ms("a", now_ms):
            throttle.failed("a", now_ms)
            tried += 1
        assert tried <= 5 + now_ms / 1_000


def log_in(served: Served, token: str) -> int:
    """Send the form."""
    body = f"token={token}".encode()
    return request(served.app, "/login", {**FORM, **HTML}, method="POST", body=body).status


def test_the_form_takes_no_guesses_at_speed(caplog: pytest.LogCaptureFixture) -> None:
    """Not even the right one then; who is logged in notices nothing of it."""
    served = Served(token=TOKEN)
    session = {
        "cookie": f"{served.tokens.cookie_name}={served.tokens.cookie(served.clock.wall_ms())}"
    }
    assert [log_in(served, f"wrong-{one}") for one in range(GUESSES_AT_ONCE)] == [
        403
    ] * GUESSES_AT_ONCE
    assert "wrong tokens come from '127.0.0.1'" in caplog.text
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


def test_the_header_takes_no_guesses_at_speed() -> None:
    """At no address, open ones included: they must not tell whether it was right."""
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


def test_what_is_no_guess_does_not_count() -> None:
    """A proxy's own password, an old cookie, no token at all."""
    served = Served(token=TOKEN)
    for _ in range(3 * GUESSES_AT_ONCE):
        assert served.get("/api/state", authorization="Basic dTpw").status == 401
        assert served.get("/api/state", cookie=f"{served.tokens.cookie_name}=1.x").status == 401
        assert served.get("/api/state").status == 401
    assert served.get("/api/state", authorization=f"Bearer {TOKEN}").status == 200


def test_an_address_is_no_longer_than_addresses_are() -> None:
    """A proxy may say anything."""
    scope = scope_of("GET", "/", {})
    assert client_host(scope) == "127.0.0.1"
    assert len(client_host({**scope, "client": ("x" * 10_000, 0)})) < 100
    assert client_host({**scope, "client": None}) == ""
