"""The logs of the simulated brokers, and the fetching from them behind ``Fetching``."""

from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.support.queues import native_of
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.fetch.sizes import records_bytes
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.streams.chunk_queue import ChunkQueue


class PartitionLog:
    """One partition: offsets with gaps, as compaction leaves them, and a start that moves.

    Attributes:
        offsets: every offset that was ever written, in order.
        start: what lies below was deleted by retention.
        end: the next offset to be written.
        leader: the broker that serves it.
    """

    def __init__(self, leader: int, start: int) -> None:
        self.offsets: list[int] = []
        self.start = start
        self.end = start
        self.leader = leader

    def append(self, gap: int) -> int:
        """Write a record behind a gap; gives its offset."""
        offset = self.end + gap
        self.offsets.append(offset)
        self.end = offset + 1
        return offset

    def read(self, offset: int, count: int) -> list[int]:
        """The offsets of the next records from here on."""
        at = bisect_left(self.offsets, max(offset, self.start))
        return self.offsets[at : at + count]

    def first_from(self, offset: int) -> int:
        """The first record that is still there at or behind an offset; the end where none is."""
        return next(iter(self.read(offset, 1)), self.end)

    def lost_between(self, low: int, high: int) -> list[int]:
        """Records in [low, high) that are still there."""
        low = max(low, self.start)
        return self.offsets[bisect_left(self.offsets, low) : bisect_left(self.offsets, high)]


@dataclass(slots=True, eq=False)
class Position:
    """Where one claim is being fetched; ``offset`` is None until the reset policy named one."""

    claim: PartitionClaim
    offset: int | None
    pending: Chunk | None = None
    full: bool = False

    def on_capacity(self) -> None:
        """The full queue may take the pending chunk now."""
        self.full = False


class SimFetching:
    """``Fetching`` from simulated logs, one chunk at a time, whenever the scheduler says so.

    Args:
        rng: decides how much a fetch brings.
        on_start: told of each claim with its offset.
        on_wake: told when claims were given up.
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
        """See ``Fetching``: the scheduler's next fetch looks which claims are given up."""
        self._on_wake()

    def forget_inactive(self) -> None:
        """Let go of claims that were given up."""
        if not all(position.claim.active for position in self.positions):
            self.positions = [position for position in self.positions if position.claim.active]

    def ready(
        self, logs: Mapping[TopicPartition, PartitionLog], brokers: Container[int]
    ) -> list[Position]:
        """What a fetch would bring something of."""
        self.forget_inactive()
        return [
            position
            for position in self.positions
            if not position.full
            and (log := logs[position.claim.topic_partition]).leader in brokers
            and (position.pending is not None or position.offset != log.end)
        ]

    def fetch(self, position: Position, log: PartitionLog) -> str:
        """One fetch of one partition; says what came of it."""
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
    """Offer it; to a native queue as a native loop does, where that makes such chunks."""
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
    """The node of a topic with so many partitions."""
    replicas = ",".join(f'"{number}":[0]' for number in range(count))
    return f'{{"version":1,"partitions":{{{replicas}}}}}'.encode()


def owner_of(path: str) -> TopicPartition:
    """The partition that an owner node or an offset node is about."""
    _, _, _, _, topic, partition = path.split("/")
    return TopicPartition(topic, int(partition))
