"""The logs of the simulated brokers, and the ``Fetching`` that reads them."""

from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.support.queues import native_of
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.records.memory import records_bytes
from zkconsumer.streams.chunk_queue import ChunkQueue


class PartitionLog:
    """One partition: offsets with gaps, as compaction leaves them, and a start that moves.

    Attributes:
        offsets: every offset that was ever written, in order.
        start: the first offset that retention has not deleted.
        end: the next offset to be written.
        leader: the broker that serves it.
    """

    def __init__(self, leader: int, start: int) -> None:
        self.offsets: list[int] = []
        self.start = start
        self.end = start
        self.leader = leader

    def append(self, gap: int) -> int:
        """Write a record behind a gap and return its offset."""
        offset = self.end + gap
        self.offsets.append(offset)
        self.end = offset + 1
        return offset

    def read(self, offset: int, count: int) -> list[int]:
        """Return the offsets of the next records from this offset on."""
        at = bisect_left(self.offsets, max(offset, self.start))
        return self.offsets[at : at + count]

    def first_from(self, offset: int) -> int:
        """Return the first remaining record from an offset on, or the end if there is none."""
        return next(iter(self.read(offset, 1)), self.end)

    def lost_between(self, low: int, high: int) -> list[int]:
        """Return the remaining records in [low, high)."""
        low = max(low, self.start)
        return self.offsets[bisect_left(self.offsets, low) : bisect_left(self.offsets, high)]


@dataclass(slots=True, eq=False)
class Position:
    """One claim's position; ``offset`` is None until the reset policy chooses one."""

    claim: PartitionClaim
    offset: int | None
    pending: Chunk | None = None
    full: bool = False

    def on_capacity(self) -> None:
        """Allow the pending chunk to be offered again."""
        self.full = False


class SimFetching:
    """``Fetching`` from simulated logs, one chunk at a time, whenever the scheduler decides.

    Args:
        rng: decides how many records a fetch returns.
        on_start: called with each claim and its offset.
        on_wake: called when claims were given up.
    """

    def __init__(
        self,
        rng: Random,
        on_start: Callable[[PartitionClaim, int | None], None],
        on_wake: Callable[[], None],
    ) -> None:
        self._rng = rng
        self._on_start = on_start
        self._on_wake = on_wake
        self.positions: list[Position] = []

    def add(self, claims: Iterable[tuple[PartitionClaim, int | None]]) -> None:
        """See ``Fetching``."""
        for claim, offset in claims:
            self._on_start(claim, offset)
            self.positions.append(Position(claim, offset))

    def wake(self) -> None:
        """See ``Fetching``: the scheduler's next fetch checks which claims are given up."""
        self._on_wake()

    def forget_inactive(self) -> None:
        """Drop claims that were given up."""
        if not all(position.claim.active for position in self.positions):
            self.positions = [position for position in self.positions if position.claim.active]

    def ready(
        self, logs: Mapping[TopicPartition, PartitionLog], brokers: Container[int]
    ) -> list[Position]:
        """Return the positions for which a fetch would return records."""
        self.forget_inactive()
        return [
            position
            for position in self.positions
            if not position.full
            and (log := logs[position.claim.topic_partition]).leader in brokers
            and (position.pending is not None or position.offset != log.end)
        ]

    def fetch(self, position: Position, log: PartitionLog) -> str:
        """Fetch one partition once, and return a description of the result."""
        chunk = position.pending or self._next_chunk(position, log)
        if chunk is None:
            return "nothing"
        if not put(chunk, position.on_capacity):
            position.pending, position.full = chunk, True
            return "full"
        position.pending = None
        position.offset = chunk.next_offset
        return f"{chunk.fetch_offset}..{chunk.next_offset}"

    def _next_chunk(self, position: Position, log: PartitionLog) -> Chunk | None:
        claim = position.claim
        if position.offset is None or not log.start <= position.offset <= log.end:
            position.offset = log.start
            if claim.consumed_offset is not None:
                return Chunk(claim, log.start, log.start, (), 0)
            claim.consumed_offset = log.start
        found = log.read(position.offset, self._rng.randint(1, 4))
        if not found:
            if position.offset >= log.end:
                return None
            return Chunk(claim, position.offset, log.end, (), 0)
        records = [Record(offset, None, b"%d" % offset) for offset in found]
        after = found[-1] + 1
        last = after if self._rng.random() < 0.7 else log.first_from(after)
        return Chunk(claim, position.offset, last, records, records_bytes(records))


def put(chunk: Chunk, on_capacity: Callable[[], None]) -> bool:
    """Offer a chunk, to a native queue as a native loop does for such chunks."""
    sink: Any = chunk.claim.sink
    is_plain = bool(chunk.records) and chunk.next_offset == chunk.records[-1].offset + 1
    if isinstance(sink, ChunkQueue) or not is_plain:
        taken: bool = sink.offer(chunk, on_capacity)
        return taken
    queue = native_of(sink)
    rest = queue.put_set(chunk.claim, build_message_set(chunk.records), chunk.fetch_offset)
    if rest is None:
        return True
    chunk.fetch_offset = rest
    chunk.records = [record for record in chunk.records if record.offset >= rest]
    chunk.size_bytes = records_bytes(chunk.records)
    queue.wait_for_capacity(on_capacity)
    return False


def partition_texts(count: int) -> bytes:
    """Return the node of a topic with this many partitions."""
    replicas = ",".join(f'"{number}":[0]' for number in range(count))
    return f'{{"version":1,"partitions":{{{replicas}}}}}'.encode()


def owner_of(path: str) -> TopicPartition:
    """Return the partition of an owner or offset node."""
    _, _, _, _, topic, partition = path.split("/")
    return TopicPartition(topic, int(partition))
