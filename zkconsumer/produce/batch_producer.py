"""Writes records to many partitions at a time: one request a broker, all of them under way at once.

It is synchronous: ``write`` comes back when every record is acknowledged, or raises. A record is
never given up silently. Order within a partition is kept whatever is tried again, since a
partition's next set is not sent before the last one is acknowledged.

Source: Kafka 0.8.2.2 ``DefaultEventHandler`` (sets by leader, retries after new metadata).
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import (
    BrokerError,
    ConfigError,
    LocalProtocolError,
    TransportError,
    UnsupportedCodec,
    WriteFailed,
    ZkConsumerError,
    without_frames,
)
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.dialling import dialer_of
from zkconsumer.net.in_flight import InFlight
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.net.transport import Connector
from zkconsumer.produce.exchange import (
    Outcome,
    is_of_records,
    may_pass,
    outcomes_of,
    produce_request,
)
from zkconsumer.produce.outgoing import HeadedRecord, Outgoing, build_set, least_version
from zkconsumer.produce.pending import Pending, WrittenSet
from zkconsumer.produce.routes import Routes
from zkconsumer.produce.settings import ACKS_NONE, BatchSettings
from zkconsumer.scope import wait_ms
from zkconsumer.wire.messages.produce import ProduceRequest, ProduceResponse

__all__ = ["BatchProducer", "BatchSettings", "HeadedRecord", "WrittenSet"]


class BatchProducer:
    """Writes records to partitions, and knows of each whether it was acknowledged.

    Brokers of any version since 0.8.0 take them; the form follows from what the broker serves.
    Records without a timestamp get the time of writing, where brokers keep one (from 0.10 on).
    What was acknowledged may be there twice: a broker may have written a set whose answer got lost.

    Thread: one at a time, but for ``stop``.

    Args:
        brokers: whom to ask for leaders.
        connector: connects to them, if there is no ``dialer``.
        dialer: opens connections, with TLS and SASL where it is set up so; it stays the caller's.
        settings: see there.
        wait: waits for so many milliseconds.
        clock: for the time of writing.

    Raises:
        ConfigError: the settings ask for no acknowledgements.
    """

    def __init__(
        self,
        brokers: Sequence[Broker],
        *,
        connector: Connector | None = None,
        dialer: BrokerDialer | None = None,
        settings: BatchSettings | None = None,
        wait: Callable[[int], object] = wait_ms,
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings or BatchSettings()
        producer = self._settings.producer
        if producer.acks == ACKS_NONE:
            raise ConfigError("acks=0: a record that is lost would go unnoticed; use 1 or all")
        self._producer = producer
        self._routes = Routes(
            brokers,
            dialer=dialer or dialer_of(producer.client, connector=connector),
            timeout_ms=producer.timeout_ms,
            creating=False,
        )
        self._wait = wait
        self._clock = clock or SystemClock()
        self._stopped = False

    def whole_cluster(self) -> ClusterView:
        """Every topic and its partitions, asked for anew; creates no topic.

        Asked again, as often as a set is tried, while no broker answers or the one that does has
        only just started: it knows neither topics nor brokers then. (In a cluster without topics
        none of 0.8 does; so the answer is given in the end.)

        Raises:
            TransportError: no broker answers.
            AuthenticationFailed: a broker and we don't agree on who we are.
            UnsupportedVersion, ProtocolError, BrokerError: no broker can be understood.
        """
        for _ in range(self._producer.retries):
            try:
                view = self._routes.whole_cluster()
            except TransportError:
                if self._stopped:
                    raise
            else:
                if view.brokers:
                    return view
            self._wait(self._producer.backoff_ms)
        return self._routes.whole_cluster()

    def write(self, records: Mapping[TopicPartition, Sequence[Outgoing]]) -> tuple[WrittenSet, ...]:
        """Write these records; their offsets are ignored, the brokers give new ones.

        Returns:
            What was written where, in the order of the acknowledgements.

        Raises:
            WriteFailed: some records were not acknowledged, for good or until the tries were used
                up, or ``stop`` was called; the others were, and the error has both.
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
                elif is_of_records(outcome) and pending.halve(tp):
                    continue
                elif self._may_try_again(outcome, tries[tp]):
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

    def stop(self) -> None:
        """Break off what is under way, and write nothing more. Idempotent. Thread: any.

        A ``write`` that waits raises ``WriteFailed``; what it had sent may be written all the same.
        """
        self._stopped = True
        self._routes.stop()

    def close(self) -> None:
        """Close all connections. Idempotent."""
        self.stop()

    def _may_try_again(self, error: ZkConsumerError, tries: int) -> bool:
        return not self._stopped and may_pass(error) and tries < self._producer.retries

    def _round(
        self, heads: Mapping[TopicPartition, Sequence[Outgoing]]
    ) -> dict[TopicPartition, Outcome]:
        """Send sets to these partitions, once, then wait for the answers.

        Brokers work side by side. Partitions that found no room in a request are left out.
        """
        try:
            leaders = self._routes.leaders_of(heads)
        except ZkConsumerError as error:
            return dict.fromkeys(heads, without_frames(error))
        outcomes: dict[TopicPartition, Outcome] = {}
        by_leader: dict[Broker, dict[TopicPartition, Sequence[Outgoing]]] = defaultdict(dict)
        for tp, records in heads.items():
            leader = leaders[tp]
            if isinstance(leader, BrokerError):
                outcomes[tp] = leader
            else:
                by_leader[leader][tp] = records
        under_way: list[_UnderWay] = []
        for leader, of_leader in by_leader.items():
            try:
                sent = self._begin(leader, of_leader, outcomes)
            except ZkConsumerError as error:
                self._routes.hang_up(leader)
                outcomes |= dict.fromkeys(of_leader.keys() - outcomes.keys(), without_frames(error))
            else:
                under_way += sent
        for one in under_way:
            outcomes |= self._finish(one)
        return outcomes

    def _begin(
        self,
        leader: Broker,
        heads: Mapping[TopicPartition, Sequence[Outgoing]],
        outcomes: dict[TopicPartition, Outcome],
    ) -> list["_UnderWay"]:
        """Send a broker as many sets as may go at once; ``outcomes``: of what can't be sent."""
        codec = self._settings.codec
        least = least_version(codec)
        connection = self._routes.connection_to(leader)
        version = connection.version_of(ProduceRequest, at_least=least)
        sets: dict[TopicPartition, bytes] = {}
        room = self._settings.request_bytes
        now_ms = self._clock.wall_ms()
        for tp, records in heads.items():
            try:
                data = build_set(records, version=version, codec=codec, now_ms=now_ms)
            except (LocalProtocolError, UnsupportedCodec) as error:
                outcomes[tp] = error
                continue
            if sets and len(data) > room:
                break
            room -= len(data)
            sets[tp] = data
        if not sets:
            return []
        request = produce_request(
            sets, acks=self._producer.acks, timeout_ms=self._producer.timeout_ms
        )
        timeout_ms = 2 * self._producer.timeout_ms
        in_flight = connection.begin(request, timeout_ms=timeout_ms, at_least=least)
        return [_UnderWay(leader, connection, in_flight, sets)]

    def _finish(self, one: "_UnderWay") -> dict[TopicPartition, Outcome]:
        """Wait for a broker's answer."""
        try:
            response = one.connection.finish(
                one.in_flight, timeout_ms=2 * self._producer.timeout_ms
            )
        except ZkConsumerError as error:
            self._routes.hang_up(one.leader)
            return dict.fromkeys(one.sets, without_frames(error))
        return outcomes_of(one.leader, one.sets, response)


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """A request that a broker has, and the sets in it."""

    leader: Broker
    connection: NegotiatedConnection
    in_flight: InFlight[ProduceResponse]
    sets: Mapping[TopicPartition, bytes]


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
        may_pass=all(may_pass(one) and not is_of_records(one) for one in failed.values()),
        refused=frozenset(tp for tp, reason in failed.items() if is_of_records(reason)),
    )
    error.__cause__ = next(iter(failed.values()))
    return error
