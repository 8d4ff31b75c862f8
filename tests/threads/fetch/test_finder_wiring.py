"""The leader finder reports its own death, and wires its loops."""

from dataclasses import replace

import pytest

from tests.support.chunks import T0
from tests.support.fetch_bench import SETTINGS, FetchBench, claim_on, wait_for
from zkconsumer.clock import SystemClock
from zkconsumer.fetch.fetcher import PythonFetchLoop
from zkconsumer.fetch.leader_finder import LeaderFinder
from zkconsumer.model import Broker
from zkconsumer.observe import MemberName, Observation
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.chunk_queue import ChunkQueue


def test_the_death_of_the_leader_finder_is_reported() -> None:
    """Otherwise fetching would stop, and nobody would know why."""

    def broken() -> list[Broker]:
        raise ZeroDivisionError("a bug")

    scope, received = ThreadScope("finder"), list[BaseException]()
    with FetchBench() as bench:
        finder = LeaderFinder(
            access=replace(bench.access, list_brokers=broken),
            settings=SETTINGS,
            scope=scope,
            clock=SystemClock(),
            on_death=received.append,
        )
        finder.add([(claim_on(ChunkQueue(10), T0), 0)])
        wait_for(lambda: bool(received), "word of the death")
    assert isinstance(received[0], ZeroDivisionError)
    assert scope.close(2_000) == []


def test_loops_get_the_clock_of_the_connector(monkeypatch: pytest.MonkeyPatch) -> None:
    """They also get its settings and observation; a loop starts once a leader is found."""
    clock, made = SystemClock(), list[dict[str, object]]()

    def note_loop(*args: object, **parts: object) -> object:
        made.append(parts)
        return PythonFetchLoop(*args, **parts)  # type: ignore[arg-type]

    monkeypatch.setattr("zkconsumer.fetch.leader_finder.loop_class", lambda: note_loop)
    scope, observation = ThreadScope("finder"), Observation(MemberName("g", "g_a"), ())
    with FetchBench() as bench:
        finder = LeaderFinder(
            access=bench.access,
            settings=SETTINGS,
            scope=scope,
            clock=clock,
            observation=observation,
        )
        finder.add([(claim_on(ChunkQueue(10), T0), 0)])
        wait_for(lambda: bool(made), "a loop")
        assert scope.close(2_000) == []
    [parts] = made
    assert (parts["clock"], parts["settings"], parts["observation"]) == (
        clock,
        SETTINGS,
        observation,
    )
    assert parts["dial"] == bench.access.dial
