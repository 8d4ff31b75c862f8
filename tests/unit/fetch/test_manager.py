"""The fetch manager hears what its leader finder dies of."""

from dataclasses import replace

from tests.support.chunks import T0
from tests.support.fetch_bench import SETTINGS, FetchBench, claim_on, wait_for
from zkconsumer.clock import SystemClock
from zkconsumer.fetch.manager import FetchManager
from zkconsumer.model import Broker
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.chunk_queue import ChunkQueue


def test_the_death_of_the_leader_finder_is_told() -> None:
    """Nothing would be fetched any more, and nobody would know why."""

    def broken() -> list[Broker]:
        raise ZeroDivisionError("a bug")

    scope, heard = ThreadScope("manager"), list[BaseException]()
    with FetchBench() as bench:
        manager = FetchManager(
            access=replace(bench.access, list_brokers=broken),
            settings=SETTINGS,
            scope=scope,
            clock=SystemClock(),
            on_death=heard.append,
        )
        manager.add([(claim_on(ChunkQueue(10), T0), 0)])
        wait_for(lambda: bool(heard), "word of the death")
    assert isinstance(heard[0], ZeroDivisionError)
    assert scope.close(2_000) == []
