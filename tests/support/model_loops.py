"""A leader finder with model fetch loops: the test runs its passes, and acts as the brokers."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from tests.support.chunks import T0, T1
from tests.support.fetch_bench import SETTINGS, wait_for
from tests.support.manual_clock import ManualClock
from zkconsumer.cluster.view import ClusterView
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.fetch.fetcher import LoopReport, PythonFetchLoop
from zkconsumer.fetch.leader_epochs import Doubts, EpochEnds
from zkconsumer.fetch.leader_finder import LeaderFinder, LeaderLookup
from zkconsumer.fetch.stream_partition import LeaderUnusable
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.scope import ThreadScope


class ModelLoop(PythonFetchLoop):
    """A fetch loop that only records its partitions."""

    def __init__(self, broker: Broker, report: LoopReport) -> None:
        self.broker = broker
        self.report = report
        self.given: list[tuple[PartitionClaim, int | None]] = []
        self.jumped: list[PartitionClaim] = []
        self.woken = 0
        self.stopped = threading.Event()
        self.dies = threading.Event()

    def add(self, claim: PartitionClaim, fetch_offset: int | None, *, jumps: bool = False) -> None:
        """See ``PythonFetchLoop``."""
        self.given.append((claim, fetch_offset))
        if jumps:
            self.jumped.append(claim)

    def wake(self) -> None:
        """See ``PythonFetchLoop``."""
        self.woken += 1

    def stop(self) -> None:
        """See ``PythonFetchLoop``."""
        self.stopped.set()

    def partition_count(self) -> int:
        """See ``PythonFetchLoop``."""
        return len(self.given)

    def run(self) -> None:
        """Wait to be stopped, or raise if the test lets it die."""
        wait_for(lambda: self.stopped.is_set() or self.dies.is_set(), "an end")
        if self.dies.is_set():
            raise ZeroDivisionError

    def lose(self, claim: PartitionClaim, fetch_offset: int, *, jumps: bool = False) -> None:
        """Report that a partition's leader is unusable, and give the partition up."""
        self.given = [added for added in self.given if added[0] is not claim]
        self.report((LeaderUnusable(claim, fetch_offset, "test", jumps=jumps),))


class ModelFinder(LeaderFinder):
    """A leader finder without a thread, whose loops the bench makes."""

    def __init__(self, bench: "LeaderFinderBench", access: LeaderLookup) -> None:
        super().__init__(
            access=access,
            settings=replace(SETTINGS, leader_backoff_ms=200),
            scope=bench.scope,
            clock=bench.clock,
        )
        self._started = True
        self._bench = bench

    def new_loop(self, broker: Broker, report: LoopReport) -> PythonFetchLoop:
        """Create a model loop, and record it."""
        loop = ModelLoop(broker, report)
        self._bench.loops.append(loop)
        return loop


class LeaderFinderBench:
    """A leader finder with model loops, whose passes a test runs."""

    def __init__(self) -> None:
        self.brokers: Sequence[Broker] = (
            Broker(1, "one", 9092),
            Broker(2, "two", 9092),
            Broker(3, "three", 9092),
        )
        self.leaders: dict[TopicPartition, int] = {T0: 1, T1: 1}
        self.epochs: dict[TopicPartition, int] = {}
        self.has_exact_epochs = True
        self.topic_ids: dict[str, bytes] = {}
        self.ends: EpochEnds | Exception = {}
        self.doubts: list[Doubts] = []
        self.on_doubts: Callable[[], None] = lambda: None
        self.requested: list[Sequence[str]] = []
        self.away: Exception | None = None
        self.loops: list[ModelLoop] = []
        self.clock = ManualClock()
        self.scope = ThreadScope("bench")
        self.finder = ModelFinder(
            self,
            LeaderLookup(
                list_brokers=lambda: self.brokers,
                read_metadata=self.read,
                dial=lambda broker, **_: pytest.fail(f"connected to {broker}"),
                epoch_ends=self.epoch_ends,
            ),
        )

    def read(self, brokers: Sequence[Broker], topics: Sequence[str]) -> ClusterView:
        """Return the metadata that a broker responds with."""
        self.requested.append(topics)
        if self.away is not None:
            raise self.away
        by_id = {broker.id: broker for broker in brokers}
        return ClusterView(
            brokers=by_id,
            leaders={tp: by_id[leader] for tp, leader in self.leaders.items()},
            leaderless={},
            errors={},
            leader_epochs=dict(self.epochs),
            has_exact_epochs=self.has_exact_epochs,
            topic_ids=dict(self.topic_ids),
        )

    def epoch_ends(self, doubts: Doubts) -> EpochEnds:
        """Return the epochs' ends that leaders respond with, or raise."""
        self.doubts.append(doubts)
        self.on_doubts()
        if isinstance(self.ends, Exception):
            raise self.ends
        return self.ends

    def turn(self, *, waits: bool = True) -> None:
        """Run a pass of the finder, and another one for each response of a new leader."""
        self.finder._turn()
        asking = [
            spawned.thread for spawned in self.scope._threads if "/epochs-" in spawned.thread.name
        ]
        for thread in asking if waits else ():
            thread.join()
        while self.finder._mailbox._items:
            self.finder._turn()

    def end(self) -> None:
        """Stop all loops."""
        for loop in self.loops:
            loop.stop()
        assert self.scope.close(5_000) == []
