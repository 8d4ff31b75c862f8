"""A model ``PollEngine`` that has all records in memory.

Logs hold records whose offsets are 0, 1, 2, ..., with values such as ``b"t-0:5"``.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from zkconsumer.fetch.core.starts import LogEdge, PositionView, Start
from zkconsumer.fetch.polled.engine import EngineStats
from zkconsumer.membership.protocol import Partitions
from zkconsumer.model import TopicPartition
from zkconsumer.records.consumer_record import ConsumerRecord, RecordOrigin, consumer_record

R = TypeVar("R")
EPOCH = 3
"""The leader epoch of all records."""


def value_of(tp: TopicPartition, offset: int) -> bytes:
    """Return the value of the record at an offset."""
    return f"{tp}:{offset}".encode()


class ModelSlice:
    """A slice of a log: the records from ``first_offset`` up to, excluding, ``next_offset``."""

    leader_epoch = EPOCH

    def __init__(self, tp: TopicPartition, first_offset: int, next_offset: int) -> None:
        self._tp = tp
        self.first_offset = first_offset
        self.next_offset = next_offset

    def __len__(self) -> int:
        return self.next_offset - self.first_offset

    @property
    def size_bytes(self) -> int:
        """See ``RecordSlice``."""
        return sum(len(row[2]) for row in self._rows())

    def records(self, origin: RecordOrigin) -> list[ConsumerRecord]:
        """See ``RecordSlice``."""
        return [consumer_record(origin, row, (), EPOCH) for row in self._rows()]

    def iterate(self, origin: RecordOrigin) -> Iterator[ConsumerRecord]:
        """See ``RecordSlice``."""
        return iter(self.records(origin))

    def parts(self) -> list[list[tuple[int, None, bytes, int, int]]]:
        """See ``RecordSlice``."""
        return [self._rows()]

    def _rows(self) -> list[tuple[int, None, bytes, int, int]]:
        offsets = range(self.first_offset, self.next_offset)
        return [(offset, None, value_of(self._tp, offset), 1_000, 0) for offset in offsets]

    def headers(self) -> Mapping[int, Any]:
        """See ``RecordSlice``."""
        return {}


@dataclass
class ModelEngine:
    """A ``PollEngine`` that has all records in memory.

    Attributes:
        ends: the log end offsets by partition.
        errors: the errors that the next calls of ``collect`` raise.
        slow_resets: whether offset resets are pending until ``complete_resets`` is called.
    """

    ends: dict[TopicPartition, int] = field(default_factory=dict)
    errors: list[Exception] = field(default_factory=list)
    slow_resets: bool = False
    stopped: bool = False
    _positions: dict[TopicPartition, Start | None] = field(default_factory=dict)
    _paused: set[TopicPartition] = field(default_factory=set)

    def add(self, partitions: Iterable[TopicPartition]) -> None:
        """See ``PollEngine``; a partition must not be added twice."""
        for tp in partitions:
            assert tp not in self._positions, f"{tp} twice"
            self._positions[tp] = None

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """See ``PollEngine``."""
        for tp in list(partitions):
            self._positions.pop(tp, None)
            self._paused.discard(tp)

    def seek(self, tp: TopicPartition, start: Start) -> None:
        """See ``PollEngine``."""
        if tp not in self._positions:
            raise KeyError(tp)
        self._positions[tp] = start
        if not self.slow_resets:
            self.complete_resets()

    def complete_resets(self) -> None:
        """Complete the pending offset resets."""
        for tp, position in self._positions.items():
            if isinstance(position, LogEdge):
                offset = 0 if position is LogEdge.EARLIEST else self.ends.get(tp, 0)
                self._positions[tp] = PositionView(offset)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """See ``PollEngine``."""
        self._paused.update(partitions)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """See ``PollEngine``."""
        self._paused.difference_update(partitions)

    def paused(self) -> Partitions:
        """See ``PollEngine``."""
        return frozenset(self._paused)

    def partitions(self) -> Partitions:
        """See ``PollEngine``."""
        return frozenset(self._positions)

    def collect(
        self, max_records: int, among: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, ModelSlice]:
        """See ``PollEngine``."""
        taken: dict[TopicPartition, ModelSlice] = {}
        for tp, position in sorted(self._positions.items()):
            if not isinstance(position, PositionView) or tp in self._paused:
                continue
            if among is not None and tp not in among:
                continue
            offset = position.offset
            count = min(max_records, self.ends.get(tp, 0) - offset)
            if count > 0:
                taken[tp] = ModelSlice(tp, offset, offset + count)
                self._positions[tp] = PositionView(offset + count, EPOCH)
                max_records -= count
        if not taken and self.errors:
            raise self.errors.pop(0)
        return taken

    def collect_as(
        self,
        max_records: int,
        make: Callable[[dict[TopicPartition, ModelSlice]], R],
        among: Collection[TopicPartition] | None = None,
    ) -> R:
        """See ``PollEngine``."""
        before = dict(self._positions)
        try:
            return make(self.collect(max_records, among))
        except BaseException:
            self._positions = before
            raise

    def position(self, tp: TopicPartition) -> PositionView | None:
        """See ``PollEngine``."""
        position = self._positions.get(tp)
        return position if isinstance(position, PositionView) else None

    def high_watermark(self, tp: TopicPartition) -> int | None:
        """See ``PollEngine``."""
        return self.ends.get(tp)

    def log_start(self, tp: TopicPartition) -> int | None:
        """See ``PollEngine``."""
        return 0 if tp in self.ends else None

    def lag(self, tp: TopicPartition) -> int | None:
        """See ``PollEngine``."""
        position = self.position(tp)
        return None if position is None else self.ends.get(tp, 0) - position.offset

    def stats(self) -> EngineStats:
        """See ``PollEngine``."""
        return EngineStats(fetches=2, fetched_bytes=10)

    def stop(self) -> None:
        """See ``PollEngine``."""
        self.stopped = True
