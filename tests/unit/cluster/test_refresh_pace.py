"""How often metadata is refreshed: soon enough to notice changes, without harming brokers."""

from zkconsumer.cluster.refresh_pace import (
    MISSING_MS,
    MOST_MISSING_MS,
    MOST_RETRY_MS,
    REFUSED_MS,
    RefreshPace,
)

REFRESH_MS = 300_000


def default_pace(refresh_ms: int = REFRESH_MS) -> RefreshPace:
    """Build a pace with the default settings."""
    return RefreshPace(refresh_ms=refresh_ms, backoff_ms=100)


def test_complete_metadata_is_refreshed_at_the_long_interval() -> None:
    """With complete metadata the configured interval applies, unless a refresh is requested."""
    pace = default_pace()
    pace.on_response(missing=False)
    assert pace.interval_ms(wanted=False) == REFRESH_MS
    assert pace.interval_ms(wanted=True) == 100


def test_failed_requests_are_retried_with_backoff() -> None:
    """Failures back off exponentially up to a maximum; a response resets the backoff."""
    pace = default_pace()
    pauses = []
    for _ in range(6):
        pace.failed(refused=False)
        pauses.append(pace.interval_ms(wanted=True))
    assert pauses == [100, 200, 400, 800, MOST_RETRY_MS, MOST_RETRY_MS]
    pace.on_response(missing=False)
    pace.failed(refused=False)
    assert pace.interval_ms(wanted=False) == 100


def test_missing_topics_are_looked_up_again_soon() -> None:
    """A missing topic or leader is looked up with backoff, not only at the long interval."""
    pace = default_pace()
    pauses = []
    for _ in range(9):
        pace.on_response(missing=True)
        pauses.append(pace.interval_ms(wanted=False))
    assert pauses[:3] == [100, 200, 400]
    assert pauses[-1] == MISSING_MS
    assert pace.interval_ms(wanted=True) == 100
    pace.on_response(missing=False)
    pace.on_response(missing=True)
    assert pace.interval_ms(wanted=False) == 100
    short = default_pace(refresh_ms=150)
    short.on_response(missing=True)
    short.on_response(missing=True)
    assert short.interval_ms(wanted=False) == 150


def test_slow_responses_are_requested_less_often() -> None:
    """The interval grows with the time that a response takes, up to a maximum."""
    pace = default_pace()
    for _ in range(9):
        pace.on_response(missing=True, took_ms=200)
    assert pace.interval_ms(wanted=False) == 4_000
    pace.on_response(missing=True, took_ms=5_000)
    assert pace.interval_ms(wanted=False) == MOST_MISSING_MS
    pace.on_response(missing=True, took_ms=5)
    assert pace.interval_ms(wanted=False) == MISSING_MS


def test_refused_credentials_are_not_retried_quickly() -> None:
    """After refused credentials the pause is long, even if a refresh is requested."""
    pace = default_pace()
    pace.failed(refused=True)
    assert pace.interval_ms(wanted=True) == REFUSED_MS
    pace.on_response(missing=False)
    assert pace.interval_ms(wanted=True) == 100


def test_new_topics_do_not_wait_unless_requests_fail() -> None:
    """Metadata of new topics is requested at once, but failures still back off."""
    pace = RefreshPace(refresh_ms=REFRESH_MS, backoff_ms=100)
    pace.on_response(missing=True)
    assert pace.interval_ms(wanted=True, has_new_topics=True) == 0
    pace.failed(refused=False)
    assert pace.interval_ms(wanted=True, has_new_topics=True) == 100
    pace.failed(refused=True)
    assert pace.interval_ms(wanted=True, has_new_topics=True) == REFUSED_MS
