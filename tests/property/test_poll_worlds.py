"""The poll engine in random worlds: every record once and in order, whatever happens meanwhile."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.altered_messages import altered
from tests.support.poll_world import PollWorld
from tests.support.shares import examples
from zkconsumer.fetch.core import completed, fetch_connection, incremental, planning
from zkconsumer.fetch.core.arrivals import Arrivals
from zkconsumer.fetch.core.incremental import FetchSessionState
from zkconsumer.fetch.core.partition_state import PartitionState, Phase
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.starts import EARLIEST, LATEST, LogEdge, PositionView
from zkconsumer.fetch.polled import collecting
from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.records.transactions import IsolationLevel

VERSIONS = (0, 1, 2, 3, 4, 5, 7, 8, 10, 11, 12, 13)
POLICIES = (EARLIEST, LATEST, None)
Fault = Callable[[pytest.MonkeyPatch], None]


def run_world(world: PollWorld, *, turns: int = 200) -> PollWorld:
    """Run a world for this many turns and let it settle; every step and the end are checked."""
    for _ in range(turns):
        world.turn()
    world.settle()
    world.check_end()
    return world


@settings(max_examples=examples(120), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(VERSIONS), st.sampled_from(POLICIES))
def test_every_record_comes_once_and_in_order(
    seed: int, version: int, policy: LogEdge | None
) -> None:
    """Moved leaders, lost responses, evicted sessions, damage, seeks and pauses do no harm."""
    run_world(PollWorld(seed, version=version, reset=policy))


@settings(max_examples=examples(80), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([4, 5, 7, 11, 12, 13]), st.sampled_from(POLICIES))
def test_committed_records_come_once_and_in_order(
    seed: int, version: int, policy: LogEdge | None
) -> None:
    """With read_committed, aborted records are left out, and no others."""
    committed = IsolationLevel.READ_COMMITTED
    run_world(PollWorld(seed, version=version, isolation=committed, reset=policy))


@settings(max_examples=examples(80), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([11, 12, 13]), st.sampled_from((EARLIEST, None)))
def test_a_truncated_log_is_read_as_it_is_in_the_end(
    seed: int, version: int, policy: LogEdge | None
) -> None:
    """After unclean elections the position goes back to where both logs agree."""
    run_world(PollWorld(seed, version=version, truncates=True, reset=policy))


@settings(max_examples=examples(80), deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([number for number in VERSIONS if number < 11]),
    st.sampled_from((EARLIEST, None)),
)
def test_a_log_whose_truncation_brokers_can_not_report_is_read_on(
    seed: int, version: int, policy: LogEdge | None
) -> None:
    """Before 2.4 each offset comes once and in order, with a record that was in the log.

    Records that replaced others which were read before are delivered only if the log got shorter
    than the position, and was fetched before it grew again. Epochs that brokers do not know so
    far, during a reassignment, keep no record from coming.
    """
    run_world(PollWorld(seed, version=version, truncates=True, reset=policy))


def _responses_from_before_a_seek_count(patch: pytest.MonkeyPatch) -> None:
    """Responses to requests from before a seek are used after it."""

    def arrived(self: PartitionStates, responses: Any, now_ms: int) -> None:
        for requested, response, unpacked in responses:
            state = self.states.get(requested.topic_partition)
            if state is not None and state.phase is Phase.FETCHING:
                self._arrivals(now_ms).fetched(state, requested, response, unpacked)
                self.touch(state)

    patch.setattr(PartitionStates, "arrived", arrived)
    patch.setattr(PartitionStates, "counts", lambda *_: True)


def _nothing_is_dropped_at_a_seek(patch: pytest.MonkeyPatch) -> None:
    """Records that wait from before the seek are delivered after it."""
    forget = PartitionState._forget

    def keep(self: PartitionState) -> None:
        waiting = list(self.waiting)
        forget(self)
        self.waiting.extend(waiting)

    patch.setattr(PartitionState, "_forget", keep)


def _truncation_goes_unnoticed(patch: pytest.MonkeyPatch) -> None:
    """Whatever the leader reports, its log counts as the one that was read."""

    def believe(_: Arrivals, state: PartitionState, end: PositionView) -> None:
        assert state.fetched is not None
        epoch = min(state.fetched.leader_epoch, end.leader_epoch)
        state.fetched = PositionView(state.fetched.offset, epoch)

    patch.setattr(Arrivals, "_judge", believe)


def _fetchers_sleep_on(patch: pytest.MonkeyPatch) -> None:
    """Fetchers are not woken when something becomes fetchable."""

    def changed(self: PartitionStates, state: PartitionState) -> None:
        self.touch(state)
        self.effects.resolve_positions |= state.is_asking

    patch.setattr(PartitionStates, "_changed", changed)


def _sessions_keep_old_offsets(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(incremental, "_terms", lambda requested: (0, requested.max_bytes, 0, 0))


def _markers_are_not_skipped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(collecting, "pass_over", lambda *_: None)


def _chunks_end_one_too_early(patch: pytest.MonkeyPatch) -> None:
    """The last record of each chunk is fetched again."""
    unpack = completed.unpack

    def shorter(*args: Any) -> Any:
        unpacked = unpack(*args)
        if unpacked.chunk is not None and unpacked.count > 1:
            end = unpacked.chunk.end
            unpacked.chunk.end = PositionView(end.offset - 1, end.leader_epoch)
        return unpacked

    patch.setattr(fetch_connection, "unpack", shorter)


def _aborted_transactions_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    unpack = completed.unpack

    def without(requested: Any, response: Any, *rest: Any) -> Any:
        return unpack(requested, altered(response, aborted_transactions=None), *rest)

    patch.setattr(fetch_connection, "unpack", without)


def _paused_partitions_are_delivered(patch: pytest.MonkeyPatch) -> None:
    def pause(self: PartitionStates, partitions: Any) -> None:
        for state in self._here(partitions):
            state.is_paused = True

    patch.setattr(PartitionStates, "pause", pause)


def _the_leader_is_not_proved(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PartitionState, "await_validation", lambda _: None)


def _records_are_dropped_with_the_error(patch: pytest.MonkeyPatch) -> None:
    """The valid records at the start of a damaged set are skipped."""
    unpack = completed.unpack

    def emptied(*args: Any) -> Any:
        unpacked = unpack(*args)
        if unpacked.corrupt is not None and unpacked.chunk is not None:
            unpacked.chunk.records.take(1)
        return unpacked

    patch.setattr(fetch_connection, "unpack", emptied)


def _topics_are_named_by_name(patch: pytest.MonkeyPatch) -> None:
    """The end of a topic that was created again is read before the metadata shows that."""
    patch.setattr(PartitionState, "topic_id", None)


def _sessions_keep_old_topics(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FetchSessionState, "_goes_on_with", lambda *_: True)


def _recreated_topics_are_read_on(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Arrivals, "recreated", lambda *_: None)


def _early_responses_count_at_any_offset(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PartitionState, "is_at", lambda *_: True)


def _early_requests_are_never_given_back(patch: pytest.MonkeyPatch) -> None:
    """The partitions of a request that could not be sent wait for its response for ever."""

    def unanswered(self: PartitionStates, requests: Any) -> None:
        for requested in requests:
            if self.counts(requested):
                self.states[requested.topic_partition].on_response()

    patch.setattr(PartitionStates, "unanswered", unanswered)


def _early_requests_need_no_capacity(patch: pytest.MonkeyPatch) -> None:
    """More of a partition is buffered than allowed while the caller does something else."""
    is_ready = planning._is_ready

    def greedy(states: Any, state: Any, front: Any, *, has_capacity: bool) -> bool:
        return front is not None or is_ready(states, state, front, has_capacity=has_capacity)

    patch.setattr(planning, "_is_ready", greedy)


_PLAIN = {"version": 12}
_BY_ID = {"version": 13}
_OLD = {"version": 1}
_CUT = {"version": 11, "truncates": True}
_COMMITTED = {"version": 5, "isolation": IsolationLevel.READ_COMMITTED}

FAULTS: tuple[tuple[Fault, dict[str, Any]], ...] = (
    (_responses_from_before_a_seek_count, _PLAIN),
    (_nothing_is_dropped_at_a_seek, _PLAIN),
    (_truncation_goes_unnoticed, _CUT),
    (_fetchers_sleep_on, _PLAIN),
    (_sessions_keep_old_offsets, _PLAIN),
    (_markers_are_not_skipped, _COMMITTED),
    (_chunks_end_one_too_early, _OLD),
    (_aborted_transactions_are_forgotten, _COMMITTED),
    (_paused_partitions_are_delivered, _PLAIN),
    (_the_leader_is_not_proved, _CUT),
    (_records_are_dropped_with_the_error, _OLD),
    (_topics_are_named_by_name, _BY_ID),
    (_sessions_keep_old_topics, _BY_ID),
    (_recreated_topics_are_read_on, _BY_ID),
    (_early_responses_count_at_any_offset, _PLAIN),
    (_early_requests_are_never_given_back, _PLAIN),
    (_early_requests_need_no_capacity, _PLAIN),
)
if ENGINE is not Engine.NATIVE:
    FAULTS = tuple(
        planted for planted in FAULTS if "_early_" not in planted[0].__name__
    )  # the pure engine sends no early requests


@pytest.mark.parametrize(
    ("fault", "world"), FAULTS, ids=lambda function: getattr(function, "__name__", "")
)
def test_planted_faults_are_found(
    fault: Fault, world: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some world fails if the engine has a fault."""
    fault(monkeypatch)
    for seed in range(150):
        try:
            run_world(PollWorld(seed, **world))
        except (AssertionError, KeyError, IndexError):
            return
    pytest.fail("150 worlds went well all the same")


@settings(max_examples=examples(80), deadline=None)
@given(st.integers(0, 2**32))
def test_a_topic_that_is_created_again_is_read_completely(seed: int) -> None:
    """Requests have its id, so that no position of the former log is used in the new one."""
    run_world(PollWorld(seed, version=13))
