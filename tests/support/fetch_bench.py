"""Fake brokers in memory, and fetch loops and leader finders that read from them."""

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from tests.support.chunks import T0
from tests.support.fetch_answers import asked
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.cluster.metadata import MetadataReader
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.fetch.fetcher import PythonFetchLoop
from zkconsumer.fetch.leader_finder import ClusterAccess
from zkconsumer.fetch.loop import LoopKey
from zkconsumer.fetch.session import LeaderLost
from zkconsumer.fetch.settings import FetchSettings, ResetPolicy
from zkconsumer.model import Broker, Record, TopicPartition
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.net.connector import BrokerConnector
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.testing.fake_broker import FakeBrokers
from zkconsumer.testing.fake_cluster import FakeCluster
from zkconsumer.testing.memory_transport import MemoryNetwork
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.fetch import FetchRequest

SETTINGS = FetchSettings(
    max_wait_ms=20,
    request_timeout_ms=2_000,
    leader_backoff_ms=10,
    reset=ResetPolicy.SMALLEST,
    fetch_bytes=10_000,
    growth_max_bytes=50_000,
)


def values(*texts: str) -> list[Record]:
    """Records with these values."""
    return [Record(-1, None, text.encode()) for text in texts]


class FetchBench:
    """A cluster with topic t; leaving it stops every thread and hears what they died of."""

    def __init__(self, broker_count: int = 1, partitions: int = 2) -> None:
        self.cluster = FakeCluster(broker_count)
        self.cluster.create_topic("t", partitions)
        self.brokers = FakeBrokers(self.cluster)
        network = MemoryNetwork()
        self.brokers.listen_in_memory(network)
        self.connector = BrokerConnector(network, client_id="bench", timeout_ms=2_000)
        self.scope = ThreadScope("bench")
        self.lost: list[LeaderLost] = []
        self.opened = 0
        self.may_die = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        left = self.scope.close(5_000)
        if error is None:
            assert left == []
            assert self.may_die or self.scope.first_error() is None

    @property
    def access(self) -> ClusterAccess:
        """What a leader finder asks."""
        metadata = MetadataReader(self.connector.open, timeout_ms=2_000, shuffle=lambda _: None)
        return ClusterAccess(
            list_brokers=lambda: self.brokers.addresses,
            read_metadata=metadata.read,
            open_connection=self.connector.open,
        )

    def loop(self, broker: int = 0, settings: FetchSettings = SETTINGS) -> PythonFetchLoop:
        """A loop for one broker, not running yet; what it gives back lands in ``lost``."""
        return PythonFetchLoop(
            LoopKey(self.brokers[broker].address, 0),
            lambda _key, lost: self.lost.extend(lost),
            settings=settings,
            open_connection=self.open_connection,
        )

    def open_connection(self, broker: Broker) -> BrokerConnection:
        """Connect, and count it."""
        self.opened += 1
        return self.connector.open(broker)

    def run(self, loop: PythonFetchLoop) -> PythonFetchLoop:
        """Start a loop's thread."""
        self.scope.spawn("loop", loop.run, stop=loop.stop)
        return loop

    def asked(self, api: ApiKey, broker: int = 0) -> int:
        """How many requests of this kind a broker got."""
        return sum(one.api_key == api for one in list(self.brokers[broker].requests))

    def fetches_of(self, tp: TopicPartition, broker: int = 0) -> int:
        """How many fetches asked about a partition."""
        requests = [one.request for one in list(self.brokers[broker].requests)]
        return sum(tp in asked(one) for one in requests if isinstance(one, FetchRequest))

    def lost_at(self) -> dict[TopicPartition, int | None]:
        """Where each partition that was given back must go on."""
        return {one.claim.topic_partition: one.fetch_offset for one in list(self.lost)}


def claim_on(
    queue: ChunkQueue, tp: TopicPartition = T0, committed: int | None = 0
) -> PartitionClaim:
    """A claim whose chunks go into a queue."""
    return PartitionClaim(tp, queue, committed)


def take_values(queue: ChunkQueue, count: int, timeout_ms: int = 5_000) -> list[str]:
    """The next values that come, in order."""
    clock = SystemClock()
    deadline_ms = clock.now_ms() + timeout_ms
    got: list[str] = []
    while len(got) < count:
        item = queue.take(deadline_ms - clock.now_ms())
        assert item is not None, f"only {got} came"
        assert isinstance(item, Chunk)
        got += [(record.value or b"").decode() for record in item.records]
    return got


def wait_for(probe: object, what: str) -> None:
    """Wait a moment for something that other threads bring about."""
    assert callable(probe)
    wait_until(probe, timeout_s=5, what=what)


def numbered(count: int) -> Sequence[str]:
    """Texts that tell their place."""
    return [f"m{number}" for number in range(count)]


def thread_names() -> list[str]:
    """All threads that run now."""
    return [thread.name for thread in threading.enumerate()]
