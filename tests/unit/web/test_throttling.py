"""How quickly tokens can be guessed."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.asgi_client import scope_of
from zkconsumer.web.guarding import client_host
from zkconsumer.web.throttling import (
    ADDRESSES_MAX,
    GUESS_EACH_MS,
    GUESSES_AT_ONCE,
    GuessThrottle,
)


def test_some_wrong_tokens_are_free_and_more_must_wait() -> None:
    """Some wrong tokens cost nothing, more cost a wait; each address counts alone, for a while."""
    throttle = GuessThrottle()
    for _ in range(GUESSES_AT_ONCE):
        assert throttle.wait_ms("10.0.0.1", 0) == 0
        throttle.failed("10.0.0.1", 0)
    assert throttle.wait_ms("10.0.0.1", 0) == GUESS_EACH_MS
    assert throttle.wait_ms("10.0.0.2", 0) == 0
    assert throttle.wait_ms("10.0.0.1", GUESS_EACH_MS - 40) == 40
    assert throttle.wait_ms("10.0.0.1", GUESS_EACH_MS) == 0
    throttle.failed("10.0.0.1", GUESS_EACH_MS)
    assert throttle.wait_ms("10.0.0.1", GUESS_EACH_MS) == GUESS_EACH_MS
    later_ms = (GUESSES_AT_ONCE + 2) * GUESS_EACH_MS
    for _ in range(GUESSES_AT_ONCE):
        assert throttle.wait_ms("10.0.0.1", later_ms) == 0
        throttle.failed("10.0.0.1", later_ms)
    assert throttle.wait_ms("10.0.0.1", later_ms) == GUESS_EACH_MS


def test_the_number_of_addresses_is_bounded() -> None:
    """The number of addresses is bounded, and the one that failed longest ago is removed."""
    throttle = GuessThrottle()
    for _ in range(GUESSES_AT_ONCE):
        for host in ("a", "b", "a"):
            throttle.failed(host, 0)
    for number in range(ADDRESSES_MAX - 1):
        throttle.failed(f"c{number}", 0)
    assert [throttle.wait_ms(host, 0) > 0 for host in "ab"] == [True, False]
    assert len(throttle) == ADDRESSES_MAX


@given(st.lists(st.integers(0, 5_000), max_size=200))
def test_guesses_are_no_faster_than_allowed(pauses_ms: list[int]) -> None:
    """However guesses are timed, they are no more than the allowed rate."""
    throttle = GuessThrottle()
    now_ms, tried = 0, 0
    for pause_ms in pauses_ms:
        now_ms += pause_ms
        if not throttle.wait_ms("a", now_ms):
            throttle.failed("a", now_ms)
            tried += 1
        assert tried <= GUESSES_AT_ONCE + now_ms / GUESS_EACH_MS


def test_a_long_address_is_shortened() -> None:
    """An address that a proxy passes is shortened to a sane length."""
    scope = scope_of("GET", "/", {})
    assert client_host(scope) == "127.0.0.1"
    assert len(client_host({**scope, "client": ("x" * 10_000, 0)})) < 100
    assert client_host({**scope, "client": None}) == ""
