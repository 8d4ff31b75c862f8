from typing import Any

import pytest

from tests.support.paper_engine import PaperEngine
from tests.support.poll_fakes import FakeKeeper, FakeMembership, QuickLookup
from zkconsumer.consumer.start_positions import StartPositions
from zkconsumer.errors import GroupFailed, NoOffsetForPartition, RequestTimedOut
from zkconsumer.fetch.core.starts import EARLIEST, LATEST, PositionView, ResetPolicy
from zkconsumer.model import OffsetAndMetadata, TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class StartPositionWorld:
    """An engine with two partitions without a position, and a group that knows one."""

    def __init__(
        self,
        policy: ResetPolicy | None = EARLIEST,
        *,
        in_group: bool = True,
        topics: FakeKeeper | None = None,
    ) -> None:
        self.engine = PaperEngine(ends={A: 10, B: 20})
        self.group = FakeMembership()
        self.group.committed_offsets[A] = OffsetAndMetadata(7, "", 2)
        self.lookup = QuickLookup(self.group)
        lookup = self.lookup if in_group else None
        self.starts = StartPositions(self.engine, lookup, policy, topics)
        self.engine.add([A, B])
        self.starts.came([A, B])

    def positions(self) -> list[Any]:
        """Of both, after two rounds: one to ask, one to hear."""
        self.starts.advance()
        self.starts.advance()
        return [self.engine.position(A), self.engine.position(B)]


def test_what_is_committed_comes_first_and_then_the_policy() -> None:
    """With the epoch, by which a log that was cut back is noticed."""
    world = StartPositionWorld()
    assert world.positions() == [PositionView(7, 2), PositionView(0)]
    assert world.starts.is_settled
    assert StartPositionWorld(LATEST).positions() == [PositionView(7, 2), PositionView(20)]


def test_without_a_group_the_policy_decides_at_once() -> None:
    """No coordinator is looked up."""
    world = StartPositionWorld(in_group=False)
    world.starts.advance()
    assert [world.engine.position(A), world.engine.position(B)] == [
        PositionView(0),
        PositionView(0),
    ]


def test_what_came_after_the_first_look_is_read_from_its_beginning() -> None:
    """All in it was written since; what is committed comes first, as ever."""
    metadata = FakeKeeper(events={A: True, B: True})
    world = StartPositionWorld(LATEST, topics=metadata)
    assert world.positions() == [PositionView(7, 2), PositionView(0)]
    alone = StartPositionWorld(LATEST, in_group=False, topics=metadata)
    assert alone.positions() == [PositionView(0), PositionView(0)]
    metadata.events.clear()
    assert StartPositionWorld(LATEST, topics=metadata).positions() == [
        PositionView(7, 2),
        PositionView(20),
    ]


def test_where_nobody_has_looked_yet_the_policy_waits() -> None:
    """A position that is sought meanwhile stays."""
    metadata = FakeKeeper(events={A: None, B: None})
    world = StartPositionWorld(LATEST, in_group=False, topics=metadata)
    assert world.positions() == [None, None]
    assert not world.starts.is_settled
    world.starts.settle([A])
    metadata.events = {A: True, B: True}
    assert world.positions() == [None, PositionView(0)]
    assert world.starts.is_settled


def test_only_latest_makes_a_difference() -> None:
    """``earliest`` loses nothing, and with ``none`` the caller decides."""
    metadata = FakeKeeper(events={A: None, B: None})
    assert StartPositionWorld(EARLIEST, topics=metadata).positions() == [
        PositionView(7, 2),
        PositionView(0),
    ]
    world = StartPositionWorld(None, topics=FakeKeeper(events={B: True}))
    world.starts.advance()
    with pytest.raises(NoOffsetForPartition, match="t-1"):
        world.starts.advance()


def test_without_a_policy_it_is_the_callers_problem_until_he_seeks() -> None:
    """Again with each poll."""
    world = StartPositionWorld(None)
    world.starts.advance()
    for _ in range(2):
        with pytest.raises(NoOffsetForPartition, match="t-1") as raised:
            world.starts.advance()
        assert raised.value.partitions == {B}
    assert world.engine.position(A) == PositionView(7, 2)
    world.starts.settle([B])
    world.starts.advance()
    assert world.starts.is_settled


def test_what_the_caller_seeks_meanwhile_stays() -> None:
    """The answer comes too late."""
    world = StartPositionWorld()
    world.starts.advance()
    world.starts.settle([A])
    world.starts.advance()
    assert world.engine.position(A) is None
    assert world.engine.position(B) == PositionView(0)


def test_an_answer_from_before_a_partition_went_and_came_says_nothing() -> None:
    """Another member may have committed in between."""
    world = StartPositionWorld()
    world.lookup.holds = True
    world.starts.advance()
    world.starts.settle([A])
    world.engine.remove([A])
    before = world.lookup.requested.pop()
    world.engine.add([A])
    world.starts.came([A])
    world.starts.advance()
    world.group.committed_offsets[A] = OffsetAndMetadata(9)
    after = world.lookup.requested.pop()
    assert [before, after] == [frozenset({A, B}), frozenset({A})]
    # The old answer, late, with what was committed then.
    world.lookup.holds = False
    world.lookup.requested = [before]
    world.starts.advance()
    assert world.engine.position(A) is None
    world.lookup.requested = [after]
    world.starts.advance()
    assert world.engine.position(A) == PositionView(9)


def test_the_same_set_asked_twice_is_two_questions() -> None:
    """Only the answer to the second counts."""
    world = StartPositionWorld()
    world.lookup.holds = True
    world.starts.advance()
    [first] = world.lookup.requested
    world.starts.settle([A, B])
    world.starts.came([A, B])
    world.starts.advance()
    assert world.lookup.requested[1] == first
    world.lookup.holds = False
    world.lookup.requested = world.lookup.requested[:1]
    world.starts.advance()
    assert world.engine.position(A) is None


def test_silence_is_asked_again() -> None:
    """It is no reason to begin somewhere else."""
    world = StartPositionWorld()
    world.lookup.errors = [RequestTimedOut("nobody")]
    world.starts.advance()
    world.starts.advance()
    assert world.engine.position(A) is None
    world.starts.advance()
    assert world.engine.position(A) == PositionView(7, 2)


def test_a_refusal_is_raised_once_and_asked_again() -> None:
    """By the poll that hears it."""
    world = StartPositionWorld()
    world.lookup.errors = [GroupFailed("g", "not allowed")]
    world.starts.advance()
    with pytest.raises(GroupFailed, match="not allowed"):
        world.starts.advance()
    assert world.positions()[0] == PositionView(7, 2)
