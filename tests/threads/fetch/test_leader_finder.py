"""Finding leaders one pass at a time, with doubles for fetch loops."""

import threading

import pytest

from tests.support.chunks import T0, T1, ListSink, claim_of
from tests.support.fetch_bench import claim_on, thread_names, wait_for
from tests.support.model_loops import LeaderFinderBench
from tests.support.stream_fetchers import OTHER
from tests.support.waiting import wait_until
from zkconsumer.cluster.epoch_ends import EpochEnd
from zkconsumer.cluster.refresh_pace import REFUSED_MS
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ConnectFailed, RegistryError, SaslAuthenticationFailedError
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.fetch.leader_epochs import EpochEnds
from zkconsumer.model import Broker
from zkconsumer.streams.chunk_queue import ChunkQueue

# --- with doubles of the loops: one pass at a time -----------------------------------------------


def test_a_stale_find_does_not_replace_a_newer_one() -> None:
    """A fetcher may report an old claim after the same partition's new claim was added."""
    bench = LeaderFinderBench()
    old, new = claim_on(ChunkQueue(1)), claim_on(ChunkQueue(1))
    old.active = False
    bench.finder.add([(new, 7)])
    bench.finder.add([(old, 3)])
    bench.turn()
    (loop,) = bench.loops
    assert loop.given == [(new, 7)]
    bench.end()


def test_without_partitions_no_metadata_is_requested() -> None:
    """A request without topics would ask for all of them."""
    bench = LeaderFinderBench()
    bench.finder.wake()
    bench.turn()
    claim = claim_on(ChunkQueue(1))
    claim.active = False
    bench.finder.add([(claim, 0)])
    bench.turn()
    assert bench.requested == []


def test_a_backoff_lies_between_two_lookups() -> None:
    """It takes ``refresh.leader.backoff.ms``, however often the finder is woken."""
    bench = LeaderFinderBench()
    bench.leaders = {}
    bench.finder.add([(claim_on(ChunkQueue(1)), 0)])
    bench.turn()
    bench.finder.wake()
    bench.turn()
    assert len(bench.requested) == 1
    bench.clock.advance(199)
    bench.finder.wake()
    bench.turn()
    assert len(bench.requested) == 1
    bench.clock.advance(1)
    bench.turn()
    assert bench.requested == [["t"], ["t"]]


@pytest.mark.parametrize("error", [ConnectFailed("all down"), RegistryError("ZooKeeper away")])
def test_a_failed_lookup_keeps_the_partitions_for_the_next(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """Brokers or ZooKeeper may have failed; the log has the error."""
    bench = LeaderFinderBench()
    bench.away = error
    claim = claim_on(ChunkQueue(1))
    bench.finder.add([(claim, 5)])
    bench.turn()
    assert str(error) in caplog.text
    bench.away = None
    bench.clock.advance(200)
    bench.turn()
    assert [loop.given for loop in bench.loops] == [[(claim, 5)]]
    bench.end()


def test_streams_get_a_failed_authentication_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """They would wait in vain. Retries are rare, as they could lock the user out."""
    bench, sink, other = LeaderFinderBench(), ListSink(), ListSink()
    bench.away = SaslAuthenticationFailedError("wrong password")
    bench.finder.add([(claim_of(T0, sink=sink), 0), (claim_of(T1, sink=sink), 0)])
    bench.turn()
    assert sink.failures == [bench.away]
    assert "wrong password" in caplog.text
    bench.clock.advance(REFUSED_MS - 1)
    bench.turn()
    assert len(bench.requested) == 1
    bench.clock.advance(1)
    bench.finder.add([(claim_of(T1, sink=other), 0)])
    bench.turn()
    assert len(bench.requested) == 2
    assert (len(sink.failures), other.failures) == (1, [bench.away])
    bench.away = None
    bench.clock.advance(REFUSED_MS)
    bench.turn()
    assert [len(loop.given) for loop in bench.loops] == [2]
    bench.end()


def test_after_a_success_a_failed_authentication_is_only_retried(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A broker that has just started may not know users so far; others are read meanwhile."""
    bench, sink = LeaderFinderBench(), ListSink()
    claim = claim_of(T0, sink=sink)
    bench.finder.add([(claim, 0)])
    bench.turn()
    bench.away = SaslAuthenticationFailedError("not known yet")
    bench.loops[0].lose(claim, 3)
    bench.clock.advance(200)
    bench.turn()
    assert len(bench.requested) == 2
    assert sink.failures == []
    assert "not known yet" in caplog.text
    bench.away = None
    bench.clock.advance(REFUSED_MS)
    bench.turn()
    assert bench.loops[-1].given == [(claim, 3)]
    bench.end()


def read_to_150(sink: ListSink) -> tuple[LeaderFinderBench, PartitionClaim]:
    """Read one partition from broker 1 in epoch 4, and another one in no known epoch."""
    bench, claim = LeaderFinderBench(), claim_of(T0, sink=sink)
    bench.epochs = {T0: 4}
    bench.finder.add([(claim, 0), (claim_of(T1, sink=sink), 0)])
    bench.turn()
    return bench, claim


def elect(bench: LeaderFinderBench, claim: PartitionClaim, leader: int, epoch: int) -> None:
    """Elect a leader after the former one's fetcher has read up to offset 150."""
    bench.leaders, bench.epochs = {T0: leader, T1: leader}, {T0: epoch, T1: epoch}
    bench.loops[0].lose(claim, 150)
    bench.clock.advance(200)
    bench.turn()


def test_a_log_truncated_by_an_unclean_election_is_read_from_its_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The last read epoch ends before the position on the new leader: the stream jumps back."""
    sink = ListSink()
    bench, claim = read_to_150(sink)
    bench.ends = {T0: EpochEnd(4, 100)}
    elect(bench, claim, leader=2, epoch=6)
    assert bench.doubts == [{T0: (6, 5)}]
    assert bench.loops[-1].given == [(claim, 100)]
    assert bench.loops[-1].jumped == [claim]
    assert "truncated the log to offset 100, after it was read up to 150" in caplog.text
    bench.end()


@pytest.mark.parametrize(
    "ends",
    [
        {T0: EpochEnd(4, 150)},
        {T0: EpochEnd(4, 170)},
        {T0: EpochEnd(-1, -1)},
        {T0: None},
        {T0: int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)},
        {},
    ],
)
def test_without_known_truncation_reading_continues(
    ends: EpochEnds,
) -> None:
    """The election was clean, or the leader can't tell, such as one before 2.3."""
    sink = ListSink()
    bench, claim = read_to_150(sink)
    bench.ends = ends
    elect(bench, claim, leader=2, epoch=5)
    assert bench.doubts == [{T0: (5, 4)}]
    assert bench.loops[-1].given == [(claim, 150)]
    assert bench.loops[-1].jumped == []
    bench.end()


@pytest.mark.parametrize(
    "ends",
    [
        {T0: int(ErrorCode.NOT_LEADER_FOR_PARTITION)},
        {T0: int(ErrorCode.UNKNOWN)},
        ConnectFailed("away"),
    ],
)
def test_an_epoch_end_that_is_not_known_yet_is_requested_again(
    ends: EpochEnds | Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """The broker may not know so far that it leads. Retries have a limit, which is logged."""
    sink = ListSink()
    bench, claim = read_to_150(sink)
    bench.ends = ends
    elect(bench, claim, leader=2, epoch=5)
    assert len(bench.loops) == 1
    bench.ends = {T0: EpochEnd(4, 100)}
    bench.clock.advance(200)
    bench.turn()
    assert bench.loops[-1].given == [(claim, 100)]
    bench.ends = ends
    bench.leaders, bench.epochs = {T0: 1, T1: 1}, {T0: 6}
    bench.loops[-1].lose(claim, 160)
    for _ in range(6):
        bench.clock.advance(200)
        bench.turn()
    assert len(bench.doubts) == 2 + 6
    assert (claim, 160) in bench.loops[0].given
    assert caplog.text.count("does not report whether its log was truncated") == 1
    assert "continuing at offset 160" in caplog.text
    bench.end()


def test_an_epoch_end_that_is_denied_is_not_requested_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Reading continues at once, and the log says that a truncation may be missed."""
    bench, claim = read_to_150(ListSink())
    bench.ends = {T0: int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)}
    elect(bench, claim, leader=2, epoch=5)
    assert (len(bench.doubts), bench.loops[-1].given) == (1, [(claim, 150)])
    assert "does not report whether its log was truncated" in caplog.text
    bench.end()


def test_a_leader_that_hangs_blocks_no_other_partition() -> None:
    """Partitions with the same leader as before, or with another new one, are read."""
    bench, claims = LeaderFinderBench(), [claim_of(tp, sink=ListSink()) for tp in (T0, T1, OTHER)]
    bench.leaders, bench.epochs = {T0: 1, T1: 1, OTHER: 1}, {T0: 4, T1: 4}
    bench.finder.add([(claim, 0) for claim in claims])
    bench.turn()
    may_answer = threading.Event()

    def answer() -> None:
        if T0 in bench.doubts[-1]:
            may_answer.wait()

    bench.on_doubts = answer
    bench.ends = {T0: EpochEnd(4, 100), T1: EpochEnd(4, 120)}
    bench.leaders, bench.epochs = {T0: 2, T1: 3, OTHER: 1}, {T0: 5, T1: 5}
    for claim in claims:
        bench.loops[0].lose(claim, 150)
    bench.clock.advance(200)
    bench.turn(waits=False)
    assert bench.loops[0].given == [(claims[2], 150)]
    wait_until(lambda: bool(bench.finder._mailbox._items), what="the other leader's answer")
    bench.turn(waits=False)
    assert bench.loops[-1].given == [(claims[1], 120)]
    may_answer.set()
    bench.turn()
    assert [loop.given for loop in bench.loops[1:]] == [[(claims[1], 120)], [(claims[0], 100)]]
    bench.end()


def test_a_jump_that_waits_for_capacity_is_passed_to_the_next_leader() -> None:
    """The stream gets it, wherever the partition is read then."""
    bench, claim = read_to_150(ListSink())
    bench.loops[0].lose(claim, 100, jumps=True)
    bench.clock.advance(200)
    bench.turn()
    assert bench.loops[0].given[-1] == (claim, 100)
    assert bench.loops[0].jumped == [claim]
    bench.end()


@pytest.mark.parametrize(("leader", "epoch"), [(1, 5), (2, 4), (2, -1)])
def test_the_epoch_end_is_not_requested_without_a_newer_leader(leader: int, epoch: int) -> None:
    """What the same leader served after its election is in its own epoch."""
    bench, claim = read_to_150(ListSink())
    elect(bench, claim, leader, epoch)
    assert bench.doubts == []
    bench.end()


def test_stale_metadata_does_not_make_a_leader_new() -> None:
    """A broker named a former leader; then the one that was read all along is found again."""
    bench, claim = read_to_150(ListSink())
    bench.ends = {T0: EpochEnd(3, 100)}
    for _ in range(2):
        elect(bench, claim, leader=2, epoch=3)
        bench.loops[-1].lose(claim, 150)
    elect(bench, claim, leader=1, epoch=4)
    assert bench.doubts == []
    assert (claim, 150) in bench.loops[0].given
    bench.end()


def test_epochs_from_brokers_before_2_4_are_not_used() -> None:
    """They may be stale, and a request without an epoch is answered by any leader."""
    bench, claim = read_to_150(ListSink())
    bench.has_exact_epochs = False
    bench.ends = {T0: EpochEnd(4, 100)}
    elect(bench, claim, leader=2, epoch=6)
    assert bench.doubts == []
    assert bench.loops[-1].given == [(claim, 150)]
    bench.end()


def test_a_topic_that_was_created_again_was_not_truncated() -> None:
    """Its epochs start again, and are not comparable with former ones."""
    bench, claim = LeaderFinderBench(), claim_of(T0, sink=ListSink())
    bench.epochs, bench.topic_ids = {T0: 4}, {T0.topic: b"1" * 16}
    bench.finder.add([(claim, 0)])
    bench.turn()
    bench.topic_ids = {T0.topic: b"2" * 16}
    bench.ends = {T0: EpochEnd(4, 100)}
    elect(bench, claim, leader=2, epoch=6)
    assert bench.doubts == []
    bench.end()


def test_a_truncation_of_a_given_up_partition_is_ignored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It was given up during the request; nor is it logged as a partition without leader."""
    caplog.set_level("INFO")
    sink = ListSink()
    bench, claim = read_to_150(sink)
    bench.ends = {T0: int(ErrorCode.NOT_LEADER_FOR_PARTITION)}
    elect(bench, claim, leader=2, epoch=5)
    bench.ends = {T0: EpochEnd(4, 100)}
    bench.on_doubts = lambda: setattr(claim, "active", False)
    bench.clock.advance(200)
    bench.turn()
    assert len(bench.loops) == 1
    assert "truncated the log" not in caplog.text
    assert "still without a leader" not in caplog.text
    bench.end()


def test_truncations_of_other_partitions_are_not_lost_with_one() -> None:
    """One response covers all partitions of a leader, also if one was given up meanwhile."""
    bench, claims = LeaderFinderBench(), [claim_of(tp, sink=ListSink()) for tp in (T0, T1)]
    bench.epochs = {T0: 4, T1: 4}
    bench.finder.add([(claim, 0) for claim in claims])
    bench.turn()
    bench.ends = {T0: EpochEnd(4, 100), T1: EpochEnd(4, 120)}
    bench.on_doubts = lambda: setattr(claims[0], "active", False)
    bench.leaders, bench.epochs = {T0: 2, T1: 2}, {T0: 5, T1: 5}
    for claim in claims:
        bench.loops[0].lose(claim, 150)
    bench.clock.advance(200)
    bench.turn()
    assert bench.doubts == [{T0: (5, 4), T1: (5, 4)}]
    assert [loop.given for loop in bench.loops[1:]] == [[(claims[1], 120)]]
    bench.end()


def test_a_new_claim_does_not_inherit_the_leader_epoch() -> None:
    """Its offset was committed at any time, so no epoch is known for it."""
    bench, claim = read_to_150(ListSink())
    claim.active = False
    other = claim_of(T0, sink=ListSink())
    bench.leaders, bench.epochs = {T0: 2, T1: 1}, {T0: 5}
    bench.finder.add([(other, 150)])
    bench.clock.advance(200)
    bench.turn()
    assert bench.doubts == []
    assert bench.loops[-1].given == [(other, 150)]
    bench.end()


def test_a_partition_given_up_while_it_is_looked_for_is_forgotten() -> None:
    """No further lookup is made for it."""
    bench = LeaderFinderBench()
    bench.leaders = {}
    claim = claim_on(ChunkQueue(1))
    bench.finder.add([(claim, 0)])
    bench.turn()
    claim.active = False
    bench.finder.wake()
    bench.clock.advance(200)
    bench.turn()
    assert len(bench.requested) == 1


def test_a_partition_that_was_given_back_continues_at_its_position() -> None:
    """The fetcher that has no partition left is stopped."""
    bench = LeaderFinderBench()
    claim = claim_on(ChunkQueue(1))
    bench.finder.add([(claim, 0)])
    bench.turn()
    bench.leaders[T0] = 2
    bench.clock.advance(200)
    bench.loops[0].lose(claim, 41)
    bench.turn()
    first, second = bench.loops
    assert second.broker.id == 2
    assert second.given == [(claim, 41)]
    assert first.stopped.is_set()
    bench.end()


def test_a_lost_partition_that_was_given_up_meanwhile_is_not_looked_for() -> None:
    """It has another owner by now."""
    bench = LeaderFinderBench()
    claim = claim_on(ChunkQueue(1))
    bench.finder.add([(claim, 0)])
    bench.turn()
    claim.active = False
    bench.loops[0].lose(claim, 41)
    bench.finder.wake()
    bench.clock.advance(200)
    bench.turn()
    assert len(bench.requested) == 1
    bench.end()


def test_a_broker_under_a_new_address_gets_a_new_fetcher() -> None:
    """The same id at another port is another broker."""
    bench = LeaderFinderBench()
    claim = claim_on(ChunkQueue(1))
    bench.finder.add([(claim, 0)])
    bench.turn()
    bench.brokers = (Broker(1, "one", 9999),)
    bench.leaders = {T0: 1}
    bench.clock.advance(200)
    bench.loops[0].lose(claim, 3)
    bench.turn()
    assert [loop.broker.port for loop in bench.loops] == [9092, 9999]
    bench.end()


def test_a_dead_fetcher_is_replaced() -> None:
    """The next partition of its broker gets a new fetcher."""
    bench = LeaderFinderBench()
    first_claim, second_claim = claim_on(ChunkQueue(1), T0), claim_on(ChunkQueue(1), T1)
    bench.finder.add([(first_claim, 0)])
    bench.turn()
    bench.loops[0].dies.set()
    wait_for(lambda: "bench/fetcher-0-1" not in thread_names(), "the death of the fetcher")
    bench.loops[0].lose(first_claim, 5)
    bench.clock.advance(200)
    bench.finder.add([(second_claim, 0)])
    bench.turn()
    assert [loop.given for loop in bench.loops] == [[], [(first_claim, 5), (second_claim, 0)]]
    bench.end()


def test_the_late_death_of_a_fetcher_does_not_hit_its_successor() -> None:
    """It was closed as idle and replaced, and only then does it die."""
    bench = LeaderFinderBench()
    claim = claim_on(ChunkQueue(1))
    bench.finder.add([(claim, 0)])
    bench.turn()
    for leader in (2, 1):  # away, so that the first one is closed, and back again
        bench.leaders[T0] = leader
        bench.clock.advance(200)
        bench.loops[-1].lose(claim, 5)
        bench.turn()
    first, _, third = bench.loops
    assert first.broker == third.broker
    bench.finder._mailbox.put(first)
    bench.leaders[T1] = 1
    bench.clock.advance(200)
    bench.finder.add([(claim_on(ChunkQueue(1), T1), 0)])
    bench.turn()
    assert len(bench.loops) == 3
    assert len(third.given) == 2
    bench.end()


def test_fetchers_are_woken_to_drop_given_up_partitions() -> None:
    """Every wake of the finder reaches every fetcher."""
    bench = LeaderFinderBench()
    bench.finder.add([(claim_on(ChunkQueue(1)), 0)])
    bench.turn()
    before = bench.loops[0].woken
    bench.finder.wake()
    bench.turn()
    assert bench.loops[0].woken == before + 1
    bench.end()
