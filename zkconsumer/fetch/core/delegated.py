"""Describe what a native loop fetches for Python, and what it returns. Pure.

A delegated partition has a claim and a queue of its own for as long as it is delegated. Its chunks
lie in the queue until the caller takes them; giving the partition up is one store.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from zkconsumer.fetch.core.completed import BufferedChunk, PartitionRequest
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.model import TopicPartition
from zkconsumer.records.slices import FetchedRecords

if TYPE_CHECKING:
    from zkconsumer.native import _core

T = TypeVar("T")


class Returned(NamedTuple):
    """Hold the state of a delegated partition on its return, as ``_core.Pump.unload`` returns it.

    Attributes:
        fetch_offset: the offset after the last queued record.
        needed_bytes: see ``PartitionState``.
        grown_bytes: see there.
        turn: number of its last turn; 0: none since it was delegated.
        is_unsupported: whether Python has to unpack what is packed.
        error_code: the broker's error for the request at ``fetch_offset``; 0: none.
        is_left_out: whether the response to that request omitted it.
        packed: received bytes that are not queued yet, as the arguments of a ``RecordSet``.
        is_behind: see ``PartitionState``.
    """

    fetch_offset: int
    needed_bytes: int
    grown_bytes: int = 0
    turn: int = 0
    is_unsupported: bool = False
    error_code: int = 0
    is_left_out: bool = False
    packed: tuple[memoryview, int, int, int, int, bool] | None = None
    is_behind: bool = False


class PumpCounts(NamedTuple):
    """Count what a pump fetched since the last report, as ``_core.Pump.counts`` does.

    Attributes:
        fetches: responses.
        partitions: the partitions that these name.
        size_bytes: record sets' bytes, as received.
        records: records put into queues.
        duration_ms: from request to response, summed up.
        throttle_ms: the longest pause that the broker requested.
        sent_bytes: bytes of requests.
        received_bytes: bytes of responses.
        longest_ms: the longest time from request to response.
        largest_bytes: record sets' bytes of the largest response.
        throttled_ms: throttle times of all responses, summed up.
    """

    fetches: int
    partitions: int
    size_bytes: int
    records: int
    duration_ms: int
    throttle_ms: int
    sent_bytes: int
    received_bytes: int
    longest_ms: int
    largest_bytes: int
    throttled_ms: int


class SharedProgress(Protocol):
    """Share with a native loop whether a partition is still fetched, as ``_core.Progress``."""

    active: bool
    high_watermark: int
    log_start: int


class ChunkSource(Protocol):
    """Hand over what a native loop queued, as ``_core.Queue``."""

    @property
    def queued_bytes(self) -> int:
        """Memory of the chunks that are not taken."""
        ...

    @property
    def record_count(self) -> int:
        """Records that are not taken."""
        ...

    def take_chunk(self) -> "tuple[int, int, int, int, _core.Fetched] | None":
        """Take the next chunk; the memory of the one before is free."""
        ...

    def await_chunk(self) -> bool:
        """Return whether there is a chunk; if not, have the next one reported."""
        ...


@dataclass(slots=True, eq=False)
class DelegatedFetch:
    """Hold what is shared with a native loop about one partition.

    Attributes:
        requested: what is fetched; the partition holds this very object while it is delegated.
        claim: inactive once the partition is given up.
        queue: the chunks that were fetched.
    """

    requested: PartitionRequest
    claim: SharedProgress
    queue: ChunkSource

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition."""
        return self.requested.topic_partition

    def take(self, *, has_epochs: bool, enough_bytes: int = 1) -> BufferedChunk | None:
        """Take the next chunk; return None if there is none now.

        Args:
            has_epochs: whether positions have the epoch of the last record.
            enough_bytes: following chunks that are there are joined up to about this size.
        """
        records: list[_core.Fetched] = []
        end, size_bytes = PositionView(-1), 0
        while size_bytes < enough_bytes and (taken := self.queue.take_chunk()) is not None:
            _, next_offset, leader_epoch, chunk_bytes, fetched = taken
            records.append(fetched)
            size_bytes += chunk_bytes
            end = PositionView(next_offset, leader_epoch)
        if not records:
            return None
        joined = FetchedRecords(
            records,
            next_offset=end.offset,
            valid_bytes=size_bytes,
            first_entry_size_bytes=None,
            last_leader_epoch=end.leader_epoch,
        )
        end = end if has_epochs else PositionView(end.offset)
        return BufferedChunk(joined, end, has_wire_bytes=False)


def in_topics(partitions: Iterable[T], named: Callable[[T], TopicPartition]) -> list[T]:
    """Group partitions by topic, by the topics' first turns; keep the order in each topic."""
    topics: dict[str, list[T]] = {}
    for partition in partitions:
        topics.setdefault(named(partition).topic, []).append(partition)
    return [partition for together in topics.values() for partition in together]


class ResponseShare(NamedTuple):
    """Hold the share of one response in a pump's counts; see ``PumpCounts``."""

    size_bytes: int
    records: int
    duration_ms: int
    throttle_ms: int


def each_response(counts: PumpCounts) -> Iterator[ResponseShare]:
    """Share out counts among their responses: one is longest and largest, others are average."""
    others = counts.fetches - 1
    most = ResponseShare(
        counts.largest_bytes,
        counts.records - others * (counts.records // max(1, counts.fetches)),
        counts.longest_ms,
        counts.throttle_ms,
    )
    for _ in range(others):
        yield ResponseShare(
            (counts.size_bytes - most.size_bytes) // others,
            counts.records // counts.fetches,
            (counts.duration_ms - most.duration_ms) // others,
            (counts.throttled_ms - most.throttle_ms) // others,
        )
    if counts.fetches:
        yield most
