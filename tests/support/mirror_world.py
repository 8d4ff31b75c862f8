"""A source, its group and a target in memory, with scripted rebalances and failed commits.

The consumer behaves like ``KafkaConsumer`` in a ZooKeeper group: listeners run within ``poll`` and
``close``, only owned partitions can be committed, and other members continue lost partitions at
the committed offset.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tests.support.mirroring import TargetDouble, Verdict, slice_of
from zkconsumer.assignment.filters import Whitelist
from zkconsumer.consumer.listener import ConsumerRebalanceListener
from zkconsumer.errors import CommitFailed, OffsetCommitFailed, Woken
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.records.slices import RecordSlice


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the script: what the next poll does.

    Attributes:
        assigned: the numbers of the partitions that are assigned from then on.
        lost: whether unassigned partitions are lost, without a chance to commit.
        read: the most messages of each partition that the poll returns.
        others: how many messages of a partition that went to others they mirror.
        commits_fail: whether commits fail until the next step.
    """

    assigned: frozenset[int] = frozenset({0, 1, 2})
    lost: bool = False
    read: int = 3
    others: int = 0
    commits_fail: bool = False


@dataclass
class World:
    """The source with its group, and the target.

    Args:
        logs: the messages' offsets by partition.
        steps: the steps of successive polls.
        judge: see ``TargetDouble``.
        on_end: called after the last step, to stop the mirror.
    """

    logs: Mapping[TopicPartition, Sequence[int]]
    steps: list[Step]
    judge: Callable[[bytes], Verdict]
    on_end: Callable[[], None] = lambda: None
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    by_others: dict[TopicPartition, set[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.target = TargetDouble(self.judge)
        self.step = Step(assigned=frozenset())
        self.was_closed = False

    def offsets_there(self, tp: TopicPartition) -> set[int]:
        """The source offsets of a partition that have a copy in the target."""
        ours = {int(value[1:]) for value in self.target.logs.get(tp, [])}
        return ours | self.by_others.get(tp, set())

    def check(self) -> None:
        """Assert that every message below a committed offset is in the target.

        Raises:
            AssertionError: a message is missing.
        """
        for tp, committed in self.committed.items():
            wanted = {offset for offset in self.logs[tp] if offset < committed}
            missing = wanted - self.offsets_there(tp)
            assert not missing, f"{tp} is committed at {committed} without {sorted(missing)}"

    def go_on_elsewhere(self, tp: TopicPartition, count: int) -> None:
        """Let others mirror ``count`` messages from the committed offset on, and commit them."""
        start = self.committed.get(tp, 0)
        taken = [offset for offset in self.logs[tp] if offset >= start][:count]
        if taken:
            self.by_others.setdefault(tp, set()).update(taken)
            self.committed[tp] = taken[-1] + 1


class ConsumerDouble:
    """The part of ``KafkaConsumer`` that a mirror uses, in that world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._positions: dict[TopicPartition, int] = {}
        self._listener = ConsumerRebalanceListener()

    def close(self, *, autocommit: bool, timeout_ms: float) -> None:
        """See ``KafkaConsumer``."""
        del autocommit, timeout_ms
        self._world.was_closed = True
        self._listener.on_partitions_revoked(sorted(self._positions))
        self._positions.clear()

    def subscribe(self, pattern: Whitelist, listener: ConsumerRebalanceListener) -> None:
        """See ``KafkaConsumer``."""
        del pattern
        self._listener = listener

    def poll_slices(
        self, timeout_ms: float, max_records: int
    ) -> Mapping[TopicPartition, RecordSlice]:
        """See ``SliceConsumer``."""
        del timeout_ms
        world = self._world
        if not world.steps:
            world.on_end()
            raise Woken
        world.step = world.steps.pop(0)
        self._rebalance()
        slices: dict[TopicPartition, RecordSlice] = {}
        for tp, position in self._positions.items():
            most = min(world.step.read, max_records)
            offsets = [offset for offset in world.logs[tp] if offset >= position][:most]
            if offsets:
                slices[tp] = slice_of(*offsets)
                self._positions[tp] = offsets[-1] + 1
                max_records -= len(offsets)
        return slices

    def _rebalance(self) -> None:
        world = self._world
        wanted = {tp for tp in world.logs if tp.partition in world.step.assigned}
        going = sorted(self._positions.keys() - wanted)
        if going:
            if not world.step.lost:
                self._listener.on_partitions_revoked(going)
            for tp in going:
                del self._positions[tp]
            if world.step.lost:
                self._listener.on_partitions_lost(going)
        for tp in world.logs.keys() - self._positions.keys():
            world.go_on_elsewhere(tp, world.step.others)
        coming = sorted(wanted - self._positions.keys())
        if coming:
            self._positions |= {tp: world.committed.get(tp, 0) for tp in coming}
            self._listener.on_partitions_assigned(coming)

    def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_ms: float
    ) -> None:
        """See ``KafkaConsumer``."""
        del timeout_ms
        world = self._world
        if world.step.commits_fail:
            raise OffsetCommitFailed("g", dict.fromkeys(offsets, "ZooKeeper is away"))
        if not offsets.keys() <= self._positions.keys():
            raise CommitFailed("not ours")
        for tp, committed in offsets.items():
            assert committed.offset >= world.committed.get(tp, 0), "the group goes back"
            world.committed[tp] = committed.offset
        world.check()

    def committed(self, partition: TopicPartition, timeout_ms: float) -> int | None:
        """See ``KafkaConsumer``."""
        del timeout_ms
        return self._world.committed.get(partition)

    def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> int:
        """See ``KafkaConsumer``."""
        del timeout_ms
        return self._positions[partition]

    def partitions_for_topic(self, topic: str) -> Collection[int]:
        """See ``KafkaConsumer``."""
        return {tp.partition for tp in self._world.logs if tp.topic == topic}

    def wakeup(self) -> None:
        """See ``KafkaConsumer``."""


class PlacesDouble:
    """A ``Target`` in that world, in which every topic has all partitions."""

    def __init__(self, world: World) -> None:
        self.producer = world.target
        self._partitions = sorted({tp.partition for tp in world.logs})

    def partitions(self, topic: str, wanted: int) -> Sequence[int]:
        """See ``Target``."""
        del topic, wanted
        return self._partitions

    def stop(self) -> None:
        """See ``Target``."""

    def close(self) -> None:
        """See ``Target``."""
