from typing import Any, cast

import pytest

from tests.support.model_engine import ModelEngine
from tests.support.poll_fakes import FakeMembership, FakeMetadataManager, ImmediateLookup
from zkconsumer.consumer.start_positions import StartPositions
from zkconsumer.errors import GroupFailed, NoOffsetForPartition, RequestTimedOut
from zkconsumer.fetch.core.starts import EARLIEST, LATEST, LogEdge, PositionView
from zkconsumer.model import OffsetAndMetadata, TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class StartPositionWorld:
    """An engine with two partitions without a position, and a group that committed one of them."""

    def __init__(
        self,
        policy: LogEdge | None = EARLIEST,
        *,
        in_group: bool = True,
        topics: FakeMetadataManager | None = None,
    ) -> None:
        self.engine = ModelEngine(ends={A: 10, B: 20})
        self.group = FakeMembership()
        self.group.committed_offsets[A] = OffsetAndMetadata(7, "", 2)
        self.lookup = ImmediateLookup(self.group)
        lookup = cast("Any", self.lookup if in_group else None)
        is_new = None if topics is None else topics.is_new
        self.starts = StartPositions(self.engine.seek, lookup, policy, is_new)
        self.engine.add([A, B])
        self.starts.came([A, B])

    def positions(self) -> list[Any]:
        """Return both positions after two rounds, one to request and one to receive them."""
        self.starts.advance()
        self.starts.advance()
        return [self.engine.position(A), self.engine.position(B)]


def test_a_committed_offset_takes_precedence_over_the_policy() -> None:
    """A position has the committed leader epoch, by which a truncated log is noticed."""
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


def test_a_partition_created_later_is_read_from_its_start() -> None:
    """All of its records are new, so "latest" would lose them; a committed offset still wins."""
    metadata = FakeMetadataManager(events={A: True, B: True})
    world = StartPositionWorld(LATEST, topics=metadata)
    assert world.positions() == [PositionView(7, 2), PositionView(0)]
    alone = StartPositionWorld(LATEST, in_group=False, topics=metadata)
    assert alone.positions() == [PositionView(0), PositionView(0)]
    metadata.events.clear()
    assert StartPositionWorld(LATEST, topics=metadata).positions() == [
        PositionView(7, 2),
        PositionView(20),
    ]


def test_the_policy_waits_until_metadata_tells_new_partitions_apart() -> None:
    """A position that the caller seeks meanwhile stays."""
    metadata = FakeMetadataManager(events={A: None, B: None})
    world = StartPositionWorld(LATEST, in_group=False, topics=metadata)
    assert world.positions() == [None, None]
    assert not world.starts.is_settled
    world.starts.settle([A])
    metadata.events = {A: True, B: True}
    assert world.positions() == [None, PositionView(0)]
    assert world.starts.is_settled


def test_only_latest_waits_for_metadata() -> None:
    """``earliest`` loses nothing, and with ``none`` the caller decides."""
    metadata = FakeMetadataManager(events={A: None, B: None})
    assert StartPositionWorld(EARLIEST, topics=metadata).positions() == [
        PositionView(7, 2),
        PositionView(0),
    ]
    world = StartPositionWorld(None, topics=FakeMetadataManager(events={B: True}))
    world.starts.advance()
    with pytest.raises(NoOffsetForPartition, match="t-1"):
        world.starts.advance()


def test_without_a_policy_an_error_is_raised_until_a_seek() -> None:
    """Each poll raises it again."""
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


def test_a_seek_overrides_a_pending_lookup() -> None:
    """The committed offset arrives too late to replace it."""
    world = StartPositionWorld()
    world.starts.advance()
    world.starts.settle([A])
    world.starts.advance()
    assert world.engine.position(A) is None
    assert world.engine.position(B) == PositionView(0)


def test_a_response_from_before_a_reassignment_is_ignored() -> None:
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
    # The response to the old request arrives late, with what was committed then.
    world.lookup.holds = False
    world.lookup.requested = [before]
    world.starts.advance()
    assert world.engine.position(A) is None
    world.lookup.requested = [after]
    world.starts.advance()
    assert world.engine.position(A) == PositionView(9)


def test_equal_requests_are_distinguished() -> None:
    """Only the response to the second one counts."""
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


def test_a_timed_out_lookup_is_repeated() -> None:
    """It is no reason to start at another offset."""
    world = StartPositionWorld()
    world.lookup.errors = [RequestTimedOut("nobody")]
    world.starts.advance()
    world.starts.advance()
    assert world.engine.position(A) is None
    world.starts.advance()
    assert world.engine.position(A) == PositionView(7, 2)


def test_an_error_of_the_group_is_raised_once_and_the_lookup_repeated() -> None:
    """It is raised by the poll that receives it."""
    world = StartPositionWorld()
    world.lookup.errors = [GroupFailed("g", "not allowed")]
    world.starts.advance()
    with pytest.raises(GroupFailed, match="not allowed"):
        world.starts.advance()
    assert world.positions()[0] == PositionView(7, 2)
