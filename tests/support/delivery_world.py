"""A model of one stream: a small log, deliveries, commits and crashes."""

from collections.abc import Callable

from tests.support.chunks import chunk_of, ignore
from tests.support.manual_clock import ManualClock
from zkconsumer.errors import ConsumerTimeout, OffsetCommitFailed
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import TopicPartition
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.delivery import Delivery
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.stream import KafkaStream

CHUNK_RECORDS = 4
"""The most records of a fetch."""
BATCH_RECORDS = 7
"""The most records of a batch: more than a chunk, less than a log."""
Place = tuple[int, int]
"""A partition and an offset."""


class Partition:
    """A log with gaps, its committed offset, its present claim and fetch offset."""

    def __init__(self, number: int, offsets: list[int], end: int) -> None:
        self.tp = TopicPartition("t", number)
        self.offsets = offsets
        self.end = end
        self.committed = 0
        self.fetch_offset = 0
        self.claim = PartitionClaim(self.tp, ChunkQueue(1), 0)

    def between(self, first: int, end: int) -> list[int]:
        """The log's offsets from ``first`` up to, excluding, ``end``."""
        return [offset for offset in self.offsets if first <= offset < end]


class DeliveryWorld:
    """A member that reads partitions through one stream, loses them, crashes, and restarts.

    Attributes:
        delivered: all deliveries in order, across the member's restarts.
        finished: the deliveries after which the caller requested the next one.
        on_commit: called with partition and offset before each commit takes effect.
    """

    def __init__(self, delivery: Delivery, logs: list[list[int]]) -> None:
        self.delivery = delivery
        self.partitions = [
            Partition(number, offsets, max(offsets, default=0) + 3)
            for number, offsets in enumerate(logs)
        ]
        self.delivered: list[Place] = []
        self.finished: set[Place] = set()
        self.pending: list[Place] = []
        self.on_commit: Callable[[Partition, int], None] = lambda _partition, _offset: None
        self.responses: list[str] = []
        self.clock = ManualClock()
        self.start()

    def start(self) -> None:
        """Start the member, which claims all partitions."""
        self.queue = ChunkQueue(1_000)
        self.gate = DeliveryGate(self.clock, 0)
        self.stream: KafkaStream[bytes, bytes] = KafkaStream(
            self.queue,
            clock=self.clock,
            timeout_ms=0,
            gate=self.gate,
            delivery=self.delivery,
            commit_ahead=self.commit_ahead,
        )
        for partition in self.partitions:
            self.claim(partition)

    def claim(self, partition: Partition) -> None:
        """Claim a partition, and read it from the committed offset on."""
        partition.claim = PartitionClaim(partition.tp, self.queue, partition.committed)
        partition.fetch_offset = partition.committed

    def fetch(self, number: int, count: int) -> None:
        """Queue the next records of a partition, and the gap after them."""
        partition = self.partitions[number]
        begin = partition.fetch_offset
        rest = partition.between(begin, partition.end)
        fetched = rest[:count]
        end = rest[count] if len(rest) > count else partition.end
        partition.fetch_offset = end
        self.queue.offer(
            chunk_of(partition.claim, fetched, fetched_at=begin, next_offset=end), ignore
        )

    def request(self) -> list[Place]:
        """Request a message, which finishes the ones before; there may be none."""

        def read() -> list[Place]:
            message = next(self.stream)
            return [(message.partition, message.offset)]

        return self._request(read)

    def request_batch(self) -> list[Place]:
        """Request a batch of messages."""

        def read() -> list[Place]:
            batch = next(self.stream.batches(max_records=BATCH_RECORDS, timeout_ms=0))
            return [(message.partition, message.offset) for message in batch]

        return self._request(read)

    def ask_for_arrow(self) -> list[Place]:
        """Request an Arrow record batch."""

        def read() -> list[Place]:
            batch = next(self.stream.arrow_batches(max_records=BATCH_RECORDS, timeout_ms=0))
            places = (batch.column(name).to_pylist() for name in ("partition", "offset"))
            return list(zip(*places, strict=True))

        return self._request(read)

    def _request(self, read: Callable[[], list[Place]]) -> list[Place]:
        self.finished.update(self.pending)
        self.pending = []
        try:
            self.pending = read()
        except (ConsumerTimeout, OffsetCommitFailed):
            return []
        finally:
            self._reclaim_lost()
        self.delivered += self.pending
        return self.pending

    def commit_automatically(self) -> None:
        """Commit as the timer does, in delivery modes that do not commit ahead."""
        for partition in self.partitions:
            self._commit_consumed(partition)

    def revoke(self, number: int) -> None:
        """Release a partition after a commit, and claim it again."""
        partition = self.partitions[number]
        partition.claim.active = False
        self._commit_consumed(partition)
        self.claim(partition)

    def crash(self) -> None:
        """Crash with the message in hand, and restart."""
        for partition in self.partitions:
            partition.claim.active = False
        self.pending = []
        self.start()

    def commit_ahead(self, claim: PartitionClaim, offset: int) -> bool:
        """See ``CommitAhead``: returns the next of ``responses``, or True if there is none."""
        partition = self.partitions[claim.topic_partition.partition]
        response = self.responses.pop() if self.responses else "yes"
        if response == "error":
            raise OffsetCommitFailed("g", {partition.tp: "no answer"})
        if response == "maybe":
            self._commit(partition, offset)
            raise OffsetCommitFailed("g", {partition.tp: "the answer was lost"})
        if response == "no":
            claim.active = False
            return False
        self._commit(partition, offset)
        return True

    def lost(self, partition: Partition) -> list[int]:
        """Return the offsets that were committed, but never delivered."""
        got = {offset for number, offset in self.delivered if number == partition.tp.partition}
        return [offset for offset in partition.between(0, partition.committed) if offset not in got]

    def _reclaim_lost(self) -> None:
        """Claim partitions again that were lost by a refused commit."""
        for partition in self.partitions:
            if not partition.claim.active:
                self.claim(partition)

    def _commit_consumed(self, partition: Partition) -> None:
        offset = partition.claim.consumed_offset
        if not self.delivery.commits_ahead and offset is not None:
            self._commit(partition, offset)

    def _commit(self, partition: Partition, offset: int) -> None:
        self.on_commit(partition, offset)
        partition.committed = offset
        partition.claim.committed_offset = offset
