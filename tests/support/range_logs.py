"""A leader and a client in memory that serve a log of any magic to range readers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.support.altered_messages import altered
from tests.support.poll_logs import ModelLog
from tests.support.ranges import TP
from zkconsumer.cluster.offset_times import EARLIEST, TimedOffset
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.in_flight import InFlight, Received
from zkconsumer.records.codecs import Codec
from zkconsumer.wire.absent import NO_TOPIC_ID
from zkconsumer.wire.messages.fetch import (
    LAST_BY_NAME,
    FetchedPartition,
    FetchedTopic,
    FetchRequest,
    FetchResponse,
)

LEADER = Broker(0, "leader", 9092)
REPLICA = Broker(1, "replica", 9092)
TOPIC_ID = bytes(range(16))

Answer = Callable[[FetchResponse], FetchResponse]
"""Changes a correct response, or raises instead."""


class LogConnection:
    """A connection to a broker that serves a log, by the topic's name or its id.

    Args:
        log: the log.
        version: the version of Fetch.
        committed: whether requests are expected to be read_committed.
        script: changes to the first responses; None: no change.

    Attributes:
        asked: for each request the broker, the offset, and the bytes of the response.
    """

    has_descriptor = False

    def __init__(
        self,
        log: ModelLog,
        version: int = LAST_BY_NAME,
        *,
        committed: bool = False,
        script: Iterable[Answer | None] = (),
    ) -> None:
        self.version = version
        self.broker = LEADER
        self.is_idle = True
        self.topic_id = TOPIC_ID
        self.log = log
        self.asked: list[tuple[Broker, int, int]] = []
        self._committed = committed
        self._script = list(script)

    def version_of(self, *_: object, **__: object) -> int:
        return self.version

    def close(self) -> None:
        self.is_idle = False

    def begin(self, request: FetchRequest, **_: object) -> InFlight[FetchResponse]:
        self.is_idle = False
        return InFlight(request, self.version, 1)

    def receive(self, *_: object, **__: object) -> Received:
        return Received.ALL

    def finish(self, in_flight: InFlight[FetchResponse], **_: object) -> FetchResponse:
        self.is_idle = True
        response = self._response(in_flight.request)
        answer = self._script.pop(0) if self._script else None
        return response if answer is None else answer(response)

    def _response(self, request: object) -> FetchResponse:
        assert isinstance(request, FetchRequest)
        (topic,) = request.topics
        (wanted,) = topic.partitions
        by_id = self.version > LAST_BY_NAME
        assert topic.topic_id == (self.topic_id if by_id else NO_TOPIC_ID)
        is_outside = wanted.fetch_offset < self.log.start
        data = self.log.read(wanted, 12, 1 << 30, committed=self._committed)
        data = b"" if is_outside else data
        self.asked.append((self.broker, wanted.fetch_offset, len(data)))
        aborted = self.log.aborted_in(wanted.fetch_offset, data)
        part = FetchedPartition(
            partition=wanted.partition,
            error_code=ErrorCode.OFFSET_OUT_OF_RANGE if is_outside else ErrorCode.NONE,
            high_watermark=self.log.end,
            last_stable_offset=self.log.last_stable,
            aborted_transactions=aborted if self._committed else None,
            records=memoryview(bytearray(data)),
        )
        if by_id:
            answered = FetchedTopic(topic="", topic_id=self.topic_id, partitions=(part,))
        else:
            answered = FetchedTopic(topic=TP.topic, partitions=(part,))
        return FetchResponse(topics=(answered,))


@dataclass(slots=True)
class LogClient:
    """A client that knows a leader and a replica, with a pool of one connection.

    Attributes:
        connection: the connection to either broker.
        topic_ids: the topic's ids in successive views; the last one stays.
        codes: the error codes of the first lookups of log ends.
        stopped: whether the pool was stopped.
    """

    connection: LogConnection
    topic_ids: list[bytes] = field(default_factory=lambda: [TOPIC_ID])
    codes: list[int] = field(default_factory=list)
    stopped: bool = False

    @property
    def connections(self) -> "LogClient":
        return self

    def take_or_dial(self, broker: Broker, **_: object) -> tuple[LogConnection, bool]:
        self.connection.broker = broker
        self.connection.is_idle = True
        return self.connection, False

    def give_back(self, _: object) -> None:
        self.connection.is_idle = True

    def view(self, *_: object, **__: object) -> ClusterView:
        topic_id = self.topic_ids.pop(0) if len(self.topic_ids) > 1 else self.topic_ids[0]
        self.connection.topic_id = topic_id
        return ClusterView(
            brokers={LEADER.id: LEADER, REPLICA.id: REPLICA},
            leaders={TP: LEADER},
            leaderless={},
            errors={},
            topic_ids={TP.topic: topic_id},
        )

    def list_offsets(
        self, times: dict[TopicPartition, int], **_: object
    ) -> dict[TopicPartition, TimedOffset | int]:
        if self.codes:
            return {TP: self.codes.pop(0)}
        log = self.connection.log
        return {TP: TimedOffset(log.start if times[TP] == EARLIEST else log.end)}


def plain_log(batches: int, *, each: int = 3, size: int = 8) -> ModelLog:
    """Return a log of ``batches`` uncompressed batches with ``each`` records."""
    log = ModelLog(magic=2, leader=0)
    for _ in range(batches):
        log.append(each, codec=Codec.NONE, size=size)
    return log


def changed(**fields: Any) -> Answer:
    """Return a change of a response's fields of the partition."""

    def change(response: FetchResponse) -> FetchResponse:
        (topic,) = response.topics
        (part,) = topic.partitions
        return altered(response, topics=(altered(topic, partitions=(altered(part, **fields),)),))

    return change
