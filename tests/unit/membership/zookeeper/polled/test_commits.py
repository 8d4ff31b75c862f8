"""Commits of a caller that polls: what it is told, and when."""

import logging
from collections.abc import Callable

import pytest

from tests.support.group_commits import Told
from tests.support.manual_clock import ManualClock
from tests.support.scripted_offsets import ScriptedOffsets
from zkconsumer.errors import (
    CommitFailed,
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
from zkconsumer.membership.zookeeper.polled.commits import CallersCommits
from zkconsumer.membership.zookeeper.threads.commits import NOT_READ_HERE
from zkconsumer.membership.zookeeper.threads.messages import CommitRequest, ControlTask, Message
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.offsets.wiring import OffsetSide

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
SOON_MS = 50
"""Less than the pause before another try: what fails is told at once."""


class FormerTopics(ScriptedOffsets):
    """A store that may have offsets of former topics.

    Attributes:
        former: what it has of them.
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
    """A caller, and a control thread that answers at once.

    Attributes:
        away: whether the control thread does not answer.
        refusal: how it answers a member's commit; None: it is written.
        sent: the messages that came.
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
        self.commits = CallersCommits(
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
            self.answer(message)

    def answer(self, message: Message) -> None:
        """Be the control thread."""
        match message:
            case ControlTask(work, reply):
                reply.settle(work)
            case CommitRequest(reply=commit_reply):
                if self.refusal is None:
                    commit_reply.give(1)
                else:
                    commit_reply.fail(self.refusal)
            case _:
                pytest.fail(f"not the caller's: {message}")

    def commit(
        self, offsets: Offsets, *, by_member: bool = True, timeout_ms: int = SOON_MS
    ) -> None:
        """Commit with claims of nothing, or without membership."""
        self.commits.commit(offsets, timeout_ms=timeout_ms, claims={} if by_member else None)

    def committed(
        self, *partitions: TopicPartition, as_member: bool = False
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Read where these stand."""
        found = self.commits.committed(partitions, timeout_ms=SOON_MS, as_member=as_member)
        return dict(found)


@pytest.fixture
def caller() -> Caller:
    """One whose commits are all written."""
    return Caller()


def at(offset: int, *partitions: TopicPartition) -> dict[TopicPartition, OffsetAndMetadata]:
    """The same offset for each of these, or for one."""
    return {tp: OffsetAndMetadata(offset) for tp in partitions or (T0,)}


# --- what is committed -------------------------------------------------------------------------


def test_a_member_commits_under_its_claims(caller: Caller) -> None:
    """The control thread gets both, and tries again what may pass."""
    caller.commit(at(5))
    (request,) = caller.sent
    assert isinstance(request, CommitRequest)
    assert (request.offsets, request.claims, request.retry) == (at(5), {}, True)
    assert caller.signals == 1


def test_nothing_is_sent_for_nothing(caller: Caller) -> None:
    """Neither a commit nor a look."""
    caller.commit({})
    assert caller.committed() == {}
    assert caller.sent == []


def test_without_membership_the_store_is_written_as_it_is_told(caller: Caller) -> None:
    """Also back, and over what others wrote: a consumer that assigns partitions has said so."""
    caller.commit(at(5, T0, T1), by_member=False)
    assert caller.store.commits == [({T0: 5, T1: 5}, True, True)]
    caller.store.refused[T1] = "no permission"
    with pytest.raises(OffsetCommitFailed, match="no permission") as caught:
        caller.commit(at(6, T0, T1), by_member=False)
    assert caught.value.failed == {T1: "no permission"}
    assert str(caught.value).startswith("group g: ")


def test_what_went_to_others_is_told_as_such(caller: Caller) -> None:
    """With at most ten names; what failed otherwise stays what it was."""
    lost = [TopicPartition("t", number) for number in range(12)]
    caller.refusal = OffsetCommitFailed("g", dict.fromkeys(lost, NOT_READ_HERE) | {T1: "broken"})
    with pytest.raises(CommitFailed) as caught:
        caller.commit(at(5))
    names = ", ".join(f"t-{number}" for number in (0, *range(2, 11)))
    assert str(caught.value).startswith(f"group g: {names} went to other members, or were lost")
    caller.refusal = OffsetCommitFailed("g", {T1: "broken"})
    with pytest.raises(OffsetCommitFailed, match="broken"):
        caller.commit(at(5))


def test_a_commit_without_an_answer_is_in_doubt(caller: Caller) -> None:
    """Each of its partitions is, and the caller gets control back."""
    caller.away = True
    with pytest.raises(OffsetCommitTimedOut) as caught:
        caller.commit(at(5, T0, T1), timeout_ms=0)
    late = "no response in time: it may be committed all the same"
    assert caught.value.failed == {T0: late, T1: late}


@pytest.mark.parametrize("connected", [True, False])
def test_a_failure_is_told_when_no_time_is_left(caller: Caller, *, connected: bool) -> None:
    """Once: there is none for another try."""
    caller.connected = connected
    caller.refusal = OffsetCommitFailed("g", {T0: "ZooKeeper is away"})
    with pytest.raises(OffsetCommitFailed, match="ZooKeeper is away"):
        caller.commit(at(5))
    assert len(caller.sent) == 1


@pytest.fixture
def pauses(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The pauses between tries, which are the clock's."""
    made: list[int] = []

    def pause(duration_ms: int) -> None:
        made.append(duration_ms)
        caller.clock.advance(duration_ms)

    monkeypatch.setattr(commits, "wait_ms", pause)
    return made


TIMES = pytest.mark.parametrize(("timeout_ms", "tries"), [(99, 1), (100, 1), (101, 2), (300, 3)])


@TIMES
def test_a_commit_is_tried_again_while_time_is_left_behind_the_pause(
    caller: Caller, pauses: list[int], *, timeout_ms: int, tries: int
) -> None:
    """As long as ZooKeeper is away; a try that has no time itself would be none."""
    caller.connected = False
    caller.refusal = OffsetCommitFailed("g", {T0: "ZooKeeper is away"})
    with pytest.raises(OffsetCommitFailed, match="ZooKeeper is away"):
        caller.commit(at(5), timeout_ms=timeout_ms)
    assert (len(caller.sent), pauses) == (tries, [100] * (tries - 1))


def test_a_commit_that_may_not_be_written_is_not_tried_again(
    caller: Caller, pauses: list[int]
) -> None:
    """What went to others is theirs, however much time is left."""
    caller.connected = False
    caller.refusal = OffsetCommitFailed("g", {T0: NOT_READ_HERE})
    with pytest.raises(CommitFailed):
        caller.commit(at(5), timeout_ms=1_000)
    assert (len(caller.sent), pauses) == (1, [])


def test_a_close_bounds_the_commits_in_it(caller: Caller) -> None:
    """However long they are allowed to take by themselves."""
    caller.away = True
    caller.commits.closing_by_ms = caller.clock.now_ms()
    with pytest.raises(OffsetCommitTimedOut):
        caller.commit(at(5), timeout_ms=60_000)


# --- without waiting ---------------------------------------------------------------------------


def test_callbacks_run_in_order_and_not_before_their_turn(caller: Caller) -> None:
    """A commit that is answered waits for those before it."""
    told = Told()
    caller.away = True
    for offset in (1, 2):
        caller.commits.commit_async(at(offset), told, claims={})
    first, second = caller.sent
    caller.answer(second)
    caller.commits.run_callbacks()
    assert told.notes == []
    caller.answer(first)
    caller.commits.run_callbacks()
    caller.commits.run_callbacks()
    assert told.notes == [(1, None), (2, None)]


def test_a_callback_is_told_what_a_caller_would_be(caller: Caller) -> None:
    """Lost partitions, and a control thread that is no more."""
    told = Told()
    caller.refusal = OffsetCommitFailed("g", {T0: NOT_READ_HERE})
    caller.commits.commit_async(at(1), told, claims={})
    caller.closed = ConsumerClosed("closed")
    caller.commits.commit_async(at(2), told, claims={})
    caller.commits.commit_async(at(3), None, claims={})
    caller.commits.run_callbacks()
    assert [type(error) for _, error in told.notes] == [CommitFailed, ConsumerClosed]


def test_a_callback_that_raises_is_logged_and_the_next_one_runs(
    caller: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    """It may commit, too: callbacks are not run inside of it."""
    told = Told()
    seen: list[int] = []

    def commit_and_raise(_offsets: Offsets, _error: Exception | None) -> None:
        caller.commit(at(9))
        seen.append(len(told.notes))
        raise ValueError("the caller's")

    caller.commits.commit_async(at(1), commit_and_raise, claims={})
    caller.commits.commit_async(at(2), told, claims={})
    caller.commits.run_callbacks()
    assert (seen, told.notes) == ([0], [(2, None)])
    assert caplog.messages == ["group g: the callback of a commit failed"]
    caller.commits.commit_async(at(3), told, claims={})
    caller.commits.run_callbacks()
    assert told.notes == [(2, None), (3, None)]


def test_a_synchronous_commit_comes_after_the_callbacks_before_it(caller: Caller) -> None:
    """Also where it fails."""
    told = Told()
    caller.commits.commit_async(at(1), told, claims={})
    caller.refusal = OffsetCommitFailed("g", {T0: "broken"})
    with pytest.raises(OffsetCommitFailed):
        caller.commit(at(2))
    assert told.notes == [(1, None)]


# --- what is stored ----------------------------------------------------------------------------


def test_where_a_group_stands(caller: Caller) -> None:
    """None where nothing is committed; what can't be read is not taken for none."""
    caller.store.kept = {T0: 7}
    assert caller.committed(T0, T1) == {T0: OffsetAndMetadata(7), T1: None}
    caller.store.unreadable[T1] = "rubbish"
    with pytest.raises(PartitionFailed, match="t-1 stopped: rubbish"):
        caller.committed(T0, T1)


@pytest.mark.parametrize(
    ("break_it", "why"),
    [
        (lambda caller: setattr(caller, "away", True), "no response"),
        (lambda caller: setattr(caller.store, "broken", RegistryError("it is away")), "it is away"),
    ],
)
def test_where_a_group_stands_is_not_known_in_time(
    caller: Caller, break_it: Callable[[Caller], None], why: str
) -> None:
    """The error has the reason."""
    break_it(caller)
    caller.commits.closing_by_ms = caller.clock.now_ms()
    with pytest.raises(RequestTimedOut, match=f"group g: committed offsets: {why}"):
        caller.committed(T0)


@TIMES
def test_where_a_group_stands_is_asked_again_while_time_is_left_behind_the_pause(
    caller: Caller, pauses: list[int], *, timeout_ms: int, tries: int
) -> None:
    """ZooKeeper may be back by then."""
    caller.store.broken = RegistryError("it is away")
    with pytest.raises(RequestTimedOut, match="it is away"):
        caller.commits.committed([T0], timeout_ms=timeout_ms, as_member=False)
    assert (len(caller.sent), pauses) == (tries, [100] * (tries - 1))


def test_an_offset_of_a_former_topic_is_none_and_told_once(
    caller: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    """Another one of it is told again: the topic was made anew once more."""
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


def test_a_member_is_told_of_former_topics_by_its_rebalance(
    caller: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    """Twice would be once too often."""
    caller.store.former = {T0: 7}
    assert caller.committed(T0, as_member=True) == {T0: None}
    assert caplog.messages == []
