"""Logs and brokers of a model cluster, as a fetching consumer sees them; no threads or sockets.

A log remembers everything that was ever in it, so that a consumer's deliveries can be checked.
"""

import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.support.altered_messages import altered
from tests.support.markers import build_marker
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import Record, TimestampType, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.codecs import Codec
from zkconsumer.records.transactions import Marker
from zkconsumer.wire.messages import fetch as fe

NO_PRODUCER = -1


@dataclass(slots=True)
class Batch:
    """One entry of a log: a batch, a compressed set, or a message; or a transaction's marker."""

    first: int
    last: int
    data: bytes
    values: dict[int, bytes]
    epoch: int
    producer: int = NO_PRODUCER
    is_marker: bool = False
    is_aborted: bool = False


@dataclass(slots=True)
class ModelLog:
    """The log of one partition.

    Attributes:
        magic: the format of all entries.
        batches: all entries, including those that retention deleted.
        start, end: the log start and end offset.
        leader, epoch: the leader and its epoch.
        known_epoch: the epoch known to brokers before 2.4 other than the leader.
        ever: by offset, all records that ever had it, as pairs of epoch and value.
    """

    magic: int
    leader: int
    batches: list[Batch] = field(default_factory=list)
    start: int = 0
    end: int = 0
    epoch: int = 0
    known_epoch: int = 0
    epochs: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    ever: dict[int, set[tuple[int, bytes]]] = field(default_factory=dict)
    open: dict[int, int] = field(default_factory=dict)
    aborted: list[tuple[int, int, int]] = field(default_factory=list)
    serial: "itertools.count[int]" = field(default_factory=itertools.count)

    def append(
        self, count: int, *, codec: Codec, gap: int = 0, producer: int = NO_PRODUCER, size: int = 8
    ) -> None:
        """Append records, and optionally a gap after them, as compaction leaves it."""
        first = self.end
        values = {first + at: b"%d." % next(self.serial) + b"v" * size for at in range(count)}
        last = first + count - 1 + (gap if self.magic == 2 else 0)
        records = [
            Record(offset, None, value, 1_000 if self.magic else -1, _STAMPS[self.magic])
            for offset, value in values.items()
        ]
        if producer != NO_PRODUCER:
            self.open.setdefault(producer, first)
        if self.magic == 2:
            traits = BatchTraits(
                base_offset=first,
                last_offset=last,
                leader_epoch=self.epoch,
                producer_id=producer,
                producer_epoch=0 if producer >= 0 else -1,
                is_transactional=producer >= 0,
            )
            self._add(
                first, last, build_batch(records, codec=codec, traits=traits), values, producer
            )
        elif codec is Codec.NONE:
            for record in records:
                message = build_message_set([record], magic=self.magic)
                message_values = {record.offset: values[record.offset]}
                self._add(record.offset, record.offset, message, message_values)
        else:
            data = build_message_set(records, magic=self.magic, codec=codec)
            self._add(first, last, data, values)
        for offset, value in values.items():
            self.ever.setdefault(offset, set()).add((self.epoch, value))
        self.end = last + 1

    def finish(self, producer: int, marker: Marker) -> None:
        """End a producer's transaction."""
        first = self.open.pop(producer)
        traits = BatchTraits(leader_epoch=self.epoch, producer_id=producer, producer_epoch=0)
        data = build_marker(marker, self.end, timestamp=1_000, traits=traits)
        if marker is Marker.ABORT:
            self.aborted.append((producer, first, self.end))
            for batch in self.batches:
                if batch.producer == producer and batch.first >= first and not batch.is_marker:
                    batch.is_aborted = True
        self._add(self.end, self.end, data, {}, producer)
        self.batches[-1].is_marker = True
        self.end += 1

    def delete_before(self, offset: int) -> None:
        """Advance the log start offset, as retention does."""
        self.start = max(self.start, min(offset, self.end))

    def lead(self, broker: int, *, cut_to: int | None = None) -> None:
        """Elect a leader, optionally one with a shorter log."""
        self.leader = broker
        self.epoch += 1
        self.known_epoch = self.epoch
        if cut_to is not None and cut_to < self.end:
            self.batches = [batch for batch in self.batches if batch.last < cut_to]
            self.end = max([self.start, *(batch.last + 1 for batch in self.batches)])
        self.epochs = [epoch for epoch in self.epochs if epoch[0] == 0 or epoch[1] < self.end]
        self.epochs.append((self.epoch, self.end))

    def reassign(self) -> None:
        """Change the replicas: the leader stays, with a new epoch."""
        self.epoch += 1
        self.epochs = [epoch for epoch in self.epochs if epoch[0] == 0 or epoch[1] < self.end]
        self.epochs.append((self.epoch, self.end))

    @property
    def last_stable(self) -> int:
        """The last stable offset."""
        return min([self.end, *self.open.values()])

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """The result of OffsetForLeaderEpoch: an epoch, and its end offset."""
        if epoch == self.epoch:
            return epoch, self.end
        later = [entry for entry in self.epochs if entry[0] > epoch]
        if not later:
            return -1, -1
        before = [entry[0] for entry in self.epochs if entry[0] <= epoch]
        return (max(before) if before else epoch), later[0][1]

    def visible(self, first: int, stop: int, *, committed: bool) -> list[tuple[int, bytes]]:
        """The records that a consumer must get of an offset range."""
        return [
            (offset, value)
            for batch in self.batches
            if not (committed and batch.is_aborted)
            for offset, value in batch.values.items()
            if first <= offset < stop
        ]

    def read(self, wanted: fe.FetchPartition, version: int, room: int, *, committed: bool) -> bytes:
        """The record set of a fetch response."""
        limit = self.last_stable if committed else self.end
        data, left = b"", min(wanted.max_bytes, room)
        for batch in self.batches:
            if batch.last < max(wanted.fetch_offset, self.start) or batch.first >= limit:
                continue
            if version >= 3 and len(batch.data) > left and (data or left <= 0):
                break
            if version < 3:
                data += batch.data[: max(0, left)]
            else:
                data += batch.data
            left -= len(batch.data)
            if left <= 0:
                break
        return data

    def aborted_in(self, offset: int, data: bytes) -> tuple[fe.AbortedTransaction, ...]:
        """The aborted transactions in a fetch response with these records."""
        stop = offset
        left = len(data)
        for batch in self.batches:
            if batch.last >= offset and left > 0:
                stop, left = batch.last + 1, left - len(batch.data)
        return tuple(
            fe.AbortedTransaction(producer_id=producer, first_offset=first)
            for producer, first, marker in self.aborted
            if first < stop and marker >= offset
        )

    def _add(
        self,
        first: int,
        last: int,
        data: bytes,
        values: dict[int, bytes],
        producer: int = NO_PRODUCER,
    ) -> None:
        self.batches.append(Batch(first, last, data, values, self.epoch, producer))


_STAMPS = {
    0: TimestampType.NONE,
    1: TimestampType.CREATE_TIME,
    2: TimestampType.CREATE_TIME,
}


@dataclass(slots=True)
class _Session:
    epoch: int
    wanted: dict[TopicPartition, fe.FetchPartition]
    marks: dict[TopicPartition, int] = field(default_factory=dict)


class ModelBroker:
    """Answers fetches from the logs that it leads, with fetch sessions (KIP-227).

    Attributes:
        faults: error codes to respond with, by partition; each is used once.
        flips: partitions whose next records are damaged in the response.
        topic_ids: the ids of existing topics, which requests from version 13 on contain.
    """

    def __init__(
        self,
        number: int,
        logs: dict[TopicPartition, ModelLog],
        chance: random.Random,
        topic_ids: Mapping[str, bytes],
    ) -> None:
        self.number = number
        self.topic_ids = topic_ids
        self.faults: dict[TopicPartition, int] = {}
        self.flips: set[TopicPartition] = set()
        self._logs = logs
        self._chance = chance
        self._sessions: dict[int, _Session] = {}
        self._ids = itertools.count(1)

    def recreated(self, topic: str, former_id: bytes) -> None:
        """Note that a topic was deleted and created again: sessions still refer to the former.

        In sessions of requests without ids the two can't be told apart.
        """
        for session in self._sessions.values():
            for tp in [tp for tp in session.wanted if tp.topic == topic]:
                gone = TopicPartition(former_id.hex(), tp.partition)
                session.wanted[gone] = session.wanted.pop(tp)
                session.marks.pop(tp, None)

    def evict(self) -> None:
        """Drop all sessions, as if other clients needed the space."""
        self._sessions.clear()

    def fetch(self, request: fe.FetchRequest, version: int) -> fe.FetchResponse:
        """Answer a fetch request."""
        if version <= fe.LAST_BY_NAME:
            return self._fetch(request, version)
        # A deleted topic has no name; its id takes the name's place.
        names = {topic_id: topic for topic, topic_id in self.topic_ids.items()}
        ids = {topic: topic_id for topic_id, topic in names.items()}
        by_name = altered(
            request,
            topics=tuple(
                altered(
                    fetch_topic, topic=names.get(fetch_topic.topic_id, fetch_topic.topic_id.hex())
                )
                for fetch_topic in request.topics
            ),
            forgotten_topics=tuple(
                altered(
                    forgotten_topic,
                    topic=names.get(forgotten_topic.topic_id, forgotten_topic.topic_id.hex()),
                )
                for forgotten_topic in request.forgotten_topics
            ),
        )
        response = self._fetch(by_name, version)
        return altered(
            response,
            topics=tuple(
                altered(
                    fetched_topic,
                    topic="",
                    topic_id=ids.get(fetched_topic.topic) or bytes.fromhex(fetched_topic.topic),
                )
                for fetched_topic in response.topics
            ),
        )

    def _fetch(self, request: fe.FetchRequest, version: int) -> fe.FetchResponse:
        named = {
            TopicPartition(topic.topic, fetch_partition.partition): fetch_partition
            for topic in request.topics
            for fetch_partition in topic.partitions
        }
        if version < 7 or request.session_epoch == fe.SESSIONLESS_EPOCH:
            return self._respond(request, version, named, None)
        if request.session_epoch == fe.FIRST_EPOCH:
            self._sessions.pop(request.session_id, None)
            if not self._chance.randrange(6):
                return self._respond(request, version, named, None)
            number = next(self._ids)
            session = self._sessions[number] = _Session(1, dict(named))
            return self._respond(request, version, session.wanted, None, number, session)
        kept = self._sessions.get(request.session_id)
        if kept is None:
            return fe.FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, topics=())
        if kept.epoch != request.session_epoch:
            return fe.FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH, topics=())
        kept.epoch += 1
        for topic in request.forgotten_topics:
            for partition in topic.partitions:
                kept.wanted.pop(TopicPartition(topic.topic, partition))
        kept.wanted.update(named)
        return self._respond(request, version, kept.wanted, kept.marks, request.session_id, kept)

    def _respond(
        self,
        request: fe.FetchRequest,
        version: int,
        wanted: dict[TopicPartition, fe.FetchPartition],
        marks: dict[TopicPartition, int] | None,
        number: int = 0,
        session: _Session | None = None,
    ) -> fe.FetchResponse:
        """Respond with all partitions, or with those that have changed since ``marks``."""
        topics: dict[str, list[fe.FetchedPartition]] = {}
        room = request.max_bytes if version >= 3 else 1 << 31
        gave: list[TopicPartition] = []
        for tp, partition in wanted.items():
            part = self._fetched_part(
                tp, partition, version, room, committed=request.isolation_level == 1
            )
            room -= len(part.records)
            mark = -1 if part.error_code else part.high_watermark
            has_changes = (
                len(part.records) or part.error_code or part.diverging_epoch.end_offset >= 0
            )
            if marks is None or has_changes or marks.get(tp) != mark:
                topics.setdefault(tp.topic, []).append(part)
            if session is not None:
                session.marks[tp] = mark
            if len(part.records):
                gave.append(tp)
        for tp in gave if session is not None else ():
            wanted[tp] = wanted.pop(tp)
        return fe.FetchResponse(
            session_id=number,
            topics=tuple(
                fe.FetchedTopic(topic=topic, partitions=tuple(parts))
                for topic, parts in topics.items()
            ),
        )

    def _fetched_part(
        self,
        tp: TopicPartition,
        requested: fe.FetchPartition,
        version: int,
        room: int,
        *,
        committed: bool,
    ) -> fe.FetchedPartition:
        log = self._logs.get(tp)
        code: int = ErrorCode.UNKNOWN_TOPIC_ID
        if log is not None:
            code = self.faults.pop(tp, 0) or self._fault_of(log, requested, version)
        if code:
            return fe.FetchedPartition(
                partition=tp.partition, error_code=code, high_watermark=-1, records=memoryview(b"")
            )
        assert log is not None
        epoch, end = log.end_of_epoch(requested.last_fetched_epoch)
        is_compared = version >= 12 and requested.last_fetched_epoch >= 0 and epoch >= 0
        if is_compared and (end < requested.fetch_offset or epoch < requested.last_fetched_epoch):
            return fe.FetchedPartition(
                partition=tp.partition,
                error_code=0,
                high_watermark=log.end,
                diverging_epoch=fe.DivergingEpoch(epoch=epoch, end_offset=end),
                records=memoryview(b""),
            )
        data = log.read(requested, version, room, committed=committed)
        aborted = log.aborted_in(requested.fetch_offset, data) if committed else None
        if tp in self.flips and data:
            data = self._damaged(tp, data)
        return fe.FetchedPartition(
            partition=tp.partition,
            error_code=0,
            high_watermark=log.end,
            last_stable_offset=log.last_stable if version >= 4 else -1,
            log_start_offset=log.start if version >= 5 else -1,
            aborted_transactions=aborted if version >= 4 else None,
            records=memoryview(data),
        )

    def _damaged(self, tp: TopicPartition, data: bytes) -> bytes:
        """Change one byte that a CRC covers, in any complete entry."""
        entries, at = [], 0
        while at + 12 < len(data):
            stop = at + 12 + int.from_bytes(data[at + 8 : at + 12], "big")
            if stop <= len(data) and stop - at > 22:
                entries.append((at + 22, stop))
            at = stop
        if not entries:
            return data
        self.flips.discard(tp)
        at = self._chance.randrange(*self._chance.choice(entries))
        return data[:at] + bytes((data[at] ^ 0x55,)) + data[at + 1 :]

    def _fault_of(self, log: ModelLog, requested: fe.FetchPartition, version: int) -> int:
        if log.leader != self.number:
            return ErrorCode.NOT_LEADER_FOR_PARTITION
        if version >= 9 and 0 <= requested.current_leader_epoch < log.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if version >= 9 and requested.current_leader_epoch > log.epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if not log.start <= requested.fetch_offset <= log.end:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        return ErrorCode.NONE
