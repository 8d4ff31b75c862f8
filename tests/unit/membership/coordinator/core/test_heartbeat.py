"""Three silences, told apart by arithmetic."""

from dataclasses import replace

from zkconsumer.membership.coordinator.core.heartbeat import Heartbeat
from zkconsumer.membership.coordinator.core.states import GroupSettings

SETTINGS = GroupSettings(
    session_timeout_ms=1000,
    heartbeat_interval_ms=300,
    max_poll_interval_ms=5000,
    retry_backoff_ms=50,
)


def joined() -> Heartbeat:
    """Joined at 100 ms, having asked at 0."""
    beat = Heartbeat(SETTINGS)
    beat.on_joined(0, 100)
    return beat


def test_one_heartbeat_an_interval_and_one_at_a_time() -> None:
    """The next one is counted from the sending of the last."""
    beat = joined()
    assert not beat.is_due(399)
    assert beat.is_due(400)
    beat.on_sent(400)
    assert not beat.is_due(900)
    beat.on_response(500)
    assert (beat.is_due(699), beat.is_due(700)) == (False, True)


def test_a_failed_heartbeat_is_followed_soon() -> None:
    """The next one follows after retry.backoff.ms."""
    beat = joined()
    beat.on_sent(400)
    beat.on_failed(450)
    assert (beat.is_due(499), beat.is_due(500)) == (False, True)


def test_the_coordinator_is_silent_a_session_after_its_last_answer() -> None:
    """Counted from the answer, since it is its silence."""
    beat = joined()
    assert (beat.is_session_expired(1099), beat.is_session_expired(1100)) == (False, True)
    beat.on_coordinator_found(1100)
    assert not beat.is_session_expired(2099)


def test_a_new_coordinator_is_asked_at_once() -> None:
    """It may have to be told of us before the old one's count is up."""
    beat = joined()
    beat.on_coordinator_found(150)
    assert beat.is_due(150)


def test_the_caller_is_silent_an_interval_after_its_last_poll() -> None:
    """The interval is max.poll.interval.ms."""
    beat = joined()
    beat.on_poll(200)
    assert (beat.is_poll_expired(5199), beat.is_poll_expired(5200)) == (False, True)


def test_trust_counts_from_what_was_asked_and_ends_with_the_generation() -> None:
    """An answer never lengthens it beyond a session after its request."""
    beat = joined()
    assert beat.trusted_until_ms == 1000
    beat.on_sent(400)
    beat.on_response(900)
    assert beat.trusted_until_ms == 1400
    beat.void()
    assert beat.trusted_until_ms is None


def test_a_rebalance_ends_trust_when_it_waits_no_longer() -> None:
    """It began after the last calm answer's request, at the earliest."""
    beat = joined()
    for start_ms in range(400, 5200, 300):
        beat.on_sent(start_ms)
        beat.on_response(start_ms + 10, rebalancing=start_ms > 400)
    assert beat.trusted_until_ms == 400 + 5000


def test_a_join_ends_what_a_rebalance_did_to_trust() -> None:
    """The member is in the next generation, whatever the last heartbeat said."""
    beat = joined()
    beat.on_sent(400)
    beat.on_response(410, rebalancing=True)
    assert beat.trusted_until_ms == 1400
    beat.on_joined(4_000, 4_500)
    assert beat.trusted_until_ms == 5000
    assert not beat.in_flight


def test_the_rebalance_timeout_bounds_trust_where_there_is_one() -> None:
    """Else it is the poll interval, as for JoinGroup."""
    beat = Heartbeat(replace(SETTINGS, rebalance_timeout_ms=700))
    beat.on_joined(0, 100)
    beat.on_sent(400)
    beat.on_response(410, rebalancing=True)
    assert beat.trusted_until_ms == 700


def test_a_generation_that_is_void_awaits_no_heartbeat() -> None:
    """The next generation's first one need not wait for it."""
    beat = joined()
    beat.on_sent(400)
    beat.void()
    assert not beat.in_flight
    assert beat.is_due(700)


def test_looks_again_when_something_is_due() -> None:
    """The next heartbeat, or the end of patience with the one in flight."""
    beat = joined()
    assert beat.next_deadline_ms() == 400
    beat.on_sent(400)
    assert beat.next_deadline_ms() == 1100


def test_before_the_first_heartbeat_none_is_in_flight() -> None:
    """What is sent first does not wait for an answer to nothing."""
    beat = Heartbeat(SETTINGS)
    assert not beat.in_flight
    assert beat.is_due(0)
