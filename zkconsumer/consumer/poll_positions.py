"""Keeps the position of each partition, and the records that a poll took but did not hand out."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from zkconsumer.consumer.fetch_buffer import FetchBuffer
from zkconsumer.consumer.start_positions import StartPositions
from zkconsumer.fetch.core.starts import AtOffset, PositionView, Start
from zkconsumer.fetch.polled.engine import PollEngine
from zkconsumer.model import OffsetAndMetadata, TopicPartition

T = TypeVar("T")


class PollPositions:
    """The positions of a consumer, as its caller sees them. Thread: the caller's.

    Args:
        buffer: the records that an iteration took and has not handed out.
        changed: called after a position changed; stops an iteration.

    Attributes:
        starts: sets the positions of new partitions; set by ``PollSession.join``.
        pending: the start positions of records that a poll has taken and may still hand out. A poll
            hands them out only if this is still set, and removes it in the same step; so does
            ``close``.
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
        """Return the offset after the last record handed out; None while unknown."""
        return self._buffer.position(tp) or self._engine.position(tp)

    def consumed(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the positions of partitions as offsets to commit."""
        return {
            tp: OffsetAndMetadata(position.offset, "", position.leader_epoch)
            for tp in partitions
            if (position := self.position(tp)) is not None
        }

    def seek(self, tp: TopicPartition, start: Start) -> None:
        """Continue reading at ``start``."""
        self._buffer.drop(tp)
        self.starts.settle((tp,))
        self._engine.seek(tp, start)
        self._changed()

    def put_back(self, tp: TopicPartition, position: PositionView) -> None:
        """Restore a partition's position: records taken from there on were not handed out."""
        self.seek(tp, AtOffset(position.offset, position.leader_epoch))

    def put_back_all(self, positions: Mapping[TopicPartition, PositionView]) -> None:
        """Restore the positions of those partitions that are still read."""
        for tp, position in positions.items():
            if tp in self._engine.partitions():
                self.put_back(tp, position)

    def take_back(self) -> None:
        """Put back the records that a poll has taken and not handed out."""
        pending, self.pending = self.pending, {}
        self.put_back_all(pending)

    def taking(self, starts: dict[TopicPartition, PositionView], take: Callable[[], T]) -> T:
        """Take records; meanwhile ``position_seen`` returns None.

        Args:
            starts: gets the start position of each partition; see ``pending``.
            take: takes the records.
        """
        self.pending = starts
        self._takes += 1
        try:
            return take()
        finally:
            self._takes += 1

    def position_seen(self, tp: TopicPartition) -> PositionView | None:
        """Return ``position`` for another thread while the caller polls. Thread: any.

        It is None also while the position changes.
        """
        takes = self._takes
        found = self.pending.get(tp) or self.position(tp)
        return found if takes % 2 == 0 and self._takes == takes else None
