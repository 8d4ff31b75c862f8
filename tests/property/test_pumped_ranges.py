"""Ranges that a pump fetches in a thread of its own, in random worlds with threads in turns.

Whatever happens between two requests and between two chunks, every record of the range that the log
holds comes once, in order, and none beyond the end; what is lost is reported.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.model_pump import ModelQueue
from tests.support.range_world import RangeWorld
from tests.support.shares import examples
from zkconsumer.fetch import range_parts, range_reader
from zkconsumer.fetch.core import broker_delegation
from zkconsumer.fetch.core.delegated import DelegatedFetch, Returned
from zkconsumer.fetch.core.fetch_connection import FetchConnection
from zkconsumer.fetch.core.partition_state import PartitionState
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.pumped_connection import PumpedConnection
from zkconsumer.fetch.range_parts import RangePart
from zkconsumer.fetch.range_pump import RangePump
from zkconsumer.fetch.range_reader import _RangeReading
from zkconsumer.records.slices import FetchedRecords

VERSIONS = (0, 1, 2, 3, 4, 5, 7, 9, 11, 12, 13)
Fault = Callable[[pytest.MonkeyPatch], None]


def run_world(seed: int, version: int, **traits: bool) -> RangeWorld:
    """Read a range in a random world; every part and the end are checked."""
    world = RangeWorld(seed, version=version, **traits)
    world.run()
    return world


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(VERSIONS))
def test_every_record_comes_once_and_in_order(seed: int, version: int) -> None:
    """Errors, damage, retention, new leaders, cuts, signals and early ends in a run do no harm."""
    run_world(seed, version)


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(VERSIONS))
def test_damage_ends_a_range_as_without_a_pump(seed: int, version: int) -> None:
    """After all records before it, with the same error; its advice depends on what follows."""
    by_pump = run_world(seed, version, damaged=True)
    by_python = run_world(seed, version, damaged=True, pumps=False)
    assert by_pump.delegations >= by_python.delegations == 0
    assert by_pump.seen == by_python.seen
    whats = [str(world.error).partition("; to skip it")[0] for world in (by_pump, by_python)]
    assert whats[0] == whats[1]


def test_runs_that_end_at_once_keep_no_range_from_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the reason: here the call for a hedged request, which is never forgotten."""
    monkeypatch.setattr(PumpedConnection, "clear_call", lambda _: None)
    worlds = [run_world(seed, VERSIONS[seed % len(VERSIONS)]) for seed in range(40)]
    assert sum(world.second_responses for world in worlds) >= 10


def test_worlds_pump_often() -> None:
    """Runs have requests, chunks, hedged requests and interrupts: else nothing here is tested."""
    worlds = [run_world(seed, VERSIONS[seed % len(VERSIONS)]) for seed in range(60)]
    assert sum(world.delegations > 0 for world in worlds) >= 50
    assert sum(world.pumped_responses for world in worlds) >= 500
    assert sum(world.pumped_chunks for world in worlds) >= 500
    assert sum(world.switches for world in worlds) >= 2_000
    assert sum(world.second_responses for world in worlds) >= 15
    assert sum(world.interrupts for world in worlds) >= 10
    assert sum(world.closes for world in worlds) >= 10
    assert sum(len(world.losses) for world in worlds) >= 10


def _queued_chunks_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Taking back continues after the queue, but does not take what it holds."""

    def forget(
        states: PartitionStates, state: PartitionState, fetch: DelegatedFetch, back: Returned
    ) -> None:
        fetch.queue = ModelQueue(1, lambda: None)
        restore(states, state, fetch, back._replace(fetch_offset=_end_of(state)))

    restore = broker_delegation._restore
    patch.setattr(broker_delegation, "_restore", forget)


def _end_of(state: PartitionState) -> int:
    assert state.fetched is not None
    return state.fetched.offset


def _queued_chunks_come_before_those_that_wait(patch: pytest.MonkeyPatch) -> None:
    def turned(
        states: PartitionStates, state: PartitionState, fetch: DelegatedFetch, back: Returned
    ) -> None:
        waiting = list(state.waiting)
        restore(states, state, fetch, back)
        state.waiting.rotate(-len(waiting))

    restore = broker_delegation._restore
    patch.setattr(broker_delegation, "_restore", turned)


def _the_last_of_joined_chunks_is_dropped(patch: pytest.MonkeyPatch) -> None:
    """The chunk ends after it all the same."""

    def shorter(records: list[Any], **how: Any) -> FetchedRecords:
        return FetchedRecords(records[:-1] if len(records) > 1 else records, **how)

    patch.setattr("zkconsumer.fetch.core.delegated.FetchedRecords", shorter)


def _joined_chunks_end_after_the_first(patch: pytest.MonkeyPatch) -> None:
    def take(self: DelegatedFetch, *, has_epochs: bool, enough_bytes: int = 1) -> Any:
        first = whole(self, has_epochs=has_epochs)
        second = whole(self, has_epochs=has_epochs) if enough_bytes > 1 else None
        if first is not None and second is not None:
            first.records._waiting = [*first.records._waiting, *second.records._waiting]
        return first

    whole = DelegatedFetch.take
    patch.setattr(DelegatedFetch, "take", take)


def _chunks_are_not_awaited(patch: pytest.MonkeyPatch) -> None:
    """A reader that found nothing sleeps on when a chunk comes."""
    patch.setattr(_RangeReading, "_is_chunk_there", lambda _: False)


def _the_end_of_a_run_is_not_told(patch: pytest.MonkeyPatch) -> None:
    def run(self: RangePump, delegation: Any) -> None:
        try:
            self._pumped.run(delegation)
        finally:
            self._has_ended = True

    patch.setattr(RangePump, "_run", run)


def _records_beyond_the_end_come(patch: pytest.MonkeyPatch) -> None:
    def parts_of(fetched: FetchedRecords, _end: int, part_bytes: int) -> Iterator[RangePart]:
        return whole(fetched, fetched.next_offset, part_bytes)

    whole = range_parts.parts_of
    patch.setattr(range_reader, "parts_of", parts_of)


def _a_run_goes_on_after_the_reading(patch: pytest.MonkeyPatch) -> None:
    """It keeps its thread and its connection."""
    patch.setattr(RangePump, "close", lambda *_, **__: None)


def _a_stopped_run_keeps_its_connection(patch: pytest.MonkeyPatch) -> None:
    """The pool gives it to the next range, with a response outstanding."""
    patch.setattr(FetchConnection, "stop", lambda _: None)


def _the_reader_does_not_wait_for_the_end_of_a_run(patch: pytest.MonkeyPatch) -> None:
    """Both fetch over one connection."""

    def take_end(self: RangePump) -> bool:
        self.is_running = False
        return True

    patch.setattr(RangePump, "take_end", take_end)


def _what_a_run_met_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    """An error that ended it is none: the leader is asked again, for ever."""

    def after(self: _RangeReading, _before: Any) -> Any:
        return whole(self, self._marks())

    whole = _RangeReading._after_exchange
    patch.setattr(_RangeReading, "_after_exchange", after)


def _a_set_is_handed_over_from_its_end_on(patch: pytest.MonkeyPatch) -> None:
    """Its rest counts as queued, though it is not."""

    def rest_of(data: memoryview, _offset: int) -> memoryview:
        return data[-1:]

    def restore(
        states: PartitionStates, state: PartitionState, fetch: DelegatedFetch, back: Returned
    ) -> None:
        before(states, state, fetch, back)
        if back.packed is not None and state.fetched is not None:
            state.fetched = state.fetched._replace(offset=state.fetched.offset + 1)

    before = broker_delegation._restore
    patch.setattr(broker_delegation, "part_from", rest_of)
    patch.setattr(broker_delegation, "_restore", restore)


FAULTS: tuple[tuple[Fault, int], ...] = (
    (_queued_chunks_are_forgotten, 12),
    (_queued_chunks_come_before_those_that_wait, 12),
    (_the_last_of_joined_chunks_is_dropped, 12),
    (_joined_chunks_end_after_the_first, 12),
    (_chunks_are_not_awaited, 12),
    (_the_end_of_a_run_is_not_told, 12),
    (_records_beyond_the_end_come, 12),
    (_a_run_goes_on_after_the_reading, 12),
    (_a_stopped_run_keeps_its_connection, 12),
    (_the_reader_does_not_wait_for_the_end_of_a_run, 12),
    (_what_a_run_met_is_forgotten, 12),
    (_a_set_is_handed_over_from_its_end_on, 2),
)


@pytest.mark.parametrize(
    ("fault", "version"), FAULTS, ids=lambda function: getattr(function, "__name__", "")
)
def test_planted_faults_are_found(
    fault: Fault, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some world fails if ranges or their pumps have a fault."""
    fault(monkeypatch)
    for seed in range(300):
        try:
            run_world(seed, version)
        except (AssertionError, KeyError, IndexError):
            return
    pytest.fail("300 worlds went well all the same")
