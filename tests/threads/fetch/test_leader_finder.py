"""Finding leaders one pass at a time, with doubles for fetch loops."""

import threading

import pytest

from tests.support.chunks import T0, T1, ListSink, claim_of
from tests.support.fetch_bench import claim_on, thread_names, wait_for
from tests.support.paper_loops import Paper
from tests.support.stream_fetchers import OTHER
from tests.support.waiting import wait_until
from zkconsumer.cluster.epoch_ends import EpochEnd
from zkconsumer.cluster.refresh_pace import REFUSED_MS
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ConnectFailed, RegistryError, SaslAuthenticationFailedError
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.fetch.leader_epochs import EpochEnds
from zkconsumer.fetch.leader_finder import _LoopEnded
from zkconsumer.model import Broker
from zkconsumer.streams.chunk_queue import ChunkQueue

# --- with doubles of the loops: one pass at a time -----------------------------------------------


def test_a_stale_find_does_not_replace_a_newer_one() -> None:
    """A fetcher may report an old claim after the same partition's new claim was added."""
    paper = Paper()
    old, new = claim_on(ChunkQueue(1)), claim_on(ChunkQueue(1))
    old.active = False
    paper.finder.find([(new, 7)])
    paper.finder.find([(old, 3)])
    paper.turn()
    (loop,) = paper.loops
    assert loop.given == [(new, 7)]
    paper.end()


def test_without_partitions_no_metadata_is_requested() -> None:
    """A request without topics would ask for all of them."""
    paper = Paper()
    paper.finder.wake()
    paper.turn()
    claim = claim_on(ChunkQueue(1))
    claim.active = False
    paper.finder.find([(claim, 0)])
    paper.turn()
    assert paper.requested == []


def test_a_backoff_lies_between_two_lookups() -> None:
    """It takes ``refresh.leader.backoff.ms``, however often the finder is woken."""
    paper = Paper()
    paper.leaders = {}
    paper.finder.find([(claim_on(ChunkQueue(1)), 0)])
    paper.turn()
    paper.finder.wake()
    paper.turn()
    assert len(paper.requested) == 1
    paper.clock.advance(199)
    paper.finder.wake()
    paper.turn()
    assert len(paper.requested) == 1
    paper.clock.advance(1)
    paper.turn()
    assert paper.requested == [["t"], ["t"]]


@pytest.mark.parametrize("error", [ConnectFailed("all down"), RegistryError("ZooKeeper away")])
def test_a_failed_lookup_keeps_the_partitions_for_the_next(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """Brokers or ZooKeeper may have failed; the log has the error."""
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


def test_streams_get_a_failed_authentication_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """They would wait in vain. Retries are rare, as they could lock the user out."""
    paper, sink, other = Paper(), ListSink(), ListSink()
    paper.away = SaslAuthenticationFailedError("wrong password")
    paper.finder.find([(claim_of(T0, sink=sink), 0), (claim_of(T1, sink=sink), 0)])
    paper.turn()
    assert sink.failures == [paper.away]
    assert "wrong password" in caplog.text
    paper.clock.advance(REFUSED_MS - 1)
    paper.turn()
    assert len(paper.requested) == 1
    paper.clock.advance(1)
    paper.finder.find([(claim_of(T1, sink=other), 0)])
    paper.turn()
    assert len(paper.requested) == 2
    assert (len(sink.failures), other.failures) == (1, [paper.away])
    paper.away = None
    paper.clock.advance(REFUSED_MS)
    paper.turn()
    assert [len(loop.given) for loop in paper.loops] == [2]
    paper.end()


def test_after_a_success_a_failed_authentication_is_only_retried(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A broker that has just started may not know users so far; others are read meanwhile."""
    paper, sink = Paper(), ListSink()
    claim = claim_of(T0, sink=sink)
    paper.finder.find([(claim, 0)])
    paper.turn()
    paper.away = SaslAuthenticationFailedError("not known yet")
    paper.loops[0].lose(claim, 3)
    paper.clock.advance(200)
    paper.turn()
    assert len(paper.requested) == 2
    assert sink.failures == []
    assert "not known yet" in caplog.text
    paper.away = None
    paper.clock.advance(REFUSED_MS)
    paper.turn()
    assert paper.loops[-1].given == [(claim, 3)]
    paper.end()


def read_to_150(sink: ListSink) -> tuple[Paper, PartitionClaim]:
    """Read one partition from broker 1 in epoch 4, and another one in no known epoch."""
    paper, claim = Paper(), claim_of(T0, sink=sink)
    paper.epochs = {T0: 4}
    paper.finder.find([(claim, 0), (claim_of(T1, sink=sink), 0)])
    paper.turn()
    return paper, claim


def elect(paper: Paper, claim: PartitionClaim, leader: int, epoch: int) -> None:
    """Elect a leader after the former one's fetcher has read up to offset 150."""
    paper.leaders, paper.epochs = {T0: leader, T1: leader}, {T0: epoch, T1: epoch}
    paper.loops[0].lose(claim, 150)
    paper.clock.advance(200)
    paper.turn()


def test_a_log_truncated_by_an_unclean_election_is_read_from_its_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The last read epoch ends before the position on the new leader: the stream jumps back."""
    sink = ListSink()
    paper, claim = read_to_150(sink)
    paper.ends = {T0: EpochEnd(4, 100)}
    elect(paper, claim, leader=2, epoch=6)
    assert paper.doubts == [{T0: (6, 5)}]
    assert paper.loops[-1].given == [(claim, 100)]
    assert paper.loops[-1].jumped == [claim]
    assert "truncated the log to offset 100, after it was read up to 150" in caplog.text
    paper.end()


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
    paper, claim = read_to_150(sink)
    paper.ends = ends
    elect(paper, claim, leader=2, epoch=5)
    assert paper.doubts == [{T0: (5, 4)}]
    assert paper.loops[-1].given == [(claim, 150)]
    assert paper.loops[-1].jumped == []
    paper.end()


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
    paper, claim = read_to_150(sink)
    paper.ends = ends
    elect(paper, claim, leader=2, epoch=5)
    assert len(paper.loops) == 1
    paper.ends = {T0: EpochEnd(4, 100)}
    paper.clock.advance(200)
    paper.turn()
    assert paper.loops[-1].given == [(claim, 100)]
    paper.ends = ends
    paper.leaders, paper.epochs = {T0: 1, T1: 1}, {T0: 6}
    paper.loops[-1].lose(claim, 160)
    for _ in range(6):
        paper.clock.advance(200)
        paper.turn()
    assert len(paper.doubts) == 2 + 6
    assert (claim, 160) in paper.loops[0].given
    assert caplog.text.count("does not report whether its log was truncated") == 1
    assert "continuing at offset 160" in caplog.text
    paper.end()


def test_an_epoch_end_that_is_denied_is_not_requested_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Reading continues at once, and the log says that a truncation may be missed."""
    paper, claim = read_to_150(ListSink())
    paper.ends = {T0: int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)}
    elect(paper, claim, leader=2, epoch=5)
    assert (len(paper.doubts), paper.loops[-1].given) == (1, [(claim, 150)])
    assert "does not report whether its log was truncated" in caplog.text
    paper.end()


def test_a_leader_that_hangs_blocks_no_other_partition() -> None:
    """Partitions with the same leader as before, or with another new one, are read."""
    paper, claims = Paper(), [claim_of(tp, sink=ListSink()) for tp in (T0, T1, OTHER)]
    paper.leaders, paper.epochs = {T0: 1, T1: 1, OTHER: 1}, {T0: 4, T1: 4}
    paper.finder.find([(claim, 0) for claim in claims])
    paper.turn()
    may_answer = threading.Event()

    def answer() -> None:
        if T0 in paper.doubts[-1]:
            may_answer.wait()

    paper.on_doubts = answer
    paper.ends = {T0: EpochEnd(4, 100), T1: EpochEnd(4, 120)}
    paper.leaders, paper.epochs = {T0: 2, T1: 3, OTHER: 1}, {T0: 5, T1: 5}
    for claim in claims:
        paper.loops[0].lose(claim, 150)
    paper.clock.advance(200)
    paper.turn(waits=False)
    assert paper.loops[0].given == [(claims[2], 150)]
    wait_until(lambda: bool(paper.finder._mailbox._items), what="the other leader's answer")
    paper.turn(waits=False)
    assert paper.loops[-1].given == [(claims[1], 120)]
    may_answer.set()
    paper.turn()
    assert [loop.given for loop in paper.loops[1:]] == [[(claims[1], 120)], [(claims[0], 100)]]
    paper.end()


def test_a_jump_that_waits_for_capacity_is_passed_to_the_next_leader() -> None:
    """The stream gets it, wherever the partition is read then."""
    paper, claim = read_to_150(ListSink())
    paper.loops[0].lose(claim, 100, jumps=True)
    paper.clock.advance(200)
    paper.turn()
    assert paper.loops[0].given[-1] == (claim, 100)
    assert paper.loops[0].jumped == [claim]
    paper.end()


@pytest.mark.parametrize(("leader", "epoch"), [(1, 5), (2, 4), (2, -1)])
def test_the_epoch_end_is_not_requested_without_a_newer_leader(leader: int, epoch: int) -> None:
    """What the same leader served after its election is in its own epoch."""
    paper, claim = read_to_150(ListSink())
    elect(paper, claim, leader, epoch)
    assert paper.doubts == []
    paper.end()


def test_stale_metadata_does_not_make_a_leader_new() -> None:
    """A broker named a former leader; then the one that was read all along is found again."""
    paper, claim = read_to_150(ListSink())
    paper.ends = {T0: EpochEnd(3, 100)}
    for _ in range(2):
        elect(paper, claim, leader=2, epoch=3)
        paper.loops[-1].lose(claim, 150)
    elect(paper, claim, leader=1, epoch=4)
    assert paper.doubts == []
    assert (claim, 150) in paper.loops[0].given
    paper.end()


def test_epochs_from_brokers_before_2_4_are_not_used() -> None:
    """They may be stale, and a request without an epoch is answered by any leader."""
    paper, claim = read_to_150(ListSink())
    paper.has_exact_epochs = False
    paper.ends = {T0: EpochEnd(4, 100)}
    elect(paper, claim, leader=2, epoch=6)
    assert paper.doubts == []
    assert paper.loops[-1].given == [(claim, 150)]
    paper.end()


def test_a_topic_that_was_created_again_was_not_truncated() -> None:
    """Its epochs start again, and are not comparable with former ones."""
    paper, claim = Paper(), claim_of(T0, sink=ListSink())
    paper.epochs, paper.topic_ids = {T0: 4}, {T0.topic: b"1" * 16}
    paper.finder.find([(claim, 0)])
    paper.turn()
    paper.topic_ids = {T0.topic: b"2" * 16}
    paper.ends = {T0: EpochEnd(4, 100)}
    elect(paper, claim, leader=2, epoch=6)
    assert paper.doubts == []
    paper.end()


def test_a_truncation_of_a_given_up_partition_is_ignored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It was given up during the request; nor is it logged as a partition without leader."""
    caplog.set_level("INFO")
    sink = ListSink()
    paper, claim = read_to_150(sink)
    paper.ends = {T0: int(ErrorCode.NOT_LEADER_FOR_PARTITION)}
    elect(paper, claim, leader=2, epoch=5)
    paper.ends = {T0: EpochEnd(4, 100)}
    paper.on_doubts = lambda: setattr(claim, "active", False)
    paper.clock.advance(200)
    paper.turn()
    assert len(paper.loops) == 1
    assert "truncated the log" not in caplog.text
    assert "still without a leader" not in caplog.text
    paper.end()


def test_truncations_of_other_partitions_are_not_lost_with_one() -> None:
    """One response covers all partitions of a leader, also if one was given up meanwhile."""
    paper, claims = Paper(), [claim_of(tp, sink=ListSink()) for tp in (T0, T1)]
    paper.epochs = {T0: 4, T1: 4}
    paper.finder.find([(claim, 0) for claim in claims])
    paper.turn()
    paper.ends = {T0: EpochEnd(4, 100), T1: EpochEnd(4, 120)}
    paper.on_doubts = lambda: setattr(claims[0], "active", False)
    paper.leaders, paper.epochs = {T0: 2, T1: 2}, {T0: 5, T1: 5}
    for claim in claims:
        paper.loops[0].lose(claim, 150)
    paper.clock.advance(200)
    paper.turn()
    assert paper.doubts == [{T0: (5, 4), T1: (5, 4)}]
    assert [loop.given for loop in paper.loops[1:]] == [[(claims[1], 120)]]
    paper.end()


def test_a_new_claim_does_not_inherit_the_leader_epoch() -> None:
    """Its offset was committed at any time, so no epoch is known for it."""
    paper, claim = read_to_150(ListSink())
    claim.active = False
    other = claim_of(T0, sink=ListSink())
    paper.leaders, paper.epochs = {T0: 2, T1: 1}, {T0: 5}
    paper.finder.find([(other, 150)])
    paper.clock.advance(200)
    paper.turn()
    assert paper.doubts == []
    assert paper.loops[-1].given == [(other, 150)]
    paper.end()


def test_a_partition_given_up_while_it_is_looked_for_is_forgotten() -> None:
    """No further lookup is made for it."""
    paper = Paper()
    paper.leaders = {}
    claim = claim_on(ChunkQueue(1))
    paper.finder.find([(claim, 0)])
    paper.turn()
    claim.active = False
    paper.finder.wake()
    paper.clock.advance(200)
    paper.turn()
    assert len(paper.requested) == 1


def test_a_partition_that_was_given_back_continues_at_its_position() -> None:
    """The fetcher that has no partition left is stopped."""
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
    """It has another owner by now."""
    paper = Paper()
    claim = claim_on(ChunkQueue(1))
    paper.finder.find([(claim, 0)])
    paper.turn()
    claim.active = False
    paper.loops[0].lose(claim, 41)
    paper.finder.wake()
    paper.clock.advance(200)
    paper.turn()
    assert len(paper.requested) == 1
    paper.end()


def test_a_broker_under_a_new_address_gets_a_new_fetcher() -> None:
    """The same id at another port is another broker."""
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
    """The next partition of its broker gets a new fetcher."""
    paper = Paper()
    first_claim, second_claim = claim_on(ChunkQueue(1), T0), claim_on(ChunkQueue(1), T1)
    paper.finder.find([(first_claim, 0)])
    paper.turn()
    paper.loops[0].dies.set()
    wait_for(lambda: "paper/fetcher-0-1" not in thread_names(), "the death of the fetcher")
    paper.loops[0].lose(first_claim, 5)
    paper.clock.advance(200)
    paper.finder.find([(second_claim, 0)])
    paper.turn()
    assert [loop.given for loop in paper.loops] == [[], [(first_claim, 5), (second_claim, 0)]]
    paper.end()


def test_the_late_death_of_a_fetcher_does_not_hit_its_successor() -> None:
    """It was closed as idle and replaced, and only then does it die."""
    paper = Paper()
    claim = claim_on(ChunkQueue(1))
    paper.finder.find([(claim, 0)])
    paper.turn()
    for leader in (2, 1):  # away, so that the first one is closed, and back again
        paper.leaders[T0] = leader
        paper.clock.advance(200)
        paper.loops[-1].lose(claim, 5)
        paper.turn()
    first, _, third = paper.loops
    assert first.key == third.key
    paper.finder._mailbox.put(_LoopEnded(first.key, first))
    paper.leaders[T1] = 1
    paper.clock.advance(200)
    paper.finder.find([(claim_on(ChunkQueue(1), T1), 0)])
    paper.turn()
    assert len(paper.loops) == 3
    assert len(third.given) == 2
    paper.end()


def test_fetchers_are_woken_to_drop_given_up_partitions() -> None:
    """Every wake of the finder reaches every fetcher."""
    paper = Paper()
    paper.finder.find([(claim_on(ChunkQueue(1)), 0)])
    paper.turn()
    before = paper.loops[0].woken
    paper.finder.wake()
    paper.turn()
    assert paper.loops[0].woken == before + 1
    paper.end()
