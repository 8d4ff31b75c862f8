"""Claims and chunks for tests of what lies between a fetcher and a stream."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

import pytest

from tests.support.queues import making_queues, needs_native_engine
from tests.support.record_sets import records
from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.claim import Chunk, ChunkSink, PartitionClaim, Poison
from zkconsumer.fetch.sizes import records_bytes
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.build import build_message_set

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
_are_native = False


@pytest.fixture(
    scope="module", params=["python", pytest.param("native", marks=needs_native_engine)]
)
def each_chunk(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have ``chunk_of`` make chunks as Python does, and then as native loops do.

    A stream reads the one by ``PythonChunkCursor``, and the other by the native cursor.
    ``new_queue`` makes queues to match.
    """
    global _are_native  # noqa: PLW0603 - the fixture's one job
    _are_native = request.param == "native"
    with making_queues(native=_are_native):
        yield
    _are_native = False


def are_native() -> bool:
    """Whether ``chunk_of`` makes chunks as native loops do."""
    return _are_native


@lru_cache(maxsize=200)
def native_records(data: bytes, fetch_offset: int = 0) -> Sequence[Record]:
    """A record set as a native loop hands it on."""
    # It may be missing, or not be wanted.
    from zkconsumer.native import _core  # noqa: PLC0415

    queue, claim = _core.Queue(1_000, Chunk), claim_of()
    assert queue.put_set(claim, data, fetch_offset) is None
    chunk = queue.head(0)
    assert isinstance(chunk, Chunk)
    assert isinstance(chunk.records, _core.Runs)
    return chunk.records


class ListSink:
    """A ``ChunkSink`` that remembers what it took; ``room`` is how many more it takes."""

    def __init__(self, room: int = 1_000_000) -> None:
        self.room = room
        self.chunks: list[Chunk] = []
        self.waiting: list[Callable[[], None]] = []
        self.failures: list[ZkConsumerError] = []

    def fail(self, error: ZkConsumerError) -> None:
        """See ``ChunkSink``."""
        self.failures.append(error)

    def offer(self, chunk: Chunk, on_capacity: Callable[[], None]) -> bool:
        """See ``ChunkSink``."""
        if self.room <= 0:
            self.waiting.append(on_capacity)
            return False
        self.room -= 1
        self.chunks.append(chunk)
        return True

    def free_bytes(self, on_capacity: Callable[[], None]) -> int:
        """See ``ChunkSink``."""
        if self.room <= 0:
            self.waiting.append(on_capacity)
        return sys.maxsize if self.room > 0 else 0

    def offsets(self) -> list[int]:
        """The offsets of all records taken, in the order in which they came."""
        return [record.offset for chunk in self.chunks for record in chunk.records]


def claim_of(
    tp: TopicPartition = T0, *, committed: int | None = None, sink: ChunkSink | None = None
) -> PartitionClaim:
    """A claim whose chunks go to ``sink``."""
    return PartitionClaim(tp, ListSink() if sink is None else sink, committed)


def chunk_of(
    claim: PartitionClaim,
    offsets: Iterable[int] = (),
    *,
    fetched_at: int | None = None,
    next_offset: int | None = None,
    error: ZkConsumerError | None = None,
    poison: Poison | None = None,
) -> Chunk:
    """A chunk with a record for each offset; its ends are those of the records unless given.

    With an ``error`` its poison stops the partition there; a ``poison`` may also be passed over.
    """
    found: Sequence[Record] = records(*offsets)
    if fetched_at is None:
        fetched_at = found[0].offset if found else claim.consumed_offset or 0
    if next_offset is None:
        next_offset = found[-1].offset + 1 if found else fetched_at
    if error is not None:
        poison = Poison(claim.topic_partition, next_offset, None, error)
    size_bytes = records_bytes(found)
    if _are_native and found:
        found = native_records(build_message_set(found), found[0].offset)
    return Chunk(claim, fetched_at, next_offset, found, size_bytes, poison)


def ignore() -> None:
    """Hear that there is room, and do nothing."""
