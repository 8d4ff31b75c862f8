"""Finding leaders and owning fetch loops, against fake brokers in memory."""

import logging
import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.support.chunks import T0, T1
from tests.support.fetch_bench import SETTINGS, FetchBench, claim_on, take_values, values, wait_for
from tests.support.manual_clock import ManualClock
from zkconsumer.clock import SystemClock
from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import ConnectFailed, RegistryError
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.fetch.fetcher import PythonFetchLoop
from zkconsumer.fetch.leader_finder import ClusterAccess, LeaderFinder
from zkconsumer.fetch.loop import FetchLoop, LoopKey, LoopReport
from zkconsumer.fetch.manager import FetchManager
from zkconsumer.fetch.session import LeaderLost
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.wire.api import ApiKey


def start_finder(bench: FetchBench, settings: FetchSettings = SETTINGS) -> LeaderFinder:
    """A leader finder over the bench's brokers, running."""

    def new_loop(key: LoopKey, report: LoopReport) -> FetchLoop:
        return PythonFetchLoop(key, report, settings=settings, open_connection=bench.connector.open)

    finder = LeaderFinder(
        access=bench.access,
        new_loop=new_loop,
        settings=settings,
        scope=bench.scope,
        clock=SystemClock(),
    )
    bench.scope.spawn("finder", finder.run, stop=finder.stop)
    return finder


def thread_names() -> list[str]:
    """All threads that run now."""
    return [thread.name for thread in threading.enumerate()]


def fetcher_names() -> list[str]:
    """The fetcher threads of a bench that run now."""
    return sorted(name for name in thread_names() if name.startswith("bench/fetcher"))


# --- with real loops -----------------------------------------------------------------------------


def test_partitions_go_to_the_fetchers_of_their_leaders() -> None:
    """Two brokers lead one each: both are read, each by its own thread."""
    with FetchBench(broker_count=2) as bench:
        queue = ChunkQueue(10)
        bench.cluster.append(T0, values("a"))
        bench.cluster.append(T1, values("b"))
        finder = start_finder(bench)
        finder.find([(claim_on(queue, T0), 0), (claim_on(queue, T1), 0)])
        assert sorted(take_values(queue, 2)) == ["a", "b"]
        assert fetcher_names() == ["bench/fetcher-0-0", "bench/fetcher-0-1"]


def test_several_fetchers_share_a_brokers_partitions() -> None:
    """By the original's numbering."""
    with FetchBench(partitions=3) as bench:
        queue = ChunkQueue(10)
        finder = start_finder(bench, replace(SETTINGS, fetcher_count=3))
        finder.find([(claim_on(queue, TopicPartition("t", p)), 0) for p in range(3)])
        names = [f"bench/fetcher-{number}-0" for number in range(3)]
        wait_for(lambda: fetcher_names() == names, "three fetchers")


def test_a_moved_leader_is_followed_without_loss_and_its_old_fetcher_ends() -> None:
    """From the very offset where the old broker stopped; the idle fetcher is closed."""
    with FetchBench(broker_count=2, partitions=1) as bench:
        queue = ChunkQueue(100)
        finder = start_finder(bench)
        finder.find([(claim_on(queue), 0)])
        bench.cluster.append(T0, values("a", "b"))
        got = take_values(queue, 2)
        bench.cluster.move_leader(T0, 1)
        bench.cluster.append(T0, values("c", "d"))
        got += take_values(queue, 2)
        assert got == ["a", "b", "c", "d"]
        wait_for(lambda: fetcher_names() == ["bench/fetcher-0-1"], "the idle fetcher to end")


def test_a_broker_that_restarts_is_read_again() -> None:
    """While it is down nothing is lost; afterwards it goes on where it was."""
    with FetchBench(partitions=1) as bench:
        queue = ChunkQueue(100)
        finder = start_finder(bench)
        finder.find([(claim_on(queue), 0)])
        bench.cluster.append(T0, values("a"))
        got = take_values(queue, 1)
        bench.brokers[0].stop()
        bench.cluster.append(T0, values("b"))
        bench.brokers[0].start()
        got += take_values(queue, 1)
        assert got == ["a", "b"]


def test_a_partition_without_a_leader_is_asked_about_until_it_has_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Again and again, with a pause; the log says which topic waits."""
    with FetchBench(partitions=1) as bench, caplog.at_level(logging.INFO):
        queue = ChunkQueue(10)
        bench.cluster.move_leader(T0, None)
        bench.cluster.append(T0, values("a"))
        finder = start_finder(bench)
        finder.find([(claim_on(queue), 0)])
        wait_for(lambda: bench.asked(ApiKey.METADATA) >= 3, "three questions")
        bench.cluster.move_leader(T0, 0)
        assert take_values(queue, 1) == ["a"]
    assert "topic t: still without a leader: no leader now" in caplog.text


def test_an_unknown_topic_is_named_with_its_error(caplog: pytest.LogCaptureFixture) -> None:
    """Other topics are read all the same."""
    with FetchBench(partitions=1) as bench, caplog.at_level(logging.INFO):
        queue = ChunkQueue(10)
        bench.cluster.append(T0, values("a"))
        finder = start_finder(bench)
        finder.find([(claim_on(queue, TopicPartition("none", 0)), 0), (claim_on(queue), 0)])
        assert take_values(queue, 1) == ["a"]
        wait_for(lambda: "topic none" in caplog.text, "the log line")
    assert "UNKNOWN_TOPIC_OR_PARTITION" in caplog.text


def test_stopping_ends_every_fetcher() -> None:
    """Whether it waits for a broker or for something to do."""
    with FetchBench(broker_count=2) as bench:
        queue = ChunkQueue(10)
        finder = start_finder(bench)
        finder.find([(claim_on(queue, T0), 0), (claim_on(queue, T1), 0)])
        wait_for(lambda: len(fetcher_names()) == 2, "both fetchers")
        assert bench.scope.close(2_000) == []
        assert fetcher_names() == []


def test_a_manager_starts_its_finder_with_the_first_partitions() -> None:
    """No thread before, one finder after; giving up is heard without waiting."""
    with FetchBench() as bench:
        queue = ChunkQueue(10)
        manager = FetchManager(
            access=bench.access, settings=SETTINGS, scope=bench.scope, clock=SystemClock()
        )
        manager.wake()
        assert not [name for name in thread_names() if name.startswith("bench/")]
        bench.cluster.append(T0, values("a"))
        claim = claim_on(queue)
        manager.add([(claim, 0)])
        manager.add([(claim_on(queue, T1), 0)])
        assert take_values(queue, 1) == ["a"]
        claim.active = False
        manager.wake()
        bench.cluster.append(T0, values("never"))
        bench.cluster.append(T1, values("b"))
        assert take_values(queue, 1) == ["b"]
        assert thread_names().count("bench/leader-finder") == 1


# --- with loops of paper: one pass at a time -----------------------------------------------------


class PaperLoop:
    """A loop that only notes what it is given."""

    def __init__(self, key: LoopKey, report: LoopReport) -> None:
        self.key = key
        self.report = report
        self.given: list[tuple[PartitionClaim, int | None]] = []
        self.woken = 0
        self.stopped = threading.Event()
        self.dies = threading.Event()

    def add(self, claim: PartitionClaim, fetch_offset: int | None) -> None:
        """See ``FetchLoop``."""
        self.given.append((claim, fetch_offset))

    def wake(self) -> None:
        """See ``FetchLoop``."""
        self.woken += 1

    def stop(self) -> None:
        """See ``FetchLoop``."""
        self.stopped.set()

    def partition_count(self) -> int:
        """See ``FetchLoop``."""
        return len(self.given)

    def run(self) -> None:
        """Wait to be stopped, or die."""
        wait_for(lambda: self.stopped.is_set() or self.dies.is_set(), "an end")
        if self.dies.is_set():
            raise ZeroDivisionError

    def lose(self, claim: PartitionClaim, fetch_offset: int) -> None:
        """Give a partition back."""
        self.given = [one for one in self.given if one[0] is not claim]
        self.report(self.key, (LeaderLost(claim, fetch_offset, "test"),))


class Paper:
    """A finder over loops of paper; the test makes the passes itself."""

    def __init__(self) -> None:
        self.brokers: Sequence[Broker] = (Broker(1, "one", 9092), Broker(2, "two", 9092))
        self.leaders: dict[TopicPartition, int] = {T0: 1, T1: 1}
        self.asked: list[Sequence[str]] = []
        self.away: Exception | None = None
        self.loops: list[PaperLoop] = []
        self.clock = ManualClock()
        self.scope = ThreadScope("paper")
        self.finder = LeaderFinder(
            access=ClusterAccess(
                list_brokers=lambda: self.brokers,
                read_metadata=self.read,
                open_connection=lambda broker: pytest.fail(f"connected to {broker}"),
            ),
            new_loop=self.new_loop,
            settings=replace(SETTINGS, leader_backoff_ms=200),
            scope=self.scope,
            clock=self.clock,
        )

    def read(self, brokers: Sequence[Broker], topics: Sequence[str]) -> ClusterView:
        """What a broker says of the leaders."""
        self.asked.append(topics)
        if self.away is not None:
            raise self.away
        by_id = {broker.id: broker for broker in brokers}
        return ClusterView(
            brokers=by_id,
            leaders={tp: by_id[leader] for tp, leader in self.leaders.items()},
            leaderless={},
            errors={},
        )

    def new_loop(self, key: LoopKey, report: LoopReport) -> FetchLoop:
        """Note it."""
        loop = PaperLoop(key, report)
        self.loops.append(loop)
        return loop

    def turn(self) -> None:
        """What the finder's thread does when it wakes."""
        self.finder._turn()

    def end(self) -> None:
        """Stop all loops."""
        for loop in self.loops:
            loop.stop()
        assert self.scope.close(5_000) == []


def test_a_stale_find_does_not_replace_a_newer_one() -> None:
    """A fetcher's report of an old claim may come behind the new claim of the same partition."""
    paper = Paper()
    old, new = claim_on(ChunkQueue(1)), claim_on(ChunkQueue(1))
    old.active = False
    paper.finder.find([(new, 7)])
    paper.finder.find([(old, 3)])
    paper.turn()
    (loop,) = paper.loops
    assert loop.given == [(new, 7)]
    paper.end()


def test_with_nothing_to_find_nobody_is_asked() -> None:
    """An empty question would ask for all topics."""
    paper = Paper()
    paper.finder.wake()
    paper.turn()
    claim = claim_on(ChunkQueue(1))
    claim.active = False
    paper.finder.find([(claim, 0)])
    paper.turn()
    assert paper.asked == []


def test_a_pause_lies_between_two_questions() -> None:
    """``refresh.leader.backoff.ms``, however often it is woken."""
    paper = Paper()
    paper.leaders = {}
    paper.finder.find([(claim_on(ChunkQueue(1)), 0)])
    paper.turn()
    paper.finder.wake()
    paper.turn()
    assert len(paper.asked) == 1
    paper.clock.advance(199)
    paper.finder.wake()
    paper.turn()
    assert len(paper.asked) == 1
    paper.clock.advance(1)
    paper.turn()
    assert paper.asked == [["t"], ["t"]]


@pytest.mark.parametrize("error", [ConnectFailed("all down"), RegistryError("ZooKeeper away")])
def test_no_answer_keeps_the_partitions_for_the_next_question(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever it was that did not answer; the log says so."""
    paper = Paper()
    paper.away = error
    claim = claim_on(ChunkQueue(1))
    paper.finder.find([(claim, 5)])
    paper.turn()
    assert str(error) in caplog.text
    paper.away = None
    paper.clock.advance(200)
    paper.turn()
    assert [loop.given for loop in paper.loops] == [[(claim, 5)]]
    paper.end()


def test_a_partition_given_up_while_it_is_looked_for_is_forgotten() -> None:
    """Nobody is asked about it any more."""
    paper = Paper()
    paper.leaders = {}
    claim = claim_on(ChunkQueue(1))
    paper.finder.find([(claim, 0)])
    paper.turn()
    claim.active = False
    paper.finder.wake()
    paper.clock.advance(200)
    paper.turn()
    assert len(paper.asked) == 1


def test_a_lost_partition_goes_on_where_its_fetcher_says() -> None:
    """And the fetcher that has nothing left is ended."""
    paper = Paper()
    claim = claim_on(ChunkQueue(1))
    paper.finder.find([(claim, 0)])
    paper.turn()
    paper.leaders[T0] = 2
    paper.clock.advance(200)
    paper.loops[0].lose(claim, 41)
    paper.turn()
    first, second = paper.loops
    assert second.key.broker.id == 2
    assert second.given == [(claim, 41)]
    assert first.stopped.is_set()
    paper.end()


def test_a_lost_partition_that_was_given_up_meanwhile_is_not_looked_for() -> None:
    """Its next owner is somebody else."""
    paper = Paper()
    claim = claim_on(ChunkQueue(1))
    paper.finder.find([(claim, 0)])
    paper.turn()
    claim.active = False
    paper.loops[0].lose(claim, 41)
    paper.finder.wake()
    paper.clock.advance(200)
    paper.turn()
    assert len(paper.asked) == 1
    paper.end()


def test_a_broker_under_a_new_address_gets_a_new_fetcher() -> None:
    """The same id on another port is another place."""
    paper = Paper()
    claim = claim_on(ChunkQueue(1))
    paper.finder.find([(claim, 0)])
    paper.turn()
    paper.brokers = (Broker(1, "one", 9999),)
    paper.leaders = {T0: 1}
    paper.clock.advance(200)
    paper.loops[0].lose(claim, 3)
    paper.turn()
    assert [loop.key.broker.port for loop in paper.loops] == [9092, 9999]
    paper.end()


def test_a_dead_fetcher_is_replaced() -> None:
    """After its death the next partition for that broker gets a new one."""
    paper = Paper()
    one, two = claim_on(ChunkQueue(1), T0), claim_on(ChunkQueue(1), T1)
    paper.finder.find([(one, 0)])
    paper.turn()
    paper.loops[0].dies.set()
    wait_for(lambda: "paper/fetcher-0-1" not in thread_names(), "the death of the fetcher")
    paper.loops[0].lose(one, 5)
    paper.clock.advance(200)
    paper.finder.find([(two, 0)])
    paper.turn()
    assert [loop.given for loop in paper.loops] == [[], [(one, 5), (two, 0)]]
    paper.end()


def test_fetchers_are_woken_to_let_go_of_what_was_given_up() -> None:
    """Every wake reaches every fetcher."""
    paper = Paper()
    paper.finder.find([(claim_on(ChunkQueue(1)), 0)])
    paper.turn()
    before = paper.loops[0].woken
    paper.finder.wake()
    paper.turn()
    assert paper.loops[0].woken == before + 1
    paper.end()
