"""Reads ranges one after the other, writes their messages, and counts them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final

from zkconsumer.cli.consume.format import Formatter, Message
from zkconsumer.cli.progress import Advance
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.fetch.range_reader import LostRange, RangePart, RangeReader
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.streams.message import MessageAndMetadata

Write = Callable[[bytes], object]

_PART_BYTES: Final = 1 << 20
"""The approximate size of a write; progress and signals are handled between two writes."""


class Replay:
    """Replays ranges of offsets. Thread: one.

    Args:
        client: finds leaders, and connects.
        settings: the settings of reading; their part size is not used.
        formatter: formats messages.

    Attributes:
        count: the number of messages written.
        position: the partition, and the offset that is read next; None before the first.
    """

    def __init__(
        self,
        client: ClusterClient,
        settings: RangeSettings,
        formatter: Formatter,
    ) -> None:
        self._reader = RangeReader(client, settings=replace(settings, part_bytes=_PART_BYTES))
        self._formatter = formatter
        self._partitions = 0
        self._empty = 0
        self._lost: list[LostRange] = []
        self._is_done = False
        self.count = 0
        self.position: tuple[TopicPartition, int] | None = None

    def run(
        self,
        ranges: Sequence[OffsetRange],
        write: Write,
        advance: Advance,
        *,
        limit: int | None = None,
    ) -> None:
        """Read all ranges, up to ``limit`` messages, and report completed offsets to ``advance``.

        Args:
            ranges: the ranges to read.
            write: receives formatted messages.
            advance: called with the number of completed offsets.
            limit: the maximum number of messages; None: no limit.

        Raises:
            DataLost: offsets are missing, and the settings require them all.
            ZkConsumerError: a partition can't be read.
        """
        for range_ in ranges:
            self._partitions += 1
            self.position = (range_.topic_partition, range_.from_offset)
            for messages, behind in self._parts(range_):
                wanted = messages if limit is None else messages[: limit - self.count]
                write(b"".join(map(self._formatter, wanted)))
                self.count += len(wanted)
                if limit is not None and self.count >= limit:
                    self._is_done = True
                    return
                advance(self._pass(behind, len(wanted)))
            advance(self._pass(range_.until_offset, 0))
        self._is_done = True

    def account(self) -> Iterator[str]:
        """Yield a summary, line by line."""
        places = "partition" if self._partitions == 1 else "partitions"
        text = f"{self.count} messages of {self._partitions} {places}"
        if self._empty:
            text += f"; {self._empty} offsets have no message (compacted, or transaction markers)"
        yield text
        if self._lost:
            count = sum(lost.range_.count for lost in self._lost)
            yield f"{count} offsets were lost meanwhile"
        if not self._is_done and self.position is not None:
            yield f"it stopped at {self.position[0]}, offset {self.position[1]}"

    def _pass(self, behind: int, message_count: int) -> int:
        """Advance to an offset; return the number of offsets."""
        assert self.position is not None
        tp, before = self.position
        self.position = (tp, behind)
        self._empty += max(0, behind - before - message_count)
        return max(0, behind - before)

    def _parts(self, range_: OffsetRange) -> Iterator[tuple[list[Message], int]]:
        """Yield the messages of each part, and the offset after it."""
        tp = range_.topic_partition
        with closing(self._reader.read(range_)) as parts:
            for part in parts:
                if isinstance(part, RangePart):
                    yield (
                        [MessageAndMetadata(tp, row, None, None) for row in part.records()],
                        part.next_offset,
                    )
                else:
                    # ``_pass`` will count these as empty, but they are lost.
                    self._lost.append(part)
                    self._empty -= part.range_.count
