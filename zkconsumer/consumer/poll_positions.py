"""Keeps the position of each partition, and restores it if taken records are not handed out."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from zkconsumer.consumer.fetch_buffer import FetchBuffer
from zkconsumer.consumer.start_positions import StartPositions
from zkconsumer.fetch.core.starts import PositionView, Start
from zkconsumer.fetch.polled.engine import PollEngine
from zkconsumer.model import OffsetAndMetadata, TopicPartition

T = TypeVar("T")


class PollPositions:
    """The positions of a consumer, as its caller sees them. Thread: the caller's.

    Args:
        buffer: the records that an iteration has taken and not handed out.
        changed: called after a change of position; stops an iteration.

    Attributes:
        starts: determines the positions of new partitions; set by ``PollSession.join``.
        pending: the start positions of records that a poll has taken and not yet handed out. A poll
            hands them out only if this is still set, and clears it in the same step; ``close``
            clears it, too.
    """

    starts: StartPositions

    def __init__(
        self, engine: PollEngine, buffer: FetchBuffer, changed: Callable[[], None]
    ) -> None:
        self._engine = engine
        self._buffer = buffer
        self._changed = changed
        self._takes = 0
        self.pending: dict[TopicPartition, PositionView] = {}

    def position(self, tp: TopicPartition) -> PositionView | None:
        """Return the position after the last record handed out; None while unknown."""
        return self._buffer.position(tp) or self._engine.position(tp)

    def consumed(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the known positions of partitions as offsets to commit."""
        return {
            tp: OffsetAndMetadata(position.offset, "", position.leader_epoch)
            for tp in partitions
            if (position := self.position(tp)) is not None
        }

    def seek(self, tp: TopicPartition, start: Start) -> None:
        """Continue reading a partition at ``start``."""
        self._buffer.drop(tp)
        self.starts.settle((tp,))
        self._engine.seek(tp, start)
        self._changed()

    def put_back_all(self, positions: Mapping[TopicPartition, PositionView]) -> None:
        """Restore the positions of the partitions that are still read."""
        for tp, position in positions.items():
            if tp in self._engine.partitions():
                self.seek(tp, position)

    def take_back(self) -> None:
        """Put back the records that a poll has taken and not yet handed out."""
        pending, self.pending = self.pending, {}
        self.put_back_all(pending)

    def taking(self, starts: dict[TopicPartition, PositionView], take: Callable[[], T]) -> T:
        """Run ``take``; meanwhile ``position_seen`` returns None.

        Args:
            starts: receives the start position of each partition; see ``pending``.
            take: takes records.
        """
        self.pending = starts
        self._takes += 1
        try:
            return take()
        finally:
            self._takes += 1

    def position_seen(self, tp: TopicPartition) -> PositionView | None:
        """Return the position; pending records don't count as handed out. Thread: any.

        None while the position is unknown or being changed.
        """
        takes = self._takes
        found = self.pending.get(tp) or self.position(tp)
        return found if takes % 2 == 0 and self._takes == takes else None
