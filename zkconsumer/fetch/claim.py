"""One partition while this process owns it, shared by fetcher, stream and control thread.

Every field has one writer, so there is no lock:

==================  =================================================================
``active``          control thread (and the ZooKeeper callback on session loss); only
                    ever goes from True to False
``consumed_offset``  the stream; before its first chunk the fetcher or control thread
``delivered_offset`` the stream
``jumps_back``       the stream
``committed_offset`` control thread
``committed_metadata``, ``committed_jumps``, ``explicit_floor``, ``topic_czxid``: control thread
``high_watermark``, ``doubts``: the fetcher
``halted``           the fetcher; only ever goes from False to True
==================  =================================================================

Revoking a claim is one store to ``active``: a fetcher drops its records of an inactive claim, a
stream drops its chunks, and no thread waits for another. A partition that is owned again gets a
*new* claim, so the old one's chunks can never move the new one's offsets (in Kafka both share one
``PartitionTopicInfo``, which had to guard against that).

All work from building a request to queueing a chunk may be delegated to a native loop, which hands
over ``Chunk`` objects. It checks the free bytes of the ``ChunkSink`` before it unpacks anything,
and afterwards whether the sink took the chunk.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.progress import Progress
from zkconsumer.model import Record, TopicPartition


class PartitionClaim(Progress):
    """A partition that this process owns, with the offsets of its progress.

    Attributes:
        topic_partition: the partition.
        sink: the queue of the stream that owns it, which gets its chunks.
        active: False once the partition is given up; no chunk is delivered from then on.
        consumed_offset: every record below it is processed: the caller has requested a later one.
            None until a start position is known.
        delivered_offset: one past the last record handed to the caller; None before the first.
        committed_offset: the offset in the store, as far as we know; None if there is none.
        jumps_back: how often the stream's position moved back, because an unclean election
            truncated the log or ``auto.offset.reset`` applied.
        committed_jumps: ``jumps_back`` when ``committed_offset`` was stored: if it differs now,
            that offset and the floor are positions in another log.
        committed_metadata: the text stored with ``committed_offset``, if the store keeps one.
        explicit_floor: automatic commits write only offsets above this one, because the caller
            committed an offset itself and has consumed no further than this since. None: the
            caller has committed none.
        high_watermark: the high watermark as of the last fetch, -1 before the first.
        doubts: how often in a row a leader reported an offset as out of range that its log has.
        topic_czxid: the ZooKeeper transaction that created the topic's node, as of the start: if
            it differs now, the topic was recreated, and no offset of this claim applies to it.
            None if not known.
        halted: True once fetching has stopped: the unreadable entry has been handed to the stream,
            and nothing follows under this claim. A new claim of the partition tries again.
    """

    __slots__ = (
        "committed_jumps",
        "committed_metadata",
        "committed_offset",
        "doubts",
        "explicit_floor",
        "halted",
        "jumps_back",
        "sink",
        "topic_czxid",
        "topic_partition",
    )

    def __init__(
        self, topic_partition: TopicPartition, sink: "ChunkSink", committed_offset: int | None
    ) -> None:
        super().__init__()
        self.topic_partition = topic_partition
        self.sink = sink
        self.committed_offset = committed_offset
        self.consumed_offset = committed_offset
        self.committed_metadata = ""
        self.jumps_back = self.committed_jumps = 0
        self.doubts = 0
        self.explicit_floor: int | None = None
        self.topic_czxid: int | None = None
        self.halted = False

    def __repr__(self) -> str:
        return (
            f"PartitionClaim({self.topic_partition}, active={self.active}, "
            f"consumed={self.consumed_offset}, committed={self.committed_offset})"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Poison:
    """Describe a place in the log that can't be read.

    Attributes:
        topic_partition: the partition.
        offset: the first unreadable offset.
        next_offset: the offset at which reading continues. Everything from ``offset`` up to here
            is lost, which is more than one message if a whole compressed set can't be read. None
            if not known; then no policy can skip it.
        error: the error to raise: ``MessageTooLarge``, or ``PartitionFailed`` with its cause.
        raw: the entry's bytes as in the log (offset, size, message).
        raw_is_whole: False if only the front of the entry was fetched.
    """

    topic_partition: TopicPartition
    offset: int
    next_offset: int | None
    error: ZkConsumerError
    raw: bytes = b""
    raw_is_whole: bool = True


@dataclass(slots=True, eq=False)
class Chunk:
    """Hold records of one partition from one fetch: checked, decompressed, in log order.

    Attributes:
        claim: the claim under which it was fetched.
        fetch_offset: the requested offset; if it is larger than the stream's position, the
            position was reset in between.
        next_offset: the offset after this chunk, records and poison included; if the poison stops
            the partition, the offset of the poison.
        records: none of them below ``fetch_offset``; emptied when the claim is given up.
        size_bytes: the memory that the records take (``fetch.sizes``); 0 once it is released.
        poison: the unreadable entry after the records. Depending on the policy, the stream skips
            it, or raises it, and nothing follows under this claim. Dropped with the claim.
    """

    claim: PartitionClaim
    fetch_offset: int
    next_offset: int
    records: Sequence[Record]
    size_bytes: int
    poison: Poison | None = None

    @property
    def is_jump(self) -> bool:
        """Whether the chunk only moves the stream's position."""
        return self.fetch_offset == self.next_offset and self.poison is None


class ChunkSink(Protocol):
    """Bounded queue of chunks, as its producers and the owner of its claims see it."""

    def offer(self, chunk: Chunk, on_capacity: Callable[[], None]) -> bool:
        """Queue the chunk, or return False at once if the queue is full.

        A chunk that is large for the queue is queued in parts; after False ``chunk`` is what is
        left of it. After False ``on_capacity`` is called once, as soon as there may be capacity.
        It may be called from any thread and must only put into a mailbox. Thread: any.
        """
        ...

    def free_bytes(self, on_capacity: Callable[[], None]) -> int:
        """Return the free bytes for a chunk. Thread: any.

        If there are none, ``on_capacity`` is called later, as after a False from ``offer``.
        """
        ...

    def fail(self, error: ZkConsumerError) -> None:
        """Have the stream raise this error after the queued chunks. Thread: any."""
        ...

    def discard_inactive(self) -> None:
        """Free the chunks of claims that were given up. Thread: any."""
        ...
