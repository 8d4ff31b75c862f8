"""Leader finder and fetch loops together, against fake brokers: the same tests for all loops."""

import logging
from dataclasses import replace

import pytest

from tests.fakes.fake_script import Fail
from tests.support.chunks import T0, T1
from tests.support.fetch_bench import (
    SETTINGS,
    FetchBench,
    claim_on,
    each_loop,
    new_queue,
    take_values,
    thread_names,
    values,
    wait_for,
)
from zkconsumer.clock import SystemClock
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.fetcher import LoopReport, PythonFetchLoop
from zkconsumer.fetch.leader_finder import LeaderFinder
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.wire.api import ApiKey

__all__ = ["each_loop"]

pytestmark = pytest.mark.usefixtures("each_loop")


def start_finder(bench: FetchBench, settings: FetchSettings = SETTINGS) -> LeaderFinder:
    """Return a leader finder for the bench's brokers, with the bench's kind of loops."""

    class Finder(LeaderFinder):
        def new_loop(self, broker: Broker, report: LoopReport) -> PythonFetchLoop:
            return bench.new_loop(broker, report, settings=settings)

    return Finder(access=bench.access, settings=settings, scope=bench.scope, clock=SystemClock())


def fetcher_names() -> list[str]:
    """Return the names of the bench's running fetcher threads."""
    return sorted(name for name in thread_names() if name.startswith("bench/fetcher"))


# --- reported to be out of range -----------------------------------------------------------------


def test_a_leader_whose_log_has_the_offset_resets_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It reports "out of range", but its log ends differ: it is looked up and read again."""
    with FetchBench() as bench, caplog.at_level(logging.WARNING):
        queue = new_queue(10)
        bench.cluster.append(T0, values("a", "b", "c"))
        bench.brokers[0].script(ApiKey.FETCH, *[Fail(ErrorCode.OFFSET_OUT_OF_RANGE)] * 3)
        start_finder(bench).add([(claim_on(queue, committed=1), 1)])
        assert take_values(queue, 2) == ["b", "c"]
        assert bench.requested(ApiKey.LIST_OFFSETS) == 6
    assert not [record for record in caplog.records if "out of range" in record.getMessage()]


def test_a_leader_that_keeps_contradicting_itself_is_believed() -> None:
    """At the fourth time in a row the reset policy applies."""
    with FetchBench() as bench:
        queue = new_queue(10)
        bench.cluster.append(T0, values("a", "b", "c"))
        bench.brokers[0].script(ApiKey.FETCH, *[Fail(ErrorCode.OFFSET_OUT_OF_RANGE)] * 4)
        start_finder(bench).add([(claim_on(queue, committed=1), 1)])
        assert take_values(queue, 3) == ["a", "b", "c"]


# --- with real loops -----------------------------------------------------------------------------


def test_a_broker_gets_only_requests_that_0_8_knows() -> None:
    """The connection for the leader lookup is closed after it; another one is for fetching."""
    with FetchBench() as bench:
        bench.cluster.append(T0, values("a"))
        queue = new_queue(10)
        start_finder(bench).add([(claim_on(queue), None)])
        assert take_values(queue, 1) == ["a"]
        received = list(bench.brokers[0].requests)
        asked_first = [(ApiKey.METADATA, 0), (ApiKey.LIST_OFFSETS, 0), (ApiKey.FETCH, 1)]
        assert [
            (request.api_key, request.correlation_id) for request in received[:3]
        ] == asked_first
        assert {(request.version, request.client_id) for request in received} == {(0, "bench")}
        assert {request.api_key for request in received[3:]} <= {ApiKey.FETCH}
        assert [conversation.is_over for conversation in bench.brokers[0]._conversations] == [
            True,
            False,
        ]


def test_partitions_go_to_the_fetchers_of_their_leaders() -> None:
    """Two brokers lead one partition each, and each has a thread of its own."""
    with FetchBench(broker_count=2) as bench:
        queue = new_queue(10)
        bench.cluster.append(T0, values("a"))
        bench.cluster.append(T1, values("b"))
        finder = start_finder(bench)
        finder.add([(claim_on(queue, T0), 0), (claim_on(queue, T1), 0)])
        assert sorted(take_values(queue, 2)) == ["a", "b"]
        assert fetcher_names() == ["bench/fetcher-0-0", "bench/fetcher-0-1"]


def test_several_fetchers_share_a_brokers_partitions() -> None:
    """They are numbered as in the original."""
    with FetchBench(partitions=3) as bench:
        queue = new_queue(10)
        finder = start_finder(bench, replace(SETTINGS, fetcher_count=3))
        finder.add([(claim_on(queue, TopicPartition("t", p)), 0) for p in range(3)])
        names = [f"bench/fetcher-{number}-0" for number in range(3)]
        wait_for(lambda: fetcher_names() == names, "three fetchers")


def test_a_moved_leader_is_followed_without_loss_and_its_old_fetcher_ends() -> None:
    """Reading continues at the exact offset, and the idle fetcher is closed."""
    with FetchBench(broker_count=2, partitions=1) as bench:
        queue = new_queue(100)
        finder = start_finder(bench)
        finder.add([(claim_on(queue), 0)])
        bench.cluster.append(T0, values("a", "b"))
        delivered = take_values(queue, 2)
        bench.cluster.move_leader(T0, 1)
        bench.cluster.append(T0, values("c", "d"))
        delivered += take_values(queue, 2)
        assert delivered == ["a", "b", "c", "d"]
        wait_for(lambda: fetcher_names() == ["bench/fetcher-0-1"], "the idle fetcher to end")


def test_a_fetcher_whose_partitions_were_all_given_up_ends() -> None:
    """It does without any leader lookup, so that no thread or socket is kept in vain."""
    with FetchBench(partitions=2) as bench:
        queue = new_queue(10)
        finder = start_finder(bench)
        claims = [claim_on(queue, T0), claim_on(queue, T1)]
        finder.add([(claim, 0) for claim in claims])
        wait_for(lambda: fetcher_names() == ["bench/fetcher-0-0"], "the fetcher")
        claims[0].active = False
        finder.wake()
        bench.cluster.append(T1, values("a"))
        assert take_values(queue, 1) == ["a"]
        claims[1].active = False
        finder.wake()
        wait_for(lambda: fetcher_names() == [], "the end of the fetcher")


def test_a_broker_that_restarts_is_read_again() -> None:
    """Nothing is lost while it is down, and reading continues where it was."""
    with FetchBench(partitions=1) as bench:
        queue = new_queue(100)
        finder = start_finder(bench)
        finder.add([(claim_on(queue), 0)])
        bench.cluster.append(T0, values("a"))
        delivered = take_values(queue, 1)
        bench.brokers[0].stop()
        bench.cluster.append(T0, values("b"))
        bench.brokers[0].start()
        delivered += take_values(queue, 1)
        assert delivered == ["a", "b"]


def test_a_partition_without_a_leader_is_looked_up_until_it_has_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """There is a pause between two lookups, and the log says which topic waits."""
    with FetchBench(partitions=1) as bench, caplog.at_level(logging.INFO):
        queue = new_queue(10)
        bench.cluster.move_leader(T0, None)
        bench.cluster.append(T0, values("a"))
        finder = start_finder(bench)
        finder.add([(claim_on(queue), 0)])
        wait_for(lambda: bench.requested(ApiKey.METADATA) >= 3, "three questions")
        bench.cluster.move_leader(T0, 0)
        assert take_values(queue, 1) == ["a"]
    assert "topic t: still without a leader: no leader now" in caplog.text


def test_an_unknown_topic_is_named_with_its_error(caplog: pytest.LogCaptureFixture) -> None:
    """Other topics are read nevertheless."""
    with FetchBench(partitions=1) as bench, caplog.at_level(logging.INFO):
        queue = new_queue(10)
        bench.cluster.append(T0, values("a"))
        finder = start_finder(bench)
        finder.add([(claim_on(queue, TopicPartition("none", 0)), 0), (claim_on(queue), 0)])
        assert take_values(queue, 1) == ["a"]
        wait_for(lambda: "topic none" in caplog.text, "the log line")
    assert "UNKNOWN_TOPIC_OR_PARTITION" in caplog.text


def test_stopping_ends_every_fetcher() -> None:
    """It does whether a fetcher waits for a broker or for partitions."""
    with FetchBench(broker_count=2) as bench:
        queue = new_queue(10)
        finder = start_finder(bench)
        finder.add([(claim_on(queue, T0), 0), (claim_on(queue, T1), 0)])
        wait_for(lambda: len(fetcher_names()) == 2, "both fetchers")
        assert bench.scope.close(2_000) == []
        assert fetcher_names() == []


def test_a_leader_finder_starts_with_the_first_partitions() -> None:
    """There is no thread before, and one later; a given-up claim takes effect at once."""
    with FetchBench() as bench:
        queue = new_queue(10)
        finder = LeaderFinder(
            access=bench.access, settings=SETTINGS, scope=bench.scope, clock=SystemClock()
        )
        finder.wake()
        assert not [name for name in thread_names() if name.startswith("bench/")]
        bench.cluster.append(T0, values("a"))
        claim = claim_on(queue)
        finder.add([(claim, 0)])
        finder.add([(claim_on(queue, T1), 0)])
        assert take_values(queue, 1) == ["a"]
        claim.active = False
        finder.wake()
        bench.cluster.append(T0, values("never"))
        bench.cluster.append(T1, values("b"))
        assert take_values(queue, 1) == ["b"]
        assert thread_names().count("bench/leader-finder") == 1
