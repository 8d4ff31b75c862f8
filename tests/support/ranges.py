"""Ranges of fake brokers' logs, and readers for them."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tests.support.fake_net import LONG_MS, FakeNet, fake_net
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
from zkconsumer.records.slices import FetchedDecoder
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


def range_(start: int, end: int, tp: TopicPartition = TP) -> OffsetRange:
    """A range of that partition."""
    return OffsetRange(topic_partition=tp, from_offset=start, until_offset=end)


def values(*numbers: int) -> list[Record]:
    """Records to append, which are told apart by their values."""
    return [Record(-1, None, b"%d" % number) for number in numbers]


@dataclass(slots=True)
class RangeBench:
    """Fake brokers with one topic, and what reads its ranges."""

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
        """A reader that notes its pauses instead of making them."""
        wanted = replace(self.settings, **changes)  # type: ignore[arg-type]  # by the caller
        return RangeReader(
            self.client(wanted.timeout_ms),
            settings=wanted,
            clock=clock,
            pause=self.pauses.append,
        )

    def client(self, timeout_ms: int = LONG_MS) -> ClusterClient:
        """A client over the bench's connections, which tries once."""
        return ClusterClient(
            self.connections,
            tuple(self.net.cluster.brokers.values()),
            request_timeout_ms=timeout_ms,
            retry_backoff_ms=timeout_ms,
            shuffle=random.shuffle,
        )

    def leader(self, tp: TopicPartition = TP) -> Broker:
        """Who leads a partition now."""
        found = self.net.cluster.partition(tp)
        assert found is not None
        assert found.leader is not None
        return self.net.cluster.brokers[found.leader]


def client_of(brokers: Iterable[Broker], timeout_ms: int = 3_000) -> ClusterClient:
    """A client of real brokers, of any version; whoever asked for it stops it."""
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


def bench(broker_count: int = 1, *, are_old: bool = True) -> RangeBench:
    """Start so many brokers in memory; topic ``t`` has two partitions.

    Args:
        broker_count: they are of 0.8.2.
        are_old: the readers know that, and don't ask.
    """
    return RangeBench(fake_net(broker_count), are_old=are_old)


def offsets(found: Iterable[RangePart | LostRange]) -> list[int]:
    """Of the records, where nothing was lost."""
    read: list[int] = []
    for part in found:
        assert isinstance(part, RangePart), part
        assert len(part)
        records = [record.offset for record in part.records()]
        assert len(records) == len(part)
        assert records[-1] < part.next_offset
        read += records
    return read


def damage(data: bytes) -> bytes:
    """Turn a bit in the last byte."""
    return data[:-1] + bytes([data[-1] ^ 1])


def response(records: bytes, *, partition: int = 0, high_watermark: int = 100) -> FetchResponse:
    """What a broker may answer about ``t``."""
    part = FetchedPartition(
        partition=partition,
        error_code=0,
        high_watermark=high_watermark,
        records=memoryview(records),
    )
    return FetchResponse(topics=(FetchedTopic(topic="t", partitions=(part,)),))
