"""A broker that is down or closes every connection is logged at once, but not for each attempt."""

import pytest

from tests.fakes.fake_script import Close
from tests.support.chunks import T0, T1
from tests.support.fetch_bench import SETTINGS, FetchBench, claim_on, take_values, values, wait_for
from zkconsumer.clock import SystemClock
from zkconsumer.fetch.leader_finder import LeaderFinder
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.wire.api import ApiKey


def finder_of(bench: FetchBench) -> LeaderFinder:
    """A leader finder that looks up leaders a hundred times a second."""
    return LeaderFinder(
        access=bench.access, settings=SETTINGS, scope=bench.scope, clock=SystemClock()
    )


def test_a_broker_that_closes_every_connection_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its partitions are given back and added again many times meanwhile."""
    with FetchBench() as bench:
        bench.brokers[0].script(ApiKey.FETCH, *[Close()] * 60)
        queue, finder = ChunkQueue(10), finder_of(bench)
        finder.add([(claim_on(queue, T0), 0), (claim_on(queue, T1), 0)])
        wait_for(lambda: bench.requested(ApiKey.FETCH) > 60, "all these tries")
        bench.cluster.append(T0, values("a"))
        assert take_values(queue, 1) == ["a"]
    [line] = [
        message
        for message in caplog.messages
        if "looking up the leaders of its partitions again" in message
    ]
    assert str(bench.brokers[0].address) in line


def test_a_broker_that_is_down_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """No leader is found, and the lookup is repeated meanwhile."""
    with FetchBench() as bench:
        bench.brokers[0].stop()
        finder = finder_of(bench)
        finder.add([(claim_on(ChunkQueue(10), T0), 0)])
        wait_for(lambda: caplog.messages, "word of it")
        bench.scope.close(300)
    assert len([message for message in caplog.messages if "no leader found yet" in message]) == 1
