"""What observers hear: each event at its moment, with its cause; and that they harm nobody."""

import logging
from collections.abc import Callable

import pytest

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.control_bench import BACKOFF_MS, ControlledMember, Group, drained, hold
from tests.support.listening import NotedListener
from tests.support.manual_clock import ManualClock
from tests.support.noting import Noting
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
    """Why it rebalanced, so far."""
    return [rebalance_started.cause for rebalance_started in member.observed.of(RebalanceStarted)]


def steps_since(member: ControlledMember, count: int) -> list[tuple[str, int]]:
    """The steps of its rebalances after so many events, and how many partitions they were about."""
    events = member.observed.events[count:]
    return [(event.step, event.partitions) for event in events if isinstance(event, RebalanceStep)]


# --- rounds --------------------------------------------------------------------------------------


def test_joining_is_told_step_by_step() -> None:
    """In the order in which it happens; the last words are that it rests, and that it joined."""
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


def test_a_hand_over_is_told_step_by_step() -> None:
    """What leaves, in the order that loses nothing; then what it reads now."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0, 1])
    drained(member.stream())
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
    ("happens", "cause", "changed"),
    [
        (_member_comes, "members changed", True),
        (_topic_grows, "a topic's partitions changed", True),
        (_session_ends, "a new ZooKeeper session", True),
        (_connection_breaks, "ZooKeeper is back", False),
        (_audit, "an audit", False),
    ],
)
def test_a_rebalance_names_its_cause_and_whether_it_changed_anything(
    happens: Callable[[Group], None], cause: str, changed: bool
) -> None:
    """Begin and end agree."""
    group = Group()
    member = group.joined("a", audit_interval_ms=AUDIT_MS)
    before = len(member.observed.events)
    happens(group)
    events = member.observed.events[before:]
    started = [event.cause for event in events if isinstance(event, RebalanceStarted)]
    finished = [event for event in events if isinstance(event, RebalanceFinished)]
    assert cause in started
    assert [
        (rebalance_finished.cause, rebalance_finished.changed)
        for rebalance_finished in finished
        if rebalance_finished.cause == cause
    ] == [(cause, changed)]


def test_an_owner_that_lets_go_and_a_broker_that_comes_are_causes() -> None:
    """Each by its name."""
    group = Group()
    broker = group.text("/brokers/ids/0")
    assert broker is not None
    group.admin.delete_many(["/brokers/ids/0"])
    member = group.joined("a")
    [path] = hold(group, 0)
    group.write("/brokers/ids/0", broker.encode())
    group.settle()
    group.admin.delete_many([path])
    group.settle()
    assert causes(member) == ["joined", "brokers registered", "an owner released a partition"]


def test_failed_tries_are_told_with_their_numbers_and_pauses() -> None:
    """Then that it gave up; then, once, that it rests, with the time that all of it took."""
    group = Group()
    [path] = hold(group, 0)
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


def test_the_duration_of_a_rebalance_covers_its_failed_tries() -> None:
    """From leaving the rest on."""
    group = Group()
    member = group.joined("a")
    [path] = hold(group, 2)
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
    """On a clock that moves at every look, each step takes time, and all of them no more."""
    clock = ManualClock()
    clock.step_ms = 1
    group = Group(time=clock)
    member = group.joined("a", audit_interval_ms=AUDIT_MS)
    member.deliver(T0, [0, 1])
    drained(member.stream())
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


def test_commits_are_told_with_what_was_written_and_what_was_not() -> None:
    """For each partition the offset, or the reason; where they are kept."""
    group = Group()
    member = group.joined("a", auto_commit=False)
    for tp in (T0, T1):
        member.deliver(tp, [0, 1])
    drained(member.stream())
    group.write("/consumers/g/offsets/t/1", b"99")
    member.commit()
    group.settle()
    [committed] = member.observed.of(Committed)
    assert (committed.storage, dict(committed.offsets)) == ("zookeeper", {T0: 2})
    [failed] = member.observed.of(CommitFailed)
    assert failed.storage == "zookeeper"
    assert set(failed.reasons) == {T1}
    assert "99" in failed.reasons[T1]


def test_a_commit_of_nothing_new_is_no_event() -> None:
    """Every minute of an idle member would be one."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0])
    drained(member.stream())
    for _ in range(5):
        group.pass_time(60_000)
    assert len(member.observed.of(Committed)) == 1


def test_an_error_of_the_listener_is_told_with_the_error_itself() -> None:
    """And where it happened."""
    group = Group()
    error = ZeroDivisionError("a bug of the caller")

    def fail(_reported: object) -> None:
        raise error

    member = group.member("a")
    member.listener.listener = NotedListener(fail, fail)
    member.join({"t": 1})
    group.settle()
    member.close()
    group.settle()
    reported = [
        (error_seen.where, error_seen.error) for error_seen in member.observed.of(ErrorSeen)
    ]
    assert reported == [("listener before a start", error), ("listener before a release", error)]


def test_leaving_is_told_behind_all_that_it_does() -> None:
    """The last event of a member."""
    group = Group()
    member = group.joined("a")
    member.close()
    group.settle()
    assert member.observed.events[-1] == Left()
    assert len(member.observed.of(Left)) == 1


def test_session_events_are_told_with_the_session() -> None:
    """Behind what had to happen at once: delivery has stopped when observers hear of the end."""
    server, observed, reported = MemoryZkServer(), Noting(), list[CoreEvent | ThreadDied]()
    store, clock = server.connect(), ManualClock()
    first = store.session_id
    claims = OwnedClaims()
    claim = claims.open(T0, ChunkQueue(1), None, first)
    received: list[tuple[str, bool]] = []

    class Looking:
        def observe(self, member: MemberName, event: Event) -> None:
            assert member == MEMBER
            assert isinstance(event, SessionChanged)
            received.append((event.state, claim.active))

    observation = Observation(MEMBER, (observed, Looking()))
    gate = DeliveryGate(clock, 1_000, observation)
    broken_off: list[bool] = []
    listen(
        store,
        reported.append,
        claims=claims,
        gate=gate,
        interrupt=lambda: broken_off.append(claim.active),
        observation=observation,
    )
    server.disconnect(first)
    clock.advance(1_000)
    assert gate.is_shut()
    server.expire(first)
    server.reconnect(first)
    second = store.session_id
    assert reported == [SessionStarted(first), SessionEnded(first), SessionStarted(second)]
    assert broken_off == [False]
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
        """Fail."""
        raise ZeroDivisionError(f"{member} {event}")


def test_an_observer_that_fails_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """Others hear everything, the member works, and the log names what failed on what."""
    group = Group()
    member = group.member("a")
    observation = member.listener._observation
    observation._observers = (Failing(), *observation._observers)
    member.join({"t": 1})
    with caplog.at_level(logging.ERROR):
        group.settle()
        member.deliver(T0, [0, 1])
        drained(member.stream())
        group.joined("0")
        group.server.expire(member.store.session_id)
        group.settle()
        member.close()
        group.settle()
    assert group.offset(0) == "2"
    assert member.observed.events[-1] == Left()
    assert len(caplog.records) >= len(member.observed.events)
    assert any("Failing" in message and "Joined" in message for message in caplog.messages)
