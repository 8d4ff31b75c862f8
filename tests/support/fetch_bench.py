"""Fake brokers, with fetch loops and leader finders that read from them.

Tests that use ``each_loop`` run with every loop: Python's over a network in memory and over TCP,
and the native one, which needs TCP.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from enum import Enum
from types import TracebackType
from typing import Self

import pytest

from tests.fakes.fake_broker import FakeBrokers
from tests.fakes.fake_cluster import FakeCluster
from tests.fakes.loopback import LoopbackServer
from tests.fakes.memory_transport import MemoryNetwork
from tests.support.chunks import T0
from tests.support.fetch_responses import requested
from tests.support.plain_connections import assuming_dialer, plain_client
from tests.support.queues import native_of, needs_native_engine, waiters_of
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.fetch.core.starts import LogEdge
from zkconsumer.fetch.fetcher import LoopReport, PythonFetchLoop
from zkconsumer.fetch.leader_finder import LeaderLookup, loop_class
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.fetch.stream_partition import LeaderUnusable
from zkconsumer.model import Broker, Record, TopicPartition
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.net.transport import Connector
from zkconsumer.observe import SILENT, Observation
from zkconsumer.records.engine import Engine
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.queues import StreamQueue, new_chunk_queue
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.fetch import FetchRequest
from zkconsumer.wire.negotiation import BrokerVersions, of_generation
from zkconsumer.wire.versions import OLDEST

SETTINGS = FetchSettings(
    max_wait_ms=20,
    request_timeout_ms=2_000,
    leader_backoff_ms=10,
    reset=LogEdge.EARLIEST,
    max_partition_bytes=10_000,
    growth_max_bytes=50_000,
)


class Kind(Enum):
    """A kind of fetch loop, and its network."""

    PYTHON = "python-memory"
    PYTHON_TCP = "python-tcp"
    NATIVE = "native-tcp"


_kind = Kind.PYTHON


@pytest.fixture(
    scope="module",
    params=[
        Kind.PYTHON,
        Kind.PYTHON_TCP,
        pytest.param(Kind.NATIVE, marks=needs_native_engine),
    ],
    ids=lambda kind: kind.value,
)
def each_loop(request: pytest.FixtureRequest) -> Iterator[Kind]:
    """Let benches, loops and queues be of each kind in turn."""
    global _kind  # noqa: PLW0603 - the fixture's one job
    _kind = request.param
    yield _kind
    _kind = Kind.PYTHON


def new_queue(max_chunks: int, budget: ByteBudget | None = None) -> StreamQueue:
    """Return a queue for the current kind of loop."""
    return (new_chunk_queue if _kind is Kind.NATIVE else ChunkQueue)(max_chunks, budget)


def bench_loop_class() -> type[PythonFetchLoop]:
    """Return the class of the current kind of loop."""
    return loop_class(Engine.NATIVE if _kind is Kind.NATIVE else Engine.PURE)


def values(*texts: str) -> list[Record]:
    """Return records with these values."""
    return [Record(-1, None, text.encode()) for text in texts]


class FetchBench:
    """A cluster with topic t; leaving the context stops all threads, and raises their errors.

    Args:
        broker_count: the number of brokers.
        partitions: the number of partitions of topic t.
        versions: the versions that the brokers are assumed to have; None: those of 0.8.
    """

    def __init__(
        self, broker_count: int = 1, partitions: int = 2, *, versions: BrokerVersions | None = None
    ) -> None:
        self.cluster = FakeCluster(broker_count)
        self.cluster.create_topic("t", partitions)
        self.brokers = FakeBrokers(self.cluster)
        self._servers = ExitStack()
        self.dialer = assuming_dialer(
            self._listen(),
            versions or of_generation(OLDEST),
            client_id="bench",
            timeout_ms=2_000,
        )
        self.scope = ThreadScope("bench")
        self.lost: list[LeaderUnusable] = []
        self.opened = 0
        self.may_die = False

    def _listen(self) -> Connector:
        if _kind is Kind.PYTHON:
            network = MemoryNetwork()
            self.brokers.listen_in_memory(network)
            return network
        self.brokers.listen_on_loopback(self._servers.enter_context(LoopbackServer()))
        return TcpConnector()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        left = self.scope.close(5_000)
        self._servers.close()
        if error is None:
            assert left == []
            assert self.may_die or self.scope.first_error() is None

    @property
    def access(self) -> LeaderLookup:
        """Return the lookup of leaders that a leader finder uses."""
        return LeaderLookup(
            list_brokers=lambda: self.brokers.addresses,
            read_metadata=plain_client(self.dialer, timeout_ms=2_000).view_by,
            dial=self.dialer.dial,
        )

    def loop(self, broker: int = 0, settings: FetchSettings = SETTINGS) -> PythonFetchLoop:
        """Return a loop for one broker, not started; partitions it gives up go to ``lost``."""
        return self.new_loop(
            self.brokers[broker].address,
            self.lost.extend,
            settings=settings,
        )

    def new_loop(
        self,
        broker: Broker,
        report: LoopReport,
        *,
        settings: FetchSettings = SETTINGS,
        observation: Observation = SILENT,
    ) -> PythonFetchLoop:
        """Return a loop of the current kind."""
        return bench_loop_class()(
            broker,
            report,
            settings=settings,
            dial=self.dial,
            observation=observation,
        )

    def dial(self, broker: Broker, *, timeout_ms: int | None = None) -> NegotiatedConnection:
        """Connect to a broker, and count the connection."""
        self.opened += 1
        return self.dialer.dial(broker, timeout_ms=timeout_ms)

    def run(self, loop: PythonFetchLoop) -> PythonFetchLoop:
        """Start a loop's thread."""
        self.scope.spawn("loop", loop.run, stop=loop.stop)
        return loop

    def requested(self, api: ApiKey, broker: int = 0) -> int:
        """The number of requests of this API that a broker received."""
        return sum(request.api_key == api for request in list(self.brokers[broker].requests))

    def fetches_of(self, tp: TopicPartition, broker: int = 0) -> int:
        """The number of fetch requests that contained a partition."""
        requests = [request.request for request in list(self.brokers[broker].requests)]
        return sum(
            tp in requested(request) for request in requests if isinstance(request, FetchRequest)
        )

    def lost_at(self) -> dict[TopicPartition, int | None]:
        """The offset to continue at, by partition that was given up."""
        return {
            lost_leader.claim.topic_partition: lost_leader.fetch_offset
            for lost_leader in list(self.lost)
        }


def claim_on(
    queue: StreamQueue, tp: TopicPartition = T0, committed: int | None = 0
) -> PartitionClaim:
    """Return a claim whose chunks go into a queue."""
    return PartitionClaim(tp, queue, committed)


def take_values(queue: StreamQueue, count: int, timeout_ms: int = 5_000) -> list[str]:
    """Take the next ``count`` values from a queue."""
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
    """Wait up to 5 s for a condition that other threads fulfil."""
    assert callable(probe)
    wait_until(probe, timeout_s=5, what=what)


def numbered(count: int) -> Sequence[str]:
    """Return ``count`` numbered texts."""
    return [f"m{number}" for number in range(count)]


def thread_names() -> list[str]:
    """Return the names of all running threads."""
    return [thread.name for thread in threading.enumerate()]


def waiting_for(queue: StreamQueue) -> int:
    """Return how many producers wait for capacity in a queue."""
    pumps = 0 if isinstance(queue, ChunkQueue) else native_of(queue).waiting_pumps
    return len(waiters_of(queue)) + pumps


def forget_waiters(queue: StreamQueue) -> None:
    """Drop the callbacks that wait for capacity, as a raising signal handler may do."""
    queue._store.waiters.clear()
