"""When a member must act next: after which pause, and for which of its timers."""

from dataclasses import replace

from tests.support.lone_member import A0, TOPICS, Member, of_kind, parts
from zkconsumer.error_codes import ErrorCode as E
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.states import GroupSettings

SETTINGS = GroupSettings(
    strategies=("cooperative-sticky",),
    session_timeout_ms=9_000,
    heartbeat_interval_ms=3_000,
    max_poll_interval_ms=20_000,
    retry_backoff_ms=100,
    retry_backoff_max_ms=400,
)


def stable() -> Member:
    """Return a member that joined, and polled, at 0 ms."""
    member = Member(SETTINGS)
    member.take_assignment(parts(A0))
    return member


def test_the_next_deadline_of_a_stable_member_is_its_next_heartbeat() -> None:
    """Next comes the session time-out, unless there is a response; then the poll interval."""
    member = stable()
    assert member.core.next_deadline_ms() == 3_000
    assert member.advance(2_999) == []
    assert member.advance(1) == [ev.SendHeartbeat("me", 1)]
    assert member.core.next_deadline_ms() == 9_000
    member.notify(ev.HeartbeatCompleted("me", 1, 0))
    assert member.core.next_deadline_ms() == 6_000


def test_the_poll_interval_is_counted_from_the_last_poll() -> None:
    """It is the next deadline if no heartbeat is due earlier."""
    member = stable()
    for _ in range(6):
        member.respond_to_heartbeat(0)
    assert member.core.next_deadline_ms() == 20_000
    member.poll()
    assert member.core.next_deadline_ms() == 21_000
    assert of_kind(member.advance(2_000), ev.SendLeave) == []


def test_a_member_that_left_for_lack_of_polls_waits_for_a_poll() -> None:
    """No timer makes it join again."""
    member = stable()
    member.advance(20_000)
    assert member.core.next_deadline_ms() is None


def test_a_refused_heartbeat_is_sent_again_after_a_pause() -> None:
    """After a whole heartbeat interval the session might have expired."""
    member = stable()
    assert member.respond_to_heartbeat(E.COORDINATOR_LOAD_IN_PROGRESS) == []
    assert member.core.next_deadline_ms() == 3_100
    assert member.advance(99) == []
    assert member.advance(1) == [ev.SendHeartbeat("me", 1)]


def test_lookups_that_fail_are_repeated_after_pauses_that_grow() -> None:
    """Failures and retriable errors both lengthen the pause; finding a coordinator resets it."""
    member = Member(SETTINGS)
    member.notify(ev.Subscribed(TOPICS))
    actions = member.poll()
    for code, pause_ms in ((None, 100), (E.COORDINATOR_NOT_AVAILABLE, 200), (None, 400)):
        (search,) = actions
        assert isinstance(search, ev.FindCoordinator)
        assert member.notify(ev.CoordinatorUnknown(search.round, code)) == []
        assert member.core.next_deadline_ms() == member.now_ms + pause_ms
        assert member.advance(pause_ms - 1) == []
        actions = member.advance(1)
    (search,) = actions
    assert isinstance(search, ev.FindCoordinator)
    member.notify(ev.CoordinatorLocated(search.round))
    (search,) = member.notify(ev.CoordinatorLost())
    assert isinstance(search, ev.FindCoordinator)
    member.notify(ev.CoordinatorUnknown(search.round, None))
    assert member.core.next_deadline_ms() == member.now_ms + 100


def test_joins_that_fail_are_repeated_after_pauses_that_grow() -> None:
    """Taking over an assignment resets the pause."""
    member = Member(SETTINGS)
    join = member.subscribe()
    for pause_ms in (100, 200, 400, 400):
        refused = ev.JoinCompleted(round=join.round, code=E.COORDINATOR_LOAD_IN_PROGRESS)
        assert member.notify(refused) == []
        assert member.advance(pause_ms - 1) == []
        (action,) = member.advance(1)
        assert isinstance(action, ev.SendJoin)
        join = action
    sync = member.joined(join)
    member.notify(ev.SyncCompleted(sync.round, 0, parts(A0)))
    (taken,) = member.poll()
    assert isinstance(taken, ev.TakeOver)
    member.notify(ev.CallbackDone(taken.round))
    (action,) = member.notify(ev.RejoinTriggered(ev.JoinReason.REQUESTED))
    assert isinstance(action, ev.SendJoin)
    refused = ev.JoinCompleted(round=action.round, code=E.COORDINATOR_LOAD_IN_PROGRESS)
    member.notify(refused)
    assert of_kind(member.advance(99), ev.SendJoin) == []
    assert of_kind(member.advance(1), ev.SendJoin)


def test_trust_counts_from_the_last_sync_with_a_response() -> None:
    """SyncGroup was sent later than JoinGroup, so the coordinator has heard from us since."""
    member = Member(SETTINGS)
    join = member.subscribe()
    member.now_ms += 500
    sync = member.joined(join)
    assert member.core.trusted_until_ms == 9_000
    member.now_ms += 500
    member.notify(ev.SyncCompleted(sync.round, 0, parts(A0)))
    assert member.core.trusted_until_ms == 9_500


def test_a_void_generation_is_no_longer_trusted() -> None:
    """It does not matter what the last heartbeat's response was."""
    member = stable()
    member.respond_to_heartbeat(0)
    member.respond_to_heartbeat(E.ILLEGAL_GENERATION)
    assert member.core.trusted_until_ms is None


def test_timeouts_agreed_with_the_coordinator_replace_the_settings() -> None:
    """JoinGroup 0 has one time-out for both of ours."""
    member = Member(replace(SETTINGS, heartbeat_interval_ms=2_000))
    member.core.set_timeouts(session_timeout_ms=6_000, rebalance_timeout_ms=2_500)
    member.take_assignment(parts(A0))
    assert member.core.trusted_until_ms == 6_000
    assert member.core.next_deadline_ms() == 2_000
    member.now_ms = 2_000
    beat = member.notify(ev.TimerExpired())[-1]
    assert isinstance(beat, ev.SendHeartbeat)
    member.notify(ev.HeartbeatCompleted("me", 1, E.REBALANCE_IN_PROGRESS))
    assert member.core.trusted_until_ms == 2_500
