"""A group's offset channel to brokers in memory."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from tests.support.fake_net import FakeNet, fake_net
from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import TransportError
from zkconsumer.model import Broker, OffsetAndMetadata, TopicPartition
from zkconsumer.net.security import PLAINTEXT
from zkconsumer.net.transport import Connector
from zkconsumer.offsets.coordinator import (
    ChannelSettings,
    CoordinatorChannel,
    offset_dialer,
)
from zkconsumer.offsets.kafka import KafkaOffsetStore
from zkconsumer.wire.api import ApiKey

GROUP = "g"
CLIENT_ID = "unit-tests"
QUICK = ChannelSettings(timeout_ms=2_000, backoff_ms=20, limit_ms=2_000)
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def in_order(_brokers: list[Broker]) -> None:
    """Leave the order unchanged, in place of a shuffle."""


@dataclass
class OffsetBench:
    """Brokers in memory with topic t of three partitions, and group g's channel to them."""

    net: FakeNet = field(default_factory=lambda: fake_net(3))
    settings: ChannelSettings = QUICK
    clock: Clock = field(default_factory=SystemClock)
    shuffle: Callable[[list[Broker]], None] = in_order
    connector: Connector | None = None

    def __post_init__(self) -> None:
        self.net.cluster.create_topic("t", partitions=3)
        self.channel = CoordinatorChannel(
            GROUP,
            self.settings,
            list_brokers=self.list_brokers,
            dialer=offset_dialer(
                CLIENT_ID,
                self.settings.timeout_ms,
                PLAINTEXT,
                connector=self.connector or self.net.network,
            ),
            shuffle=self.shuffle,
            clock=self.clock,
        )

    def list_brokers(self) -> Sequence[Broker]:
        """Return all brokers, also those that are down."""
        return self.net.brokers.addresses

    def store(self, *, commit_max_retries: int = 5, metadata_limit: int = 4096) -> KafkaOffsetStore:
        """Return an offset store that uses the channel."""
        return KafkaOffsetStore(
            self.channel, commit_max_retries=commit_max_retries, metadata_limit=metadata_limit
        )

    def commit(self, offset: int = 5) -> dict[TopicPartition, str | None]:
        """Commit an offset of the first partition, without retries."""
        return self.store().commit({T0: OffsetAndMetadata(offset)})

    def requested(self, api: ApiKey) -> list[int]:
        """The ids of brokers that received this request, once for each request."""
        return [
            broker.id
            for broker in self.net.brokers
            for request in broker.requests
            if request.api_key is api
        ]

    def open_connections(self) -> int:
        """The number of open connections to brokers."""
        return sum(
            not conversation.is_over
            for broker in self.net.brokers
            for conversation in broker._conversations
        )


def fetch_failure(bench: OffsetBench, kind: type[Exception] = TransportError) -> str:
    """Return the message of the error with which a fetch fails."""
    with pytest.raises(kind) as caught:
        bench.store().fetch([T0])
    return str(caught.value)


@contextmanager
def coordinated_bench() -> Iterator[OffsetBench]:
    """Open a bench of three brokers, of which broker 2 is the coordinator."""
    bench = OffsetBench()
    bench.net.cluster.coordinator = 2
    yield bench
    bench.channel.close()
