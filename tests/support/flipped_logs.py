"""A log whose entries may have wrong offsets in their headers, its broker, and a reader."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.support.single_partition import SinglePartitionFetcher
from zkconsumer.fetch.claim import Chunk
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.codecs import Codec
from zkconsumer.records.entries import MIN_ENTRY_SIZE

Flip = Callable[[int], int]
"""Returns the wrong offset for an entry's header, from the right one."""


@dataclass(slots=True)
class LogEntry:
    """A message, a compressed set or a batch; ``claimed`` is the offset in its header."""

    first: int
    last: int
    values: dict[int, bytes]
    data: bytes
    magic: int

    @property
    def claimed(self) -> int:
        """The offset in its header."""
        return int.from_bytes(self.data[:8], "big", signed=True)

    @property
    def claimed_last(self) -> int:
        """The last offset according to its header, as a broker uses it to find an offset."""
        return self.claimed + (self.last - self.first if self.magic == 2 else 0)

    def claiming(self, offset: int) -> "LogEntry":
        """Return the entry with another offset in its header."""
        data = offset.to_bytes(8, "big", signed=True) + self.data[8:]
        return LogEntry(self.first, self.last, self.values, data, self.magic)


def make_log(
    rng: random.Random, magic: int, count: int, *, gap: int = 0, base: int = 0
) -> list[LogEntry]:
    """Return a log of ``count`` entries; with ``gap``, as if compaction removed some."""
    log: list[LogEntry] = []
    at = base
    for _ in range(count):
        codec = rng.choice([Codec.NONE, Codec.GZIP, Codec.SNAPPY])
        size = 1 if magic < 2 and codec is Codec.NONE else rng.randint(1, 4)
        values = {at + number: b"%d " % (at + number) * rng.randint(1, 9) for number in range(size)}
        stamp = (1_000, TimestampType.CREATE_TIME) if magic else (-1, TimestampType.NONE)
        rows = [Record(offset, None, value, *stamp) for offset, value in values.items()]
        last = at + size - 1
        if magic == 2:
            traits = BatchTraits(base_offset=at, last_offset=last)
            data = build_batch(rows, codec=codec, traits=traits)
        else:
            data = build_message_set(rows, magic=magic, codec=codec)
        log.append(LogEntry(at, last, values, data, magic))
        at = last + 1 + (rng.randint(0, gap) if gap else 0)
    return log


@dataclass(slots=True)
class FlippedBroker:
    """Serves a log as brokers do: from the first entry whose header reaches the fetch offset.

    Attributes:
        log: the entries on disk.
        high_watermark: the high watermark in responses.
        on_the_way: by index, a change to an entry of the next response, once.
    """

    log: list[LogEntry]
    high_watermark: int
    on_the_way: dict[int, Flip] = field(default_factory=dict)

    def fetch(self, offset: int, max_bytes: int) -> bytes:
        """Return the bytes of a fetch response."""
        start = next((n for n, entry in enumerate(self.log) if entry.claimed_last >= offset), None)
        if start is None or offset >= self.high_watermark:
            return b""
        data = b""
        for number, entry in enumerate(self.log[start:]):
            flip = self.on_the_way.pop(number, None)
            data += (entry if flip is None else entry.claiming(flip(entry.claimed))).data
        return data[: max(max_bytes, MIN_ENTRY_SIZE)]


def read_log(
    broker: FlippedBroker,
    *,
    start: int = 0,
    fetch_bytes: int = 200,
    free_bytes: int = 1 << 20,
    skip: bool = False,
) -> tuple[list[tuple[int, bytes | None]], list[Chunk]]:
    """Read messages of magic 0 and 1 from an offset on, up to the end or the first error.

    Returns:
        Offsets with values, and the chunks that have a poison.
    """
    settings = FetchSettings(max_partition_bytes=fetch_bytes, skip_poison=skip)
    position = SinglePartitionFetcher(settings, start)
    messages: list[tuple[int, bytes | None]] = []
    poisoned: list[Chunk] = []
    idle = turns = 0
    while not position.part.is_halted and idle < 3:
        turns += 1
        assert turns < 1_000, "it never ends"
        size = max(fetch_bytes, position.state.needed_bytes)
        before = position.offset
        data = broker.fetch(before, size)
        position.receive(data, requested_bytes=size, high_watermark=broker.high_watermark)
        while position.packed is not None:
            chunk = position.unpack(free_bytes)
            if chunk is not None:
                messages += [(record.offset, record.value) for record in chunk.records]
                if chunk.poison is not None:
                    poisoned.append(chunk)
        is_still = position.offset == before and (not data or not position.state.needed_bytes)
        idle = idle + 1 if is_still else 0
        assert position.state.needed_bytes <= 1 << 20
    return messages, poisoned
