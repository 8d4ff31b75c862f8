"""One partition for as long as we own it: the meeting point of fetcher, stream and control thread.

Every field has one writer, so there is no lock:

==================  =================================================================
``active``          control thread (and the ZooKeeper callback on session loss); only
                    ever goes from True to False
``consumed_offset``  the stream; before its first chunk the fetcher or control thread
``delivered_offset`` the stream
``committed_offset`` control thread
``committed_metadata``, ``explicit_floor``, ``topic_czxid``: control thread
``high_watermark``   the fetcher
``halted``           the fetcher; only ever goes from False to True
==================  =================================================================

Revoking is one store: a fetcher drops what it holds for an inactive claim, a stream drops the
chunks of one, and nobody waits for anybody. A partition that comes back is a *new* claim, so what
is left of an old one can never move the new one's offsets (Kafka's ``PartitionTopicInfo`` is shared
between both and had to guard against that).

Everything from building a request to a queued chunk may be taken over by a native loop; what it
must hand over is a ``Chunk``, and what it must ask is ``ChunkSink``: for room before it unpacks
anything, and whether it takes the chunk.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.progress import Progress
from zkconsumer.model import Record, TopicPartition


class PartitionClaim(Progress):
    """A partition that this member owns, with the offsets of its progress.

    Attributes:
        topic_partition: the partition.
        sink: where its chunks go: the queue of the stream that owns it.
        active: False from the moment it is given up; nothing is delivered from then on.
        consumed_offset: every record below it is done with: the caller asked for a later one.
            None until a start position is known.
        delivered_offset: one past the last record handed to the caller; None before the first.
        committed_offset: what the offset store holds, as far as we know; None if nothing.
        committed_metadata: the text that the store holds with it, where it keeps one.
        explicit_floor: automatic commits write nothing up to here: the caller named an offset
            itself, and has consumed no more than this since. None: it has named none.
        high_watermark: the end of the log at the last fetch, -1 before the first.
        topic_czxid: the ZooKeeper transaction that created the topic's node, as of the start: with
            another one the topic is another, and no offset of this claim means anything in it.
            None where it is not known.
        halted: nobody fetches it any more: what can't be read there has been handed to the
            stream, and nothing follows under this claim. A new claim of the partition tries anew.
    """

    __slots__ = (
        "committed_metadata",
        "committed_offset",
        "explicit_floor",
        "halted",
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
        self.explicit_floor: int | None = None
        self.topic_czxid: int | None = None
        self.halted = False

    @property
    def progress(self) -> Progress:
        """Its fields that change with every message: what the native core knows of it."""
        return self

    def __repr__(self) -> str:
        return (
            f"PartitionClaim({self.topic_partition}, active={self.active}, "
            f"consumed={self.consumed_offset}, committed={self.committed_offset})"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Poison:
    """A place in the log that can't be read.

    Attributes:
        topic_partition: the partition.
        offset: the first offset that can't be read.
        next_offset: where reading goes on: all from ``offset`` up to here is lost with it, which
            is more than one message where a whole compressed set can't be read. None where that
            can't be known; then no policy gets past it.
        error: what to raise: ``MessageTooLarge``, or ``PartitionFailed`` with its cause.
        raw: the entry's own bytes, as the log has them (offset, size, message).
        raw_is_whole: False where only the front of the entry was fetched.
    """

    topic_partition: TopicPartition
    offset: int
    next_offset: int | None
    error: ZkConsumerError
    raw: bytes = b""
    raw_is_whole: bool = True


@dataclass(slots=True, eq=False)
class Chunk:
    """What one fetch of one partition brought: checked, decompressed, in log order.

    Attributes:
        claim: the ownership under which it was fetched.
        fetch_offset: the offset that was asked for; a larger one than the stream stands at means
            that the position was reset in between.
        next_offset: where the log goes on behind this chunk, records and poison or not. Where
            the poison stops the partition, its offset.
        records: none of them below ``fetch_offset``; emptied when the claim is given up.
        size_bytes: the memory that the records take (``fetch.sizes``); 0 once it was given back.
        poison: what can't be read behind the records. By the policy the stream raises it, and
            nothing follows from this claim; or it is passed over. Gone where the claim is.
    """

    claim: PartitionClaim
    fetch_offset: int
    next_offset: int
    records: Sequence[Record]
    size_bytes: int
    poison: Poison | None = None


class ChunkSink(Protocol):
    """A bounded queue of chunks, as its producers see it."""

    def offer(self, chunk: Chunk, on_room: Callable[[], None]) -> bool:
        """Queue the chunk, or return False at once where the queue is full.

        A chunk that is large for the queue is cut: the front goes in, and after False ``chunk`` is
        what is left of it. After False ``on_room`` is called once as soon as there may be room. It
        may be called from any thread and must only put into a mailbox. Thread: any.
        """
        ...

    def room_bytes(self, on_room: Callable[[], None]) -> int:
        """How large a chunk it could take now; after 0 as after False of ``offer``. Thread: any."""
        ...

    def fail(self, error: ZkConsumerError) -> None:
        """Have the stream raise this, behind what is queued. Thread: any."""
        ...
