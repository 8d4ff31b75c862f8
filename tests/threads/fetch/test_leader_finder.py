"""Finding leaders, one pass at a time, over fetch loops of paper."""

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

# --- with loops of paper: one pass at a time -----------------------------------------------------


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
    assert paper.requested == []


def test_a_pause_lies_between_two_questions() -> None:
    """``refresh.leader.backoff.ms``, however often it is woken."""
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


def test_streams_are_told_once_that_brokers_do_not_believe_us(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Who waits would wait in vain. It is tried again, but less often: users get locked out."""
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


def test_who_was_believed_once_is_not_ended_by_one_refusal(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A broker that has just started may know no users yet; what others lead is read meanwhile."""
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
    """A partition was read from broker 1 in epoch 4, another one in no known epoch."""
    paper, claim = Paper(), claim_of(T0, sink=sink)
    paper.epochs = {T0: 4}
    paper.finder.find([(claim, 0), (claim_of(T1, sink=sink), 0)])
    paper.turn()
    return paper, claim


def elect(paper: Paper, claim: PartitionClaim, leader: int, epoch: int) -> None:
    """A leader is elected; the former one's fetcher had read up to offset 150."""
    paper.leaders, paper.epochs = {T0: leader, T1: leader}, {T0: epoch, T1: epoch}
    paper.loops[0].lose(claim, 150)
    paper.clock.advance(200)
    paper.turn()


def test_where_an_unclean_election_cut_a_log_back_it_is_read_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The new leader's epoch begins in front of what was read; the stream is told behind that."""
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
def test_a_log_that_is_whole_or_can_not_tell_is_read_on_as_it_was(
    ends: EpochEnds,
) -> None:
    """Clean elections, and leaders that don't tell: those before 2.3, say."""
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
def test_a_leader_that_can_not_tell_yet_is_asked_again(
    ends: EpochEnds | Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """It has yet to hear that it leads. But not without end, and it is said where that is left."""
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


def test_a_leader_that_may_not_tell_is_not_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    """Reading goes on at once, and the log says what that may miss."""
    paper, claim = read_to_150(ListSink())
    paper.ends = {T0: int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)}
    elect(paper, claim, leader=2, epoch=5)
    assert (len(paper.doubts), paper.loops[-1].given) == (1, [(claim, 150)])
    assert "does not report whether its log was truncated" in caplog.text
    paper.end()


def test_a_leader_that_hangs_holds_up_no_other_partition() -> None:
    """Neither one whose leader is another, nor one that another new leader tells of."""
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


def test_a_step_back_that_waits_for_capacity_goes_along_to_the_next_leader() -> None:
    """Its stream is told, wherever the partition is read then."""
    paper, claim = read_to_150(ListSink())
    paper.loops[0].lose(claim, 100, jumps=True)
    paper.clock.advance(200)
    paper.turn()
    assert paper.loops[0].given[-1] == (claim, 100)
    assert paper.loops[0].jumped == [claim]
    paper.end()


@pytest.mark.parametrize(("leader", "epoch"), [(1, 5), (2, 4), (2, -1)])
def test_a_leader_that_stays_or_has_no_newer_epoch_is_not_asked(leader: int, epoch: int) -> None:
    """What was fetched from it after it was elected anew lies behind the beginning of its epoch."""
    paper, claim = read_to_150(ListSink())
    elect(paper, claim, leader, epoch)
    assert paper.doubts == []
    paper.end()


def test_metadata_that_lags_behind_makes_no_leader_a_new_one() -> None:
    """A broker named a leader of before; the one that was read from all along is found again."""
    paper, claim = read_to_150(ListSink())
    paper.ends = {T0: EpochEnd(3, 100)}
    for _ in range(2):
        elect(paper, claim, leader=2, epoch=3)
        paper.loops[-1].lose(claim, 150)
    elect(paper, claim, leader=1, epoch=4)
    assert paper.doubts == []
    assert (claim, 150) in paper.loops[0].given
    paper.end()


def test_epochs_that_brokers_before_2_4_name_are_not_asked_about() -> None:
    """A request without the epoch is answered by whoever leads, whichever epoch was meant."""
    paper, claim = read_to_150(ListSink())
    paper.has_exact_epochs = False
    paper.ends = {T0: EpochEnd(4, 100)}
    elect(paper, claim, leader=2, epoch=6)
    assert paper.doubts == []
    assert paper.loops[-1].given == [(claim, 150)]
    paper.end()


def test_a_topic_that_was_created_again_was_not_cut_back() -> None:
    """Its epochs count anew, and say nothing of what was read before."""
    paper, claim = Paper(), claim_of(T0, sink=ListSink())
    paper.epochs, paper.topic_ids = {T0: 4}, {T0.topic: b"1" * 16}
    paper.finder.find([(claim, 0)])
    paper.turn()
    paper.topic_ids = {T0.topic: b"2" * 16}
    paper.ends = {T0: EpochEnd(4, 100)}
    elect(paper, claim, leader=2, epoch=6)
    assert paper.doubts == []
    paper.end()


def test_who_gave_a_partition_up_meanwhile_is_told_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The leader took its time; nor is a partition in doubt said to have no leader."""
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


def test_who_gave_one_partition_up_meanwhile_gets_the_others_all_the_same() -> None:
    """A leader tells of all that it leads at once."""
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


def test_a_new_claim_was_not_read_under_the_former_ones_leader() -> None:
    """Its offset was committed whoever knows when: the epoch does not tell."""
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
    assert len(paper.requested) == 1


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
    assert len(paper.requested) == 1
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


def test_the_late_death_of_a_fetcher_does_not_hit_its_successor() -> None:
    """It was closed as idle, another one serves the broker by now, and then it dies after all."""
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
