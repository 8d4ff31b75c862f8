"""Finding leaders, one pass at a time, over fetch loops of paper."""

import pytest

from tests.support.chunks import T0, T1, ListSink, claim_of
from tests.support.fetch_bench import claim_on, thread_names, wait_for
from tests.support.paper_loops import Paper
from zkconsumer.cluster.refresh_pace import REFUSED_MS
from zkconsumer.errors import ConnectFailed, RegistryError, SaslAuthenticationFailedError
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
