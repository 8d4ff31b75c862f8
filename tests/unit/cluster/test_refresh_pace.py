"""How often metadata is asked for: enough to notice, not so often that it harms."""

from zkconsumer.cluster.refresh_pace import (
    MISSING_MS,
    MOST_MISSING_MS,
    MOST_RETRY_MS,
    REFUSED_MS,
    RefreshPace,
)

REFRESH_MS = 300_000


def pace(refresh_ms: int = REFRESH_MS) -> RefreshPace:
    """The usual settings."""
    return RefreshPace(refresh_ms=refresh_ms, backoff_ms=100)


def test_rests_where_all_is_there() -> None:
    """Unless somebody wants to know more."""
    one = pace()
    one.on_response(missing=False)
    assert one.interval_ms(wanted=False) == REFRESH_MS
    assert one.interval_ms(wanted=True) == 100


def test_tries_again_where_nobody_answers() -> None:
    """Sooner, then later, whoever wants what; and as before when somebody has answered."""
    one = pace()
    pauses = []
    for _ in range(6):
        one.failed(refused=False)
        pauses.append(one.interval_ms(wanted=True))
    assert pauses == [100, 200, 400, 800, MOST_RETRY_MS, MOST_RETRY_MS]
    one.on_response(missing=False)
    one.failed(refused=False)
    assert one.interval_ms(wanted=False) == 100


def test_looks_again_for_what_is_missing() -> None:
    """A topic may come to be, a leader be found: not in five minutes only."""
    one = pace()
    pauses = []
    for _ in range(9):
        one.on_response(missing=True)
        pauses.append(one.interval_ms(wanted=False))
    assert pauses[:3] == [100, 200, 400]
    assert pauses[-1] == MISSING_MS
    assert one.interval_ms(wanted=True) == 100
    one.on_response(missing=False)
    one.on_response(missing=True)
    assert one.interval_ms(wanted=False) == 100
    short = pace(refresh_ms=150)
    short.on_response(missing=True)
    short.on_response(missing=True)
    assert short.interval_ms(wanted=False) == 150


def test_what_costs_brokers_much_is_asked_less_often() -> None:
    """An answer about all topics of a large cluster; a new topic is found all the same."""
    one = pace()
    for _ in range(9):
        one.on_response(missing=True, took_ms=200)
    assert one.interval_ms(wanted=False) == 4_000
    one.on_response(missing=True, took_ms=5_000)
    assert one.interval_ms(wanted=False) == MOST_MISSING_MS
    one.on_response(missing=True, took_ms=5)
    assert one.interval_ms(wanted=False) == MISSING_MS


def test_does_not_hammer_with_a_password_that_was_refused() -> None:
    """However much is wanted."""
    one = pace()
    one.failed(refused=True)
    assert one.interval_ms(wanted=True) == REFUSED_MS
    one.on_response(missing=False)
    assert one.interval_ms(wanted=True) == 100


def test_new_topics_do_not_wait_unless_requests_fail() -> None:
    """Nothing can be fetched of them before; but brokers that are down are not asked more often."""
    one = RefreshPace(refresh_ms=REFRESH_MS, backoff_ms=100)
    one.on_response(missing=True)
    assert one.interval_ms(wanted=True, has_new_topics=True) == 0
    one.failed(refused=False)
    assert one.interval_ms(wanted=True, has_new_topics=True) == 100
    one.failed(refused=True)
    assert one.interval_ms(wanted=True, has_new_topics=True) == REFUSED_MS
