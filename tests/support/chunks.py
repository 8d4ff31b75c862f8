"""Claims and chunks for tests of the queue between a fetcher and a stream."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

import pytest

from tests.support.queues import making_queues, needs_native_engine
from tests.support.record_sets import records
from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.claim import Chunk, ChunkSink, PartitionClaim, Poison
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.records.memory import records_bytes

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
_are_native = False


@pytest.fixture(
    scope="module", params=["python", pytest.param("native", marks=needs_native_engine)]
)
def each_chunk(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run each test with ``chunk_of`` making Python's chunks, and again with native ones.

    A stream reads the former with ``PythonChunkCursor``, and the latter with the native cursor.
    ``new_queue`` makes matching queues.
    """
    global _are_native  # noqa: PLW0603 - the fixture's one job
    _are_native = request.param == "native"
    with making_queues(native=_are_native):
        yield
    _are_native = False


def are_native() -> bool:
    """Whether ``chunk_of`` makes native chunks."""
    return _are_native


@lru_cache(maxsize=200)
def native_records(data: bytes, fetch_offset: int = 0) -> Sequence[Record]:
    """Return a record set's records as a native loop delivers them."""
    # The native core may be missing, or disabled.
    from zkconsumer.native import _core  # noqa: PLC0415

    queue, claim = _core.Queue(1_000, Chunk), claim_of()
    assert queue.put_set(claim, data, fetch_offset) is None
    chunk = queue.head(0)
    assert isinstance(chunk, Chunk)
    assert isinstance(chunk.records, _core.Runs)
    return chunk.records


class ListSink:
    """A ``ChunkSink`` that keeps its chunks in a list; ``room`` is its free capacity in chunks."""

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

    def discard_inactive(self) -> None:
        """See ``ChunkSink``; a test looks at all chunks."""

    def offsets(self) -> list[int]:
        """The offsets of all records received, in order of arrival."""
        return [record.offset for chunk in self.chunks for record in chunk.records]


def claim_of(
    tp: TopicPartition = T0, *, committed: int | None = None, sink: ChunkSink | None = None
) -> PartitionClaim:
    """Return a claim whose chunks go to ``sink``."""
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
    """Return a chunk with a record for each offset; unless given, its ends follow from these.

    An ``error`` becomes a poison that stops the partition; a ``poison`` may also be skipped.
    """
    chunk_records: Sequence[Record] = records(*offsets)
    if fetched_at is None:
        fetched_at = chunk_records[0].offset if chunk_records else claim.consumed_offset or 0
    if next_offset is None:
        next_offset = chunk_records[-1].offset + 1 if chunk_records else fetched_at
    if error is not None:
        poison = Poison(claim.topic_partition, next_offset, None, error)
    size_bytes = records_bytes(chunk_records)
    if _are_native and chunk_records:
        chunk_records = native_records(build_message_set(chunk_records), chunk_records[0].offset)
    return Chunk(claim, fetched_at, next_offset, chunk_records, size_bytes, poison)


def ignore() -> None:
    """Do nothing when capacity becomes free."""
