"""Offset ranges of fake brokers' logs, and readers of them."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tests.support.fake_net import LONG_MS, FakeNet, fake_net
from tests.support.fetched_decoders import FetchedDecoder
from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.connection_pool import ConnectionPool
from zkconsumer.fetch.range_parts import LostRange, RangePart
from zkconsumer.fetch.range_reader import RangeReader
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.model import Broker, OffsetRange, Record, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.records import pure_fetched
from zkconsumer.records.engine import ENGINE, Engine, decode_fetched
from zkconsumer.wire.messages.fetch import FetchedPartition, FetchedTopic, FetchResponse
from zkconsumer.wire.negotiation import of_generation
from zkconsumer.wire.versions import BrokerGeneration

TP = TopicPartition("t", 0)
SETTINGS = RangeSettings(
    timeout_ms=2_000, max_wait_ms=10, retry_interval_ms=1, poll_timeout_ms=50, retries=2
)
DECODERS: list[FetchedDecoder] = [pure_fetched.decode_fetched]
if ENGINE is Engine.NATIVE:
    DECODERS.append(decode_fetched)


def offset_range(start: int, end: int, tp: TopicPartition = TP) -> OffsetRange:
    """Return an offset range of a partition."""
    return OffsetRange(topic_partition=tp, from_offset=start, until_offset=end)


def values(*numbers: int) -> list[Record]:
    """Return records to append, with numbers as values."""
    return [Record(-1, None, b"%d" % number) for number in numbers]


@dataclass(slots=True)
class RangeReaderBench:
    """Fake brokers with one topic, and readers of its ranges."""

    net: FakeNet
    settings: RangeSettings = SETTINGS
    pauses: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.net.cluster.create_topic("t", partitions=2, replicas=1)
        self.dialer = BrokerDialer(
            self.net.network,
            client_id="unit-tests",
            connect_timeout_ms=LONG_MS,
            request_timeout_ms=LONG_MS,
            assumed=of_generation(BrokerGeneration.V0_8_0) if self.are_old else None,
        )
        self.connections = ConnectionPool(self.dialer, SystemClock())

    are_old: bool = True
    dialer: BrokerDialer = field(init=False)
    connections: ConnectionPool = field(init=False)

    def reader(self, clock: Clock | None = None, **changes: object) -> RangeReader:
        """Return a reader that records its pauses instead of waiting."""
        wanted = replace(self.settings, **changes)  # type: ignore[arg-type]  # by the caller
        return RangeReader(
            self.client(wanted.timeout_ms),
            settings=wanted,
            clock=clock,
            pause=self.pauses.append,
        )

    def client(self, timeout_ms: int = LONG_MS) -> ClusterClient:
        """Return a client that uses the bench's connections, without retries."""
        return ClusterClient(
            self.connections,
            tuple(self.net.cluster.brokers.values()),
            request_timeout_ms=timeout_ms,
            retry_backoff_ms=timeout_ms,
            shuffle=random.shuffle,
        )

    def leader(self, tp: TopicPartition = TP) -> Broker:
        """Return the present leader of a partition."""
        partition = self.net.cluster.partition(tp)
        assert partition is not None
        assert partition.leader is not None
        return self.net.cluster.brokers[partition.leader]


def client_of(brokers: Iterable[Broker], timeout_ms: int = 3_000) -> ClusterClient:
    """Return a client of real brokers of any version; the caller must stop it."""
    dialer = BrokerDialer(
        TcpConnector(),
        client_id="ranges",
        connect_timeout_ms=timeout_ms,
        request_timeout_ms=timeout_ms,
    )
    return ClusterClient(
        dialer,
        tuple(brokers),
        request_timeout_ms=timeout_ms,
        retry_backoff_ms=timeout_ms,
        shuffle=random.shuffle,
    )


def range_bench(broker_count: int = 1, *, are_old: bool = True) -> RangeReaderBench:
    """Start brokers in memory; topic ``t`` has two partitions.

    Args:
        broker_count: the number of brokers, which are of 0.8.2.
        are_old: whether readers assume this version, without an ApiVersions request.
    """
    return RangeReaderBench(fake_net(broker_count), are_old=are_old)


def offsets(parts: Iterable[RangePart | LostRange]) -> list[int]:
    """Return the records' offsets; no part may be a lost range."""
    read: list[int] = []
    for part in parts:
        assert isinstance(part, RangePart), part
        assert len(part)
        records = [record.offset for record in part.records()]
        assert len(records) == len(part)
        assert records[-1] < part.next_offset
        read += records
    return read


def damage(data: bytes) -> bytes:
    """Flip a bit in the last byte."""
    return data[:-1] + bytes([data[-1] ^ 1])


def response(records: bytes, *, partition: int = 0, high_watermark: int = 100) -> FetchResponse:
    """Return a fetch response with one partition of ``t``."""
    part = FetchedPartition(
        partition=partition,
        error_code=0,
        high_watermark=high_watermark,
        records=memoryview(records),
    )
    return FetchResponse(topics=(FetchedTopic(topic="t", partitions=(part,)),))
