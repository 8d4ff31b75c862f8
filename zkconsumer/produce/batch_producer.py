"""Writes records to many partitions at a time: one request a broker, all of them under way at once.

It is synchronous: ``write`` comes back when every record is acknowledged, or raises. A record is
never given up silently. Order within a partition is kept whatever is tried again, since a
partition's next set is not sent before the last one is acknowledged.

Source: Kafka 0.8.2.2 ``DefaultEventHandler`` (sets by leader, retries after new metadata).
"""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import (
    BrokerError,
    ConfigError,
    LocalProtocolError,
    ProtocolError,
    RemoteProtocolError,
    TransportError,
    WriteFailed,
    ZkConsumerError,
)
from zkconsumer.model import Broker, Record, TopicPartition
from zkconsumer.net.connection import BrokerConnection, InFlight
from zkconsumer.net.transport import Connector
from zkconsumer.produce.pending import Pending, WrittenSet
from zkconsumer.produce.producer import ACKS_NONE, PRODUCE_VERSION, ProducerSettings
from zkconsumer.produce.routes import Routes
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.scope import wait_ms
from zkconsumer.wire.error_codes import ErrorCode, error_name
from zkconsumer.wire.messages.produce import (
    ProducePartition,
    ProduceRequest,
    ProduceResponse,
    ProduceTopic,
)

_TOO_LARGE = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE})

Outcome = int | ZkConsumerError
"""The base offset of a set that was written, or why it was not, or may not have been."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """How records are written.

    Attributes:
        producer: acknowledgements, time-outs, tries; here ``retries`` is for each set.
        codec: what sets are compressed with.
        set_bytes: how large a set may become before it is compressed, unless one record is larger.
    """

    producer: ProducerSettings = field(default_factory=ProducerSettings)
    codec: Codec = Codec.NONE
    set_bytes: int = 1 << 20


class BatchProducer:
    """Writes records to partitions, and knows of each whether it was acknowledged.

    What was acknowledged may be there twice: a broker may have written a set whose answer got lost.

    Thread: one at a time.

    Args:
        brokers: whom to ask for leaders.
        connector: connects to them.
        settings: see there.
        wait: waits for so many milliseconds.

    Raises:
        ConfigError: the settings ask for no acknowledgements.
    """

    def __init__(
        self,
        brokers: Sequence[Broker],
        *,
        connector: Connector | None = None,
        settings: BatchSettings | None = None,
        wait: Callable[[int], None] = wait_ms,
    ) -> None:
        self._settings = settings or BatchSettings()
        producer = self._settings.producer
        if producer.acks == ACKS_NONE:
            raise ConfigError("acks=0: a record that is lost would go unnoticed; use 1 or all")
        self._producer = producer
        self._routes = Routes(
            brokers,
            connector=connector,
            client_id=producer.client_id,
            timeout_ms=producer.timeout_ms,
            by_name=False,
        )
        self._wait = wait

    def whole_cluster(self) -> ClusterView:
        """Every topic and its partitions, asked for anew; creates no topic.

        Asked again, as often as a set is tried, while no broker answers or the one that does has
        only just started: it knows neither topics nor brokers then. (In a cluster without topics
        none does; so the answer is given in the end.)

        Raises:
            TransportError: no broker answers.
        """
        for _ in range(self._producer.retries):
            with contextlib.suppress(TransportError):
                view = self._routes.whole_cluster()
                if view.brokers:
                    return view
            self._wait(self._producer.backoff_ms)
        return self._routes.whole_cluster()

    def write(self, records: Mapping[TopicPartition, Sequence[Record]]) -> tuple[WrittenSet, ...]:
        """Write these records; their offsets are ignored, the brokers give new ones.

        Returns:
            What was written where, in the order of the acknowledgements.

        Raises:
            WriteFailed: some records were not acknowledged, for good or until the tries were used
                up; the others were, and the error has both.
        """
        pending = Pending(records, set_bytes=self._settings.set_bytes)
        tries: dict[TopicPartition, int] = defaultdict(int)
        while pending:
            failed: dict[TopicPartition, ZkConsumerError] = {}
            pausing = False
            for tp, outcome in self._round(pending.heads()).items():
                if isinstance(outcome, int):
                    pending.acknowledge(tp, outcome)
                    tries.pop(tp, None)
                elif _is_too_large(outcome) and pending.halve(tp):
                    continue
                elif _may_pass(outcome) and tries[tp] < self._producer.retries:
                    tries[tp] += 1
                    pausing = True
                    self._routes.forget(tp)
                else:
                    failed[tp] = outcome
            if failed:
                raise _write_failed(pending, failed)
            if pausing:
                self._wait(self._producer.backoff_ms)
        return tuple(pending.written)

    def close(self) -> None:
        """Close all connections."""
        self._routes.close()

    def _round(
        self, heads: Mapping[TopicPartition, Sequence[Record]]
    ) -> dict[TopicPartition, Outcome]:
        """Send a set to each of these partitions, once."""
        outcomes: dict[TopicPartition, Outcome] = {}
        sets: dict[Broker, dict[TopicPartition, bytes]] = defaultdict(dict)
        try:
            leaders = self._routes.leaders_of(heads)
        except (BrokerError, TransportError, ProtocolError) as error:
            return dict.fromkeys(heads, error)
        for tp, records in heads.items():
            leader = leaders[tp]
            if isinstance(leader, BrokerError):
                outcomes[tp] = leader
                continue
            try:
                sets[leader][tp] = build_message_set(records, codec=self._settings.codec)
            except LocalProtocolError as error:
                outcomes[tp] = error
        return outcomes | self._exchange(sets)

    def _exchange(
        self, sets: Mapping[Broker, Mapping[TopicPartition, bytes]]
    ) -> dict[TopicPartition, Outcome]:
        """Send every leader its sets, then wait for the answers: the brokers work side by side."""
        timeout_ms = 2 * self._producer.timeout_ms
        outcomes: dict[TopicPartition, Outcome] = {}
        under_way: list[tuple[Broker, BrokerConnection, InFlight[ProduceResponse]]] = []
        for leader, of_leader in sets.items():
            try:
                connection = self._routes.connection_to(leader)
                in_flight = connection.begin(
                    _request(self._producer, of_leader),
                    version=PRODUCE_VERSION,
                    timeout_ms=timeout_ms,
                )
            except (TransportError, ProtocolError) as error:
                self._routes.hang_up(leader)
                outcomes |= dict.fromkeys(of_leader, error)
            else:
                under_way.append((leader, connection, in_flight))
        for leader, connection, in_flight in under_way:
            try:
                response = connection.finish(in_flight, timeout_ms=timeout_ms)
            except (TransportError, ProtocolError) as error:
                self._routes.hang_up(leader)
                outcomes |= dict.fromkeys(sets[leader], error)
            else:
                outcomes |= _outcomes(leader, sets[leader], response)
        return outcomes


def _request(settings: ProducerSettings, sets: Mapping[TopicPartition, bytes]) -> ProduceRequest:
    by_topic: dict[str, list[ProducePartition]] = defaultdict(list)
    for tp, data in sets.items():
        by_topic[tp.topic].append(ProducePartition(partition=tp.partition, records=data))
    return ProduceRequest(
        acks=settings.acks,
        timeout_ms=settings.timeout_ms,
        topics=tuple(
            ProduceTopic(topic=topic, partitions=tuple(partitions))
            for topic, partitions in by_topic.items()
        ),
    )


def _outcomes(
    leader: Broker, sets: Mapping[TopicPartition, bytes], response: ProduceResponse
) -> dict[TopicPartition, Outcome]:
    """What became of each set; silence about one is a failure of it."""
    outcomes: dict[TopicPartition, Outcome] = {
        tp: RemoteProtocolError(f"{leader}: no word about {tp} in its answer") for tp in sets
    }
    for topic in response.topics:
        for answer in topic.partitions:
            tp = TopicPartition(topic.topic, answer.partition)
            if tp not in sets:
                continue
            outcomes[tp] = answer.base_offset
            if answer.error_code != ErrorCode.NONE:
                outcomes[tp] = BrokerError(
                    answer.error_code,
                    "Produce",
                    f"{leader} refused it: {error_name(answer.error_code)}",
                    tp,
                )
    return outcomes


def _is_too_large(error: ZkConsumerError) -> bool:
    return isinstance(error, BrokerError) and error.code in _TOO_LARGE


def _may_pass(error: ZkConsumerError) -> bool:
    if isinstance(error, BrokerError):
        return ErrorCode.of(error.code).retriable
    return not isinstance(error, LocalProtocolError)


def _write_failed(
    pending: Pending, failed: Mapping[TopicPartition, ZkConsumerError]
) -> WriteFailed:
    written: dict[TopicPartition, list[tuple[int, int]]] = defaultdict(list)
    for one in pending.written:
        written[one.topic_partition].append((one.base_offset, one.count))
    error = WriteFailed(
        {tp: str(reason) for tp, reason in failed.items()},
        unwritten=pending.counts(),
        written_count=sum(one.count for one in pending.written),
        written=written,
        may_pass=all(map(_may_pass, failed.values())),
    )
    error.__cause__ = next(iter(failed.values()))
    return error
