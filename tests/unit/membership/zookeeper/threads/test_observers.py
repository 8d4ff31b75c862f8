"""Events for observers: each at its time, with its cause; a failing observer does no harm."""

import logging
from collections.abc import Callable

import pytest

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.control_bench import (
    BACKOFF_MS,
    ControlledMember,
    Group,
    consume_all,
    own_as_stranger,
)
from tests.support.manual_clock import ManualClock
from tests.support.recording_listener import RecordingListener
from tests.support.recording_observer import RecordingObserver
from zkconsumer.membership.zookeeper.core.events import Event as CoreEvent
from zkconsumer.membership.zookeeper.core.events import SessionEnded, SessionStarted
from zkconsumer.membership.zookeeper.threads.messages import ThreadDied
from zkconsumer.membership.zookeeper.threads.ownership import OwnedClaims
from zkconsumer.membership.zookeeper.threads.session_events import listen
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.observe import (
    CommitFailed,
    Committed,
    DeliveryPaused,
    DeliveryResumed,
    ErrorSeen,
    Event,
    Joined,
    Left,
    MemberName,
    Observation,
    RebalanceFinished,
    RebalanceGivenUp,
    RebalanceStarted,
    RebalanceStep,
    RebalanceTryFailed,
    SessionChanged,
)
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.gate import DeliveryGate

AUDIT_MS = 10_000
T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
A0 = ConsumerThreadId("g_a", 0)
MEMBER = MemberName("g", "g_a")


def causes(member: ControlledMember) -> list[str]:
    """Return the causes of its rebalances so far."""
    return [rebalance_started.cause for rebalance_started in member.observed.of(RebalanceStarted)]


def steps_since(member: ControlledMember, count: int) -> list[tuple[str, int]]:
    """Return its rebalance steps after that many events, each with its number of partitions."""
    events = member.observed.events[count:]
    return [(event.step, event.partitions) for event in events if isinstance(event, RebalanceStep)]


# --- rounds --------------------------------------------------------------------------------------


def test_joining_is_reported_step_by_step() -> None:
    """Events come in order; the last two are that the rebalance finished, and that it joined."""
    group = Group()
    group.time = ManualClock()
    member = group.joined("a")
    assert causes(member) == ["joined"]
    assert steps_since(member, 0) == [
        ("Register", 0),
        ("ReadGroup", 0),
        ("Claim", 2),
        ("LoadOffsets", 2),
        ("Start", 2),
    ]
    finished, joined = member.observed.events[-2:]
    owned = {T0: A0, T1: A0}
    assert finished == RebalanceFinished(cause="joined", duration_ms=0, changed=True, owned=owned)
    assert joined == Joined(0)


def test_a_hand_over_is_reported_step_by_step() -> None:
    """Partitions are revoked in the order that loses nothing; then the ownership is reported."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0, 1])
    consume_all(member.stream())
    before = len(member.observed.events)
    group.joined("0")
    assert steps_since(member, before)[:4] == [
        ("ReadGroup", 2),
        ("Revoke", 1),
        ("Commit", 1),
        ("Release", 1),
    ]
    assert [dict(committed.offsets) for committed in member.observed.of(Committed)] == [{T0: 2}]
    finished = member.observed.of(RebalanceFinished)[-1]
    assert finished.owned == {T1: A0}


def _member_comes(group: Group) -> None:
    group.joined("b")


def _topic_grows(group: Group) -> None:
    group.set_topic("t", 3)
    group.settle()


def _session_ends(group: Group) -> None:
    [member] = group.members
    session_id = member.store.session_id
    group.server.disconnect(session_id)
    group.server.expire(session_id)
    group.settle()
    group.server.reconnect(session_id)
    group.settle()


def _connection_breaks(group: Group) -> None:
    [member] = group.members
    group.server.disconnect(member.store.session_id)
    group.server.reconnect(member.store.session_id)
    group.settle()


def _audit(group: Group) -> None:
    group.pass_time(AUDIT_MS)


@pytest.mark.parametrize(
    ("act", "cause", "changed"),
    [
        (_member_comes, "members changed", True),
        (_topic_grows, "a topic's partitions changed", True),
        (_session_ends, "a new ZooKeeper session", True),
        (_connection_breaks, "ZooKeeper is back", False),
        (_audit, "an audit", False),
    ],
)
def test_a_rebalance_names_its_cause_and_whether_it_changed_anything(
    act: Callable[[Group], None], cause: str, changed: bool
) -> None:
    """The first and the last event of a rebalance have the same cause."""
    group = Group()
    member = group.joined("a", audit_interval_ms=AUDIT_MS)
    before = len(member.observed.events)
    act(group)
    events = member.observed.events[before:]
    started = [event.cause for event in events if isinstance(event, RebalanceStarted)]
    finished = [event for event in events if isinstance(event, RebalanceFinished)]
    assert cause in started
    assert [
        (rebalance_finished.cause, rebalance_finished.changed)
        for rebalance_finished in finished
        if rebalance_finished.cause == cause
    ] == [(cause, changed)]


def test_a_released_partition_and_a_new_broker_are_causes() -> None:
    """Each cause has its own name."""
    group = Group()
    broker = group.text("/brokers/ids/0")
    assert broker is not None
    group.admin.delete_many(["/brokers/ids/0"])
    member = group.joined("a")
    [path] = own_as_stranger(group, 0)
    group.write("/brokers/ids/0", broker.encode())
    group.settle()
    group.admin.delete_many([path])
    group.settle()
    assert causes(member) == ["joined", "brokers registered", "an owner released a partition"]


def test_failed_attempts_are_reported_with_numbers_and_pauses() -> None:
    """Giving up is reported next, and the end of the rebalance once it succeeds."""
    group = Group()
    [path] = own_as_stranger(group, 0)
    member = group.member("a", max_retries=3)
    member.join({"t": 1})
    group.settle()
    for _ in range(2):
        group.pass_time(BACKOFF_MS)
    failed = member.observed.of(RebalanceTryFailed)
    assert [event.attempt for event in failed] == [1, 2, 3]
    assert all(event.delay_ms > 0 and "t-0 by g_x-0" in event.reason for event in failed)
    group.pass_time(BACKOFF_MS)
    [given_up] = member.observed.of(RebalanceGivenUp)
    assert given_up.attempts == 3
    assert "t-0 by g_x-0" in given_up.reason
    assert member.observed.of(RebalanceFinished) == []
    group.admin.delete_many([path])
    failures = [
        rebalance_step.failure
        for rebalance_step in member.observed.of(RebalanceStep)
        if rebalance_step.failure
    ]
    assert failures == ["1 partitions have another owner"] * 3


def test_the_duration_of_a_rebalance_covers_its_failed_attempts() -> None:
    """It counts from the first trigger."""
    group = Group()
    member = group.joined("a")
    [path] = own_as_stranger(group, 2)
    group.set_topic("t", 3)
    group.settle()
    group.pass_time(BACKOFF_MS)
    group.clock.advance(100)
    group.admin.delete_many([path])
    group.settle()
    finished = member.observed.of(RebalanceFinished)[-1]
    assert finished.duration_ms == BACKOFF_MS + 100
    assert finished.cause == "an owner released a partition"


def test_durations_are_never_negative_and_add_up() -> None:
    """With a clock that moves at every call, each step takes time, and their sum is no longer."""
    clock = ManualClock()
    clock.step_ms = 1
    group = Group(time=clock)
    member = group.joined("a", audit_interval_ms=AUDIT_MS)
    member.deliver(T0, [0, 1])
    consume_all(member.stream())
    group.joined("0")
    group.server.expire(member.store.session_id)
    group.settle()
    timed = [event for event in member.observed.events if hasattr(event, "duration_ms")]
    assert {type(event) for event in timed} == {RebalanceStep, RebalanceFinished, Joined, Committed}
    assert all(event.duration_ms > 0 for event in timed)
    finished = member.observed.of(RebalanceFinished)[0]
    first_round = member.observed.events[: member.observed.events.index(finished)]
    steps = [
        rebalance_step.duration_ms
        for rebalance_step in first_round
        if isinstance(rebalance_step, RebalanceStep)
    ]
    assert sum(steps) <= finished.duration_ms <= member.observed.of(Joined)[0].duration_ms


# --- commits, errors, the end --------------------------------------------------------------------


def test_commits_are_reported_with_offsets_and_failures() -> None:
    """Each partition has its offset or the reason, and the event names the storage."""
    group = Group()
    member = group.joined("a", auto_commit=False)
    for tp in (T0, T1):
        member.deliver(tp, [0, 1])
    consume_all(member.stream())
    group.write("/consumers/g/offsets/t/1", b"99")
    member.commit()
    group.settle()
    [committed] = member.observed.of(Committed)
    assert (committed.storage, dict(committed.offsets)) == ("zookeeper", {T0: 2})
    [failed] = member.observed.of(CommitFailed)
    assert failed.storage == "zookeeper"
    assert set(failed.reasons) == {T1}
    assert "99" in failed.reasons[T1]


def test_a_commit_without_new_offsets_is_no_event() -> None:
    """Otherwise an idle member would report one every minute."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0])
    consume_all(member.stream())
    for _ in range(5):
        group.pass_time(60_000)
    assert len(member.observed.of(Committed)) == 1


def test_an_error_of_the_listener_is_reported_with_its_exception() -> None:
    """The event says where it happened, too."""
    group = Group()
    error = ZeroDivisionError("a bug of the caller")

    def fail(_reported: object) -> None:
        raise error

    member = group.member("a")
    member.listener.listener = RecordingListener(fail, fail)
    member.join({"t": 1})
    group.settle()
    member.close()
    group.settle()
    reported = [
        (error_seen.where, error_seen.error) for error_seen in member.observed.of(ErrorSeen)
    ]
    assert reported == [("listener before a start", error), ("listener before a release", error)]


def test_leaving_is_reported_last() -> None:
    """It is the last event of a member."""
    group = Group()
    member = group.joined("a")
    member.close()
    group.settle()
    assert member.observed.events[-1] == Left()
    assert len(member.observed.of(Left)) == 1


def test_session_events_have_the_session_id() -> None:
    """They follow what must happen at once: delivery has stopped when a loss is reported."""
    server, observed, reported = (
        MemoryZkServer(),
        RecordingObserver(),
        list[CoreEvent | ThreadDied](),
    )
    store, clock = server.connect(), ManualClock()
    first = store.session_id
    claims = OwnedClaims()
    claim = claims.open(T0, ChunkQueue(1), None, first)
    received: list[tuple[str, bool]] = []

    class ClaimObserver:
        def observe(self, member: MemberName, event: Event) -> None:
            assert member == MEMBER
            assert isinstance(event, SessionChanged)
            received.append((event.state, claim.active))

    observation = Observation(MEMBER, (observed, ClaimObserver()))
    gate = DeliveryGate(clock, 1_000, observation)
    interrupted: list[bool] = []
    listen(
        store,
        reported.append,
        claims=claims,
        gate=gate,
        interrupt=lambda: interrupted.append(claim.active),
        observation=observation,
    )
    server.disconnect(first)
    clock.advance(1_000)
    assert gate.is_shut()
    server.expire(first)
    server.reconnect(first)
    second = store.session_id
    assert reported == [SessionStarted(first), SessionEnded(first), SessionStarted(second)]
    assert interrupted == [False]
    assert received == [("SUSPENDED", True), ("LOST", False), ("CONNECTED", False)]
    assert [session_changed.session_id for session_changed in observed.of(SessionChanged)] == [
        first,
        first,
        second,
    ]
    assert observed.of(DeliveryPaused) == [DeliveryPaused(1_000)]
    assert observed.of(DeliveryResumed) == [DeliveryResumed()]


# --- observers that fail -------------------------------------------------------------------------


class Failing:
    """An observer with a bug."""

    def observe(self, member: MemberName, event: Event) -> None:
        """Raise an error."""
        raise ZeroDivisionError(f"{member} {event}")


def test_an_observer_that_fails_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    """Other observers get every event, the member works, and the log names observer and event."""
    group = Group()
    member = group.member("a")
    observation = member.listener._observation
    observation._observers = (Failing(), *observation._observers)
    member.join({"t": 1})
    with caplog.at_level(logging.ERROR):
        group.settle()
        member.deliver(T0, [0, 1])
        consume_all(member.stream())
        group.joined("0")
        group.server.expire(member.store.session_id)
        group.settle()
        member.close()
        group.settle()
    assert group.offset(0) == "2"
    assert member.observed.events[-1] == Left()
    assert len(caplog.records) >= len(member.observed.events)
    assert any("Failing" in message and "Joined" in message for message in caplog.messages)
