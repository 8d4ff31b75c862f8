"""Commits of a caller that polls: their results and errors, and when they come."""

import logging
from collections.abc import Callable

import pytest

from tests.support.group_commits import RecordedCallback
from tests.support.manual_clock import ManualClock
from tests.support.scripted_offsets import ScriptedOffsets
from zkconsumer.errors import (
    CommitFailed,
    ConnectionLost,
    ConsumerClosed,
    OffsetCommitFailed,
    OffsetCommitTimedOut,
    PartitionFailed,
    RegistryError,
    RequestTimedOut,
    ZkConsumerError,
)
from zkconsumer.membership.protocol import Offsets
from zkconsumer.membership.zookeeper.polled import commits
from zkconsumer.membership.zookeeper.polled.commits import ManualCommits
from zkconsumer.membership.zookeeper.threads.commits import NOT_READ_HERE
from zkconsumer.membership.zookeeper.threads.messages import CommitRequest, ControlTask, Message
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.offsets.wiring import OffsetSide

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
SOON_MS = 50
"""Less than the pause before another attempt, so that failures are raised at once."""


class FormerTopics(ScriptedOffsets):
    """An offset store that may have offsets of deleted topics.

    Attributes:
        former: offsets of topics that were deleted and created again.
    """

    def __init__(self) -> None:
        super().__init__()
        self.former: dict[TopicPartition, int] = {}

    def fetch(self, partitions: object) -> dict[TopicPartition, FetchedOffset]:
        """See ``OffsetStore``."""
        assert isinstance(partitions, list)
        found = super().fetch(partitions)
        return found | {
            tp: FetchedOffset(None, former=offset)
            for tp, offset in self.former.items()
            if tp in partitions
        }


class Caller:
    """A caller, and a control thread that responds at once.

    Attributes:
        away: whether the control thread does not respond.
        refusal: the error of a member's commits; None: they succeed.
        sent: the messages to the control thread.
    """

    def __init__(self) -> None:
        self.store = FormerTopics()
        self.clock = ManualClock()
        self.away = False
        self.connected = True
        self.refusal: ZkConsumerError | None = None
        self.closed: ZkConsumerError | None = None
        self.sent: list[Message] = []
        self.signals = 0
        self.commits = ManualCommits(
            "g",
            send=self._send,
            offsets=OffsetSide(store=ScriptedOffsets(), unguarded=self.store),
            signal=self._signal,
            clock=self.clock,
            is_connected=lambda: self.connected,
        )

    def _signal(self) -> None:
        self.signals += 1

    def _send(self, message: Message) -> None:
        if self.closed is not None:
            raise self.closed
        self.sent.append(message)
        if not self.away:
            self.respond(message)

    def respond(self, message: Message) -> None:
        """Respond to a message as the control thread."""
        match message:
            case ControlTask(work, reply):
                reply.complete(work)
            case CommitRequest(reply=commit_reply):
                if self.refusal is None:
                    commit_reply.set_result(1)
                else:
                    commit_reply.set_error(self.refusal)
            case _:
                pytest.fail(f"not the caller's: {message}")

    def commit(
        self, offsets: Offsets, *, by_member: bool = True, timeout_ms: int = SOON_MS
    ) -> None:
        """Commit as a member without claims, or without membership."""
        self.commits.commit(offsets, timeout_ms=timeout_ms, claims={} if by_member else None)

    def committed(
        self, *partitions: TopicPartition, as_member: bool = False
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed offsets of these partitions."""
        found = self.commits.committed(partitions, timeout_ms=SOON_MS, as_member=as_member)
        return dict(found)


@pytest.fixture
def caller() -> Caller:
    """A caller whose commits all succeed."""
    return Caller()


def at(offset: int, *partitions: TopicPartition) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return the same offset for each of these partitions, by default for t-0."""
    return {tp: OffsetAndMetadata(offset) for tp in partitions or (T0,)}


# --- what is committed -------------------------------------------------------------------------


def test_a_member_commits_under_its_claims(caller: Caller) -> None:
    """The control thread gets offsets and claims, and retries what may succeed later."""
    caller.commit(at(5))
    (request,) = caller.sent
    assert isinstance(request, CommitRequest)
    assert (request.offsets, request.claims, request.retry) == (at(5), {}, True)
    assert caller.signals == 1


def test_without_partitions_nothing_is_sent(caller: Caller) -> None:
    """No message is sent, for a commit or for a read."""
    caller.commit({})
    assert caller.committed() == {}
    assert caller.sent == []


def test_without_membership_offsets_are_written_as_given(caller: Caller) -> None:
    """It may even go back, or overwrite others' offsets: such a consumer decides for itself."""
    caller.commit(at(5, T0, T1), by_member=False)
    assert caller.store.commits == [({T0: 5, T1: 5}, True, True)]
    caller.store.refused[T1] = "no permission"
    with pytest.raises(OffsetCommitFailed, match="no permission") as caught:
        caller.commit(at(6, T0, T1), by_member=False)
    assert caught.value.failed == {T1: "no permission"}
    assert str(caught.value).startswith("group g: ")


def test_the_error_names_partitions_that_other_members_took(caller: Caller) -> None:
    """At most ten partitions are named; other failures are raised as they are."""
    lost = [TopicPartition("t", number) for number in range(12)]
    caller.refusal = OffsetCommitFailed("g", dict.fromkeys(lost, NOT_READ_HERE) | {T1: "broken"})
    with pytest.raises(CommitFailed) as caught:
        caller.commit(at(5))
    names = ", ".join(f"t-{number}" for number in (0, *range(2, 11)))
    assert str(caught.value).startswith(f"group g: {names} went to other members, or were lost")
    caller.refusal = OffsetCommitFailed("g", {T1: "broken"})
    with pytest.raises(OffsetCommitFailed, match="broken"):
        caller.commit(at(5))


def test_a_commit_without_a_response_is_in_doubt(caller: Caller) -> None:
    """Each partition is reported as in doubt, and the call returns in time."""
    caller.away = True
    with pytest.raises(OffsetCommitTimedOut) as caught:
        caller.commit(at(5, T0, T1), timeout_ms=0)
    late = "no response in time: it may be committed all the same"
    assert caught.value.failed == {T0: late, T1: late}


@pytest.mark.parametrize("connected", [True, False])
def test_a_failure_is_raised_when_no_time_is_left(caller: Caller, *, connected: bool) -> None:
    """There is one attempt, as no time is left for another."""
    caller.connected = connected
    caller.refusal = OffsetCommitFailed("g", {T0: "ZooKeeper is away"})
    with pytest.raises(OffsetCommitFailed, match="ZooKeeper is away"):
        caller.commit(at(5))
    assert len(caller.sent) == 1


@pytest.fixture
def pauses(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the pauses between attempts, and advance the clock by each."""
    paused_ms: list[int] = []

    def pause(duration_ms: int) -> None:
        paused_ms.append(duration_ms)
        caller.clock.advance(duration_ms)

    monkeypatch.setattr(commits, "wait_ms", pause)
    return paused_ms


TIMES = pytest.mark.parametrize(("timeout_ms", "tries"), [(99, 1), (100, 1), (101, 2), (300, 3)])


@TIMES
def test_a_commit_is_retried_while_time_is_left_after_the_pause(
    caller: Caller, pauses: list[int], *, timeout_ms: int, tries: int
) -> None:
    """Attempts go on while ZooKeeper is away; an attempt without time would be none."""
    caller.connected = False
    caller.refusal = OffsetCommitFailed("g", {T0: "ZooKeeper is away"})
    with pytest.raises(OffsetCommitFailed, match="ZooKeeper is away"):
        caller.commit(at(5), timeout_ms=timeout_ms)
    assert (len(caller.sent), pauses) == (tries, [100] * (tries - 1))


def test_a_refused_commit_is_not_retried(caller: Caller, pauses: list[int]) -> None:
    """Partitions of other members are refused however much time is left."""
    caller.connected = False
    caller.refusal = OffsetCommitFailed("g", {T0: NOT_READ_HERE})
    with pytest.raises(CommitFailed):
        caller.commit(at(5), timeout_ms=1_000)
    assert (len(caller.sent), pauses) == (1, [])


def test_a_close_limits_the_time_of_its_commits(caller: Caller) -> None:
    """The time-out of a close also limits commits with longer time-outs."""
    caller.away = True
    caller.commits.closing_by_ms = caller.clock.now_ms()
    with pytest.raises(OffsetCommitTimedOut):
        caller.commit(at(5), timeout_ms=60_000)


# --- without waiting ---------------------------------------------------------------------------


def test_callbacks_run_in_the_order_of_their_commits(caller: Caller) -> None:
    """The callback of a later commit waits for those of earlier ones."""
    callback = RecordedCallback()
    caller.away = True
    for offset in (1, 2):
        caller.commits.commit_async(at(offset), callback, claims={})
    first, second = caller.sent
    caller.respond(second)
    caller.commits.run_callbacks()
    assert callback.calls == []
    caller.respond(first)
    caller.commits.run_callbacks()
    caller.commits.run_callbacks()
    assert callback.calls == [(1, None), (2, None)]


def test_a_callback_gets_the_error_that_a_caller_would_get(caller: Caller) -> None:
    """They get the same errors: for lost partitions, and for a control thread that has ended."""
    callback = RecordedCallback()
    caller.refusal = OffsetCommitFailed("g", {T0: NOT_READ_HERE})
    caller.commits.commit_async(at(1), callback, claims={})
    caller.closed = ConsumerClosed("closed")
    caller.commits.commit_async(at(2), callback, claims={})
    caller.commits.commit_async(at(3), None, claims={})
    caller.commits.run_callbacks()
    assert [type(error) for _, error in callback.calls] == [CommitFailed, ConsumerClosed]


def test_a_callback_that_raises_is_logged_and_the_next_one_runs(
    caller: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    """A callback may commit itself; other callbacks don't run meanwhile."""
    callback = RecordedCallback()
    seen: list[int] = []

    def commit_and_raise(_offsets: Offsets, _error: Exception | None) -> None:
        caller.commit(at(9))
        seen.append(len(callback.calls))
        raise ValueError("the caller's")

    caller.commits.commit_async(at(1), commit_and_raise, claims={})
    caller.commits.commit_async(at(2), callback, claims={})
    caller.commits.run_callbacks()
    assert (seen, callback.calls) == ([0], [(2, None)])
    assert caplog.messages == ["group g: the callback of a commit failed"]
    caller.commits.commit_async(at(3), callback, claims={})
    caller.commits.run_callbacks()
    assert callback.calls == [(2, None), (3, None)]


def test_a_synchronous_commit_comes_after_the_callbacks_before_it(caller: Caller) -> None:
    """They run even if the synchronous commit fails."""
    callback = RecordedCallback()
    caller.commits.commit_async(at(1), callback, claims={})
    caller.refusal = OffsetCommitFailed("g", {T0: "broken"})
    with pytest.raises(OffsetCommitFailed):
        caller.commit(at(2))
    assert callback.calls == [(1, None)]


# --- what is stored ----------------------------------------------------------------------------


def test_committed_offsets_are_read(caller: Caller) -> None:
    """It is None if nothing was committed; an unreadable offset is an error, and not None."""
    caller.store.kept = {T0: 7}
    assert caller.committed(T0, T1) == {T0: OffsetAndMetadata(7), T1: None}
    caller.store.unreadable[T1] = "rubbish"
    with pytest.raises(PartitionFailed, match="t-1 stopped: rubbish"):
        caller.committed(T0, T1)


@pytest.mark.parametrize(
    ("cause_failure", "why"),
    [
        (lambda caller: setattr(caller, "away", True), "no response"),
        (lambda caller: setattr(caller.store, "broken", RegistryError("it is away")), "it is away"),
        (lambda caller: setattr(caller.store, "broken", ConnectionLost("it moved")), "it moved"),
    ],
)
def test_a_read_of_committed_offsets_may_time_out(
    caller: Caller, cause_failure: Callable[[Caller], None], why: str
) -> None:
    """The error has the reason."""
    cause_failure(caller)
    caller.commits.closing_by_ms = caller.clock.now_ms()
    with pytest.raises(RequestTimedOut, match=f"group g: committed offsets: {why}"):
        caller.committed(T0)


@TIMES
@pytest.mark.parametrize("kind", [RegistryError, ConnectionLost])
def test_a_read_of_committed_offsets_is_retried_while_time_is_left_after_the_pause(
    caller: Caller, pauses: list[int], kind: type[ZkConsumerError], *, timeout_ms: int, tries: int
) -> None:
    """ZooKeeper, or the coordinator of offsets in Kafka, may be back by then."""
    caller.store.broken = kind("it is away")
    with pytest.raises(RequestTimedOut, match="it is away"):
        caller.commits.committed([T0], timeout_ms=timeout_ms, as_member=False)
    assert (len(caller.sent), pauses) == (tries, [100] * (tries - 1))


def test_an_offset_of_a_deleted_topic_is_none_and_logged_once(
    caller: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    """Another such offset is logged again: the topic was created once more."""
    caller.store.former = {T0: 7, T1: 8}
    with caplog.at_level(logging.WARNING):
        assert caller.committed(T0) == {T0: None}
        (text,) = caplog.messages
        assert text.startswith("group g: topic t was deleted and created again since it was read")
        assert "(partition 0: 7)" in text
        caller.committed(T0)
        assert len(caplog.messages) == 1
        caller.committed(T0, T1)
        assert "(partition 1: 8)" in caplog.messages[1]
        caller.store.former[T0] = 3
        caller.committed(T0, T1)
    assert len(caplog.messages) == 3
    assert "(partition 0: 3)" in caplog.messages[2]


def test_a_read_by_a_member_does_not_log_deleted_topics(
    caller: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    """The rebalance has logged it already."""
    caller.store.former = {T0: 7}
    assert caller.committed(T0, as_member=True) == {T0: None}
    assert caplog.messages == []
