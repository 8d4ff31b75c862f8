"""Reads the logs of a ``LogBroker`` with either fetch loop, and returns what arrived."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from tests.support.log_broker import LogBroker
from tests.support.plain_connections import assuming_dialer, serving_fetch
from tests.support.waiting import PROMPT_MS
from zkconsumer.clock import SystemClock
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.fetch.core.starts import LogEdge
from zkconsumer.fetch.fetcher import PythonFetchLoop
from zkconsumer.fetch.leader_finder import loop_class
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.fetch.stream_partition import LeaderUnusable
from zkconsumer.model import Record
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.records.engine import Engine
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.queues import StreamQueue, new_chunk_queue

SETTINGS = FetchSettings(
    max_partition_bytes=2_000,
    growth_max_bytes=20_000,
    max_wait_ms=20,
    request_timeout_ms=5_000,
    reset=LogEdge.EARLIEST,
)


@dataclass(slots=True, eq=False)
class ReceivedRecords:
    """What arrived of one partition.

    Attributes:
        records: all records in order of arrival.
        faults: each poison: its offset, where reading continues, and why.
        next_offset: the offset after everything that arrived.
    """

    records: list[Record] = field(default_factory=list)
    faults: list[tuple[int, int | None, str]] = field(default_factory=list)
    next_offset: int = 0

    def take(self, chunk: Chunk) -> None:
        """Add a chunk, which must follow the one before."""
        assert chunk.fetch_offset == self.next_offset, "nothing is left out or comes twice"
        assert all(record.offset >= chunk.fetch_offset for record in chunk.records)
        self.records += chunk.records
        self.next_offset = chunk.next_offset
        if chunk.poison is not None:
            poison = chunk.poison
            self.faults.append((poison.offset, poison.next_offset, str(poison.error)))


class LogReader:
    """A fetch loop with one queue; leaving the context stops the loop, and raises its error."""

    def __init__(
        self,
        broker: LogBroker,
        engine: Engine,
        *,
        settings: FetchSettings = SETTINGS,
        max_chunks: int = 1_000,
        max_bytes: int | None = None,
        version: int = 0,
    ) -> None:
        budget = None if max_bytes is None else ByteBudget(max_bytes)
        self.broker = broker
        self.queue = self.new_queue(engine, max_chunks, budget)
        self.scope = ThreadScope("reader")
        self.lost: list[LeaderUnusable] = []
        self.claims: list[PartitionClaim] = []
        self.loop: PythonFetchLoop = loop_class(engine)(
            broker.address,
            self.lost.extend,
            settings=settings,
            dial=assuming_dialer(TcpConnector(), serving_fetch(version)).dial,
        )

    @staticmethod
    def new_queue(engine: Engine, max_chunks: int, budget: ByteBudget | None = None) -> StreamQueue:
        """Return a queue that the engine's loop can fill."""
        return (ChunkQueue if engine is Engine.PURE else new_chunk_queue)(max_chunks, budget)

    def __enter__(self) -> Self:
        self.scope.spawn("loop", self.loop.run, stop=self.loop.stop)
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
            assert self.scope.first_error() is None

    def add(
        self, partition: int, offset: int = 0, queue: StreamQueue | None = None
    ) -> PartitionClaim:
        """Let a partition be read from an offset on."""
        claim = PartitionClaim(self.broker.partition(partition), queue or self.queue, offset)
        self.claims.append(claim)
        self.loop.add(claim, offset)
        return claim

    def add_all(self) -> None:
        """Let all partitions be read from the start."""
        for partition in range(len(self.broker.logs)):
            self.add(partition)

    def read_all(self, timeout_ms: int = 2 * PROMPT_MS) -> dict[int, ReceivedRecords]:
        """Return what arrives of each partition, until all are at their ends, or stopped."""
        clock = SystemClock()
        deadline_ms = clock.now_ms() + timeout_ms
        received = {number: ReceivedRecords() for number in range(len(self.broker.logs))}
        while True:
            # Checked first: then everything queued before a partition stopped is taken below.
            is_through = all(self._is_through(number, part) for number, part in received.items())
            item = self.queue.take(0 if is_through else 20)
            if isinstance(item, Chunk):
                received[item.claim.topic_partition.partition].take(item)
            elif is_through:
                break
            assert clock.now_ms() < deadline_ms, self._missed(received)
        return received

    def _missed(self, received: Mapping[int, ReceivedRecords]) -> str:
        ends = {number: part.next_offset for number, part in received.items()}
        short = {at: end for at, end in ends.items() if not self._is_through(at, received[at])}
        return f"of {len(ends)} partitions {len(short)} ended early, such as {[*short.items()][:3]}"

    def _is_through(self, number: int, received: ReceivedRecords) -> bool:
        if received.next_offset >= self.broker.logs[number].end:
            return True
        is_lost = any(
            lost_leader.claim.topic_partition.partition == number for lost_leader in list(self.lost)
        )
        return is_lost or any(
            claim.halted for claim in self.claims if claim.topic_partition.partition == number
        )


def native_reader(broker: LogBroker, **options: Any) -> LogReader:
    """Return a reader with a native loop."""
    return LogReader(broker, Engine.NATIVE, **options)


def offsets_in(reader: LogReader) -> list[int]:
    """Read partition 0; return the offsets of its records."""
    return [record.offset for record in reader.read_all()[0].records]


def lost_early(reader: LogReader) -> list[LeaderUnusable]:
    """Return the partitions that the loop gave up before it was stopped."""
    return [lost_leader for lost_leader in reader.lost if lost_leader.reason != "its fetcher ended"]
