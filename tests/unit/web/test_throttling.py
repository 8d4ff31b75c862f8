"""How quickly tokens can be guessed."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.asgi_client import scope_of
from zkconsumer.web.guarding import client_host
from zkconsumer.web.throttling import GuessThrottle


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


def test_an_address_is_no_longer_than_addresses_are() -> None:
    """A proxy may say anything."""
    scope = scope_of("GET", "/", {})
    assert client_host(scope) == "127.0.0.1"
    assert len(client_host({**scope, "client": ("x" * 10_000, 0)})) < 100
    assert client_host({**scope, "client": None}) == ""
