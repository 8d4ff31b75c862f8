"""When to send heartbeats, and when the coordinator, the caller or the member counts as silent."""

from zkconsumer.membership.coordinator.core.heartbeat import Heartbeat
from zkconsumer.membership.coordinator.core.states import GroupSettings

SETTINGS = GroupSettings(
    session_timeout_ms=1000,
    heartbeat_interval_ms=300,
    max_poll_interval_ms=5000,
    retry_backoff_ms=50,
)


def joined() -> Heartbeat:
    """Return the heartbeat of a member that joined at 100 ms, with a request sent at 0 ms."""
    beat = Heartbeat(SETTINGS)
    beat.on_joined(0, 100)
    return beat


def test_a_heartbeat_is_sent_every_interval_and_one_at_a_time() -> None:
    """The next is due an interval after the last was sent."""
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


def test_the_session_expires_a_session_timeout_after_the_last_response() -> None:
    """The time-out counts from the response, since it measures the coordinator's silence."""
    beat = joined()
    assert (beat.is_session_expired(1099), beat.is_session_expired(1100)) == (False, True)
    beat.on_coordinator_found(1100)
    assert not beat.is_session_expired(2099)


def test_a_new_coordinator_gets_a_heartbeat_at_once() -> None:
    """The old coordinator's session time-out may be almost over."""
    beat = joined()
    beat.on_coordinator_found(150)
    assert beat.is_due(150)


def test_the_poll_interval_expires_after_the_last_poll() -> None:
    """The interval is max.poll.interval.ms."""
    beat = joined()
    beat.on_poll(200)
    assert (beat.is_poll_expired(5199), beat.is_poll_expired(5200)) == (False, True)


def test_trust_counts_from_the_request_and_ends_with_the_generation() -> None:
    """A late response extends it only to one session time-out after its request was sent."""
    beat = joined()
    assert beat.trusted_until_ms == 1000
    beat.on_sent(400)
    beat.on_response(900)
    assert beat.trusted_until_ms == 1400
    beat.void()
    assert beat.trusted_until_ms is None


def test_trust_ends_with_the_rebalance_timeout_during_a_rebalance() -> None:
    """The rebalance began after the last heartbeat without one was sent, at the earliest."""
    beat = joined()
    for start_ms in range(400, 5200, 300):
        beat.on_sent(start_ms)
        beat.on_response(start_ms + 10, rebalancing=start_ms > 400)
    assert beat.trusted_until_ms == 400 + 5000


def test_joining_lifts_the_limit_that_a_rebalance_set_to_trust() -> None:
    """The member is in the next generation, whatever the last heartbeat's response was."""
    beat = joined()
    beat.on_sent(400)
    beat.on_response(410, rebalancing=True)
    assert beat.trusted_until_ms == 1400
    beat.on_joined(4_000, 4_500)
    assert beat.trusted_until_ms == 5000
    assert not beat.in_flight


def test_an_agreed_rebalance_timeout_limits_trust() -> None:
    """Otherwise max.poll.interval.ms is the limit, as in JoinGroup."""
    beat = Heartbeat(SETTINGS)
    beat.set_timeouts(session_timeout_ms=SETTINGS.session_timeout_ms, rebalance_timeout_ms=700)
    beat.on_joined(0, 100)
    beat.on_sent(400)
    beat.on_response(410, rebalancing=True)
    assert beat.trusted_until_ms == 700


def test_a_void_generation_has_no_heartbeat_in_flight() -> None:
    """So the first heartbeat of the next generation need not wait for it."""
    beat = joined()
    beat.on_sent(400)
    beat.void()
    assert not beat.in_flight
    assert beat.is_due(700)


def test_the_next_deadline_is_the_next_timer() -> None:
    """It is the next heartbeat, or the end of the session while one is in flight."""
    beat = joined()
    assert beat.next_deadline_ms() == 400
    beat.on_sent(400)
    assert beat.next_deadline_ms() == 1100


def test_before_the_first_heartbeat_none_is_in_flight() -> None:
    """So the first heartbeat can be sent at once."""
    beat = Heartbeat(SETTINGS)
    assert not beat.in_flight
    assert beat.is_due(0)
