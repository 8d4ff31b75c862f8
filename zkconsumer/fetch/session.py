"""What one fetcher asks its broker, and what the answers mean: no socket, no thread, no clock.

The rule: an answer counts only for a partition that is still here, still active, and still stands
at the offset that was asked for. Whatever needs somebody else (a new leader, a stream that has
room again) comes back as a value.

Source: Kafka 0.8.2.2 ``AbstractFetcherThread`` and ``ConsumerFetcherThread``. Unlike there, a full
queue holds up its own partition only, an unreadable message stops its own partition only, and a
message larger than the fetch size makes the fetch grow.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.fetch.position import FetchPosition, start_at, take_records
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import TopicPartition
from zkconsumer.records.decode import decode_record_set
from zkconsumer.wire.error_codes import ErrorCode, error_name
from zkconsumer.wire.messages.fetch import (
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from zkconsumer.wire.messages.list_offsets import (
    ListedPartition,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)


@dataclass(frozen=True, slots=True, eq=False)
class Deliver:
    """Put this chunk into its claim's queue."""

    chunk: Chunk


@dataclass(frozen=True, slots=True, eq=False)
class LeaderLost:
    """This fetcher can't go on with the partition: its leader must be found again.

    Attributes:
        claim: the partition's ownership.
        fetch_offset: where its next fetcher must go on; None where the start is still unknown.
        reason: for the log.
    """

    claim: PartitionClaim
    fetch_offset: int | None
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class OffsetReset:
    """The log no longer (or not yet) has the offset asked for; ``auto.offset.reset`` decides."""

    claim: PartitionClaim
    out_of_range: int


Outcome = Deliver | LeaderLost | OffsetReset


class FetchSession:
    """The partitions that one fetcher reads from one broker."""

    def __init__(self, settings: FetchSettings) -> None:
        self._settings = settings
        self._positions: dict[TopicPartition, FetchPosition] = {}

    def __len__(self) -> int:
        return len(self._positions)

    def add(self, claim: PartitionClaim, fetch_offset: int | None) -> None:
        """Take over a partition; one that stands here under an older claim is replaced."""
        self._positions[claim.topic_partition] = FetchPosition(
            claim, fetch_offset, self._settings.fetch_bytes
        )

    def drop_inactive(self) -> None:
        """Forget partitions that were given up, with what waited for room in their queues."""
        gone = [tp for tp, position in self._positions.items() if not position.claim.active]
        for tp in gone:
            del self._positions[tp]

    def release_all(self, reason: str) -> tuple[LeaderLost, ...]:
        """Give every partition back: the broker can't be reached, or this fetcher ends."""
        lost = tuple(
            LeaderLost(position.claim, position.resume_offset, reason)
            for position in self._positions.values()
            if not position.halted or position.pending is not None
        )
        self._positions.clear()
        return lost

    def pending(self) -> Iterator[Chunk]:
        """The chunks that wait for room."""
        for position in self._positions.values():
            if position.pending is not None and position.claim.active:
                yield position.pending

    def hold(self, chunk: Chunk) -> None:
        """Keep a chunk that its queue did not take; its partition pauses meanwhile."""
        position = self._position_of(chunk.claim)
        if position is not None:
            position.pending = chunk

    def delivered(self, chunk: Chunk) -> None:
        """The queue took the chunk."""
        position = self._position_of(chunk.claim)
        if position is not None and position.pending is chunk:
            position.pending = None

    def offsets_request(self) -> ListOffsetsRequest | None:
        """What to ask to find the start of partitions that have none, or None."""
        time = int(self._settings.reset)
        by_topic: dict[str, list[ListOffsetsPartition]] = {}
        for (topic, partition), position in self._positions.items():
            if position.needs_offset:
                entry = ListOffsetsPartition(partition=partition, timestamp=time, max_offsets=1)
                by_topic.setdefault(topic, []).append(entry)
        if not by_topic:
            return None
        return ListOffsetsRequest(
            topics=tuple(
                ListOffsetsTopic(topic=topic, partitions=tuple(entries))
                for topic, entries in by_topic.items()
            )
        )

    def fetch_request(self) -> FetchRequest | None:
        """What to fetch next, or None where nothing may be asked for now.

        While a chunk waits for room the broker is not to wait for data: its answer would be all
        that the fetcher hears, and the stream may make room at any moment.
        """
        by_topic: dict[str, list[FetchPartition]] = {}
        for (topic, partition), position in self._positions.items():
            offset = position.fetch_offset
            if position.ready and offset is not None:
                entry = FetchPartition(
                    partition=partition, fetch_offset=offset, max_bytes=position.max_bytes
                )
                by_topic.setdefault(topic, []).append(entry)
        if not by_topic:
            return None
        return FetchRequest(
            max_wait_ms=0 if any(self.pending()) else self._settings.max_wait_ms,
            min_bytes=self._settings.min_bytes,
            topics=tuple(
                FetchTopic(topic=topic, partitions=tuple(entries))
                for topic, entries in by_topic.items()
            ),
        )

    def receive_offsets(self, response: ListOffsetsResponse) -> tuple[Outcome, ...]:
        """Set the start of the partitions that asked for one."""
        outcomes: list[Outcome] = []
        for topic in response.topics:
            for answer in topic.partitions:
                tp = TopicPartition(topic.topic, answer.partition)
                position = self._positions.get(tp)
                if position is not None and position.needs_offset and position.claim.active:
                    outcomes.extend(self._take_offset(tp, position, answer))
        return tuple(outcomes)

    def receive_fetch(self, request: FetchRequest, response: FetchResponse) -> tuple[Outcome, ...]:
        """Advance over an answer."""
        asked = {
            TopicPartition(topic.topic, part.partition): part.fetch_offset
            for topic in request.topics
            for part in topic.partitions
        }
        outcomes: list[Outcome] = []
        for topic in response.topics:
            for answer in topic.partitions:
                tp = TopicPartition(topic.topic, answer.partition)
                position = self._positions.get(tp)
                if position is None or not position.claim.active:
                    continue
                if position.ready and position.fetch_offset == asked.get(tp):
                    outcomes.extend(self._take_answer(tp, position, answer))
        return tuple(outcomes)

    def _take_offset(
        self, tp: TopicPartition, position: FetchPosition, answer: ListedPartition
    ) -> Iterator[Outcome]:
        if answer.error_code != ErrorCode.NONE:
            yield self._lose_leader(tp, f"ListOffsets: {error_name(answer.error_code)}")
        elif not answer.offsets:
            yield self._lose_leader(tp, "ListOffsets: no offset in the answer")
        else:
            chunk = start_at(position, answer.offsets[0])
            if chunk is not None:
                yield Deliver(chunk)

    def _take_answer(
        self, tp: TopicPartition, position: FetchPosition, answer: FetchedPartition
    ) -> Iterator[Outcome]:
        offset = position.fetch_offset
        assert offset is not None
        if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            position.fetch_offset = None
            yield OffsetReset(position.claim, offset)
        elif answer.error_code != ErrorCode.NONE:
            yield self._lose_leader(tp, f"Fetch: {error_name(answer.error_code)}")
        else:
            position.claim.high_watermark = answer.high_watermark
            decoded = decode_record_set(
                answer.records,
                fetch_offset=offset,
                max_decompressed_bytes=self._settings.max_decompressed_bytes,
            )
            chunk = take_records(position, decoded, len(answer.records), self._settings)
            if chunk is not None:
                yield Deliver(chunk)

    def _lose_leader(self, tp: TopicPartition, reason: str) -> LeaderLost:
        position = self._positions.pop(tp)
        return LeaderLost(position.claim, position.resume_offset, reason)

    def _position_of(self, claim: PartitionClaim) -> FetchPosition | None:
        position = self._positions.get(claim.topic_partition)
        return position if position is not None and position.claim is claim else None
