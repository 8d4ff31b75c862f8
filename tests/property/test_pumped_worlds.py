"""Polls whose partitions are delegated to a pump while they are far behind, in random worlds.

Whatever happens while the pump runs, and however it returns, every record comes once and in order.
"""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.test_poll_worlds import POLICIES, VERSIONS, Fault, run_world
from tests.support.model_pump import ModelQueue
from tests.support.poll_world import PollWorld
from tests.support.shares import examples
from zkconsumer.fetch.core import broker_delegation, pumped_connection
from zkconsumer.fetch.core.broker_delegation import BrokerDelegation, HandedBack
from zkconsumer.fetch.core.delegated import DelegatedFetch, Returned
from zkconsumer.fetch.core.partition_state import PartitionState
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.starts import EARLIEST, LogEdge
from zkconsumer.fetch.polled import collecting
from zkconsumer.records.decode import DecodedSet
from zkconsumer.records.transactions import IsolationLevel


@settings(max_examples=examples(120), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(VERSIONS), st.sampled_from(POLICIES))
def test_every_record_comes_once_and_in_order(
    seed: int, version: int, policy: LogEdge | None
) -> None:
    """Seeks, pauses, new leaders, signals and failures in the middle of a run do no harm."""
    run_world(PollWorld(seed, version=version, reset=policy, pumps=True))


@settings(max_examples=examples(80), deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([3, 8, 10, 11, 12, 13]),
    st.sampled_from((EARLIEST, None)),
)
def test_a_truncated_log_is_read_as_it_is_in_the_end(
    seed: int, version: int, policy: LogEdge | None
) -> None:
    """The pump's requests name the leader's epoch, so that no unproved leader serves them."""
    run_world(PollWorld(seed, version=version, truncates=True, reset=policy, pumps=True))


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([5, 11, 13]), st.sampled_from(POLICIES))
def test_committed_records_are_never_delegated(
    seed: int, version: int, policy: LogEdge | None
) -> None:
    """The pump does not know aborted transactions."""
    committed = IsolationLevel.READ_COMMITTED
    world = PollWorld(seed, version=version, isolation=committed, reset=policy, pumps=True)
    assert run_world(world).delegations == 0


def test_worlds_delegate_often() -> None:
    """Runs have requests, chunks, hedged requests and interrupts: else nothing here is tested."""
    worlds = [run_world(PollWorld(seed, version=12, pumps=True)) for seed in range(40)]
    assert sum(world.delegations > 0 for world in worlds) >= 30
    assert sum(world.pumped_responses for world in worlds) >= 300
    assert sum(world.pumped_chunks for world in worlds) >= 300
    assert sum(world.interrupts for world in worlds) >= 5
    assert sum(world.second_responses for world in worlds) >= 3


def _chunks_of_inactive_claims_are_delivered(patch: pytest.MonkeyPatch) -> None:
    """What was queued before a partition was given up is taken back after that."""
    take_back = broker_delegation.take_back

    def take_all(
        states: PartitionStates, delegated: BrokerDelegation, returned: Iterable[Returned]
    ) -> HandedBack:
        for state, fetch in zip(delegated.states, delegated.fetches, strict=True):
            if states.states.get(fetch.topic_partition) is state and state.may_fetch:
                state.delegated = fetch
        return take_back(states, delegated, returned)

    patch.setattr(ModelQueue, "counts", lambda *_: True)
    patch.setattr(pumped_connection, "take_back", take_all)


def _queued_chunks_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Taking back continues after the queue, but does not take what it holds."""
    restore = broker_delegation._restore

    def forget(
        states: PartitionStates, state: PartitionState, fetch: DelegatedFetch, back: Returned
    ) -> None:
        fetch.queue = ModelQueue(1, lambda: None)
        restore(states, state, fetch, back)

    patch.setattr(broker_delegation, "_restore", forget)


def _a_seek_does_not_end_it(patch: pytest.MonkeyPatch) -> None:
    forget = PartitionState._forget

    def keep(self: PartitionState) -> None:
        delegated, requested = self.delegated, self.requested
        forget(self)
        if delegated is not None:
            delegated.claim.active = True
            self.delegated, self.requested = delegated, requested

    patch.setattr(PartitionState, "_forget", keep)


def _a_new_epoch_does_not_end_it(patch: pytest.MonkeyPatch) -> None:
    """What the former leader returned is not compared with the new leader's log."""
    await_validation = PartitionState.await_validation

    def go_on(self: PartitionState) -> None:
        if self.delegated is None:
            await_validation(self)

    patch.setattr(PartitionState, "await_validation", go_on)


def _an_interrupted_receive_loses_its_chunk(patch: pytest.MonkeyPatch) -> None:
    def receive(states: PartitionStates, _: object) -> None:
        for tp, state in states.delegated.items():
            if not state.is_paused and state.delegated is not None:
                collecting._refill(states, state)
                if state.waiting:
                    states.line.setdefault(tp, state)

    patch.setattr(collecting, "_receive", receive)


def _second_responses_count_wherever_partitions_are(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(broker_delegation, "_is_at", lambda state, _: state.requested is None)


def _packed_sets_are_dropped(patch: pytest.MonkeyPatch) -> None:
    """A partition with a set that is not queued yet waits for ever."""

    def take(*_: object) -> None:
        pass

    patch.setattr("zkconsumer.fetch.core.fetch_connection.FetchConnection.take_handed_back", take)


def _the_first_chunk_is_not_reported(patch: pytest.MonkeyPatch) -> None:
    """A caller that waited before the delegation sleeps on."""

    def delegate(states: PartitionStates, *args: Any, **options: Any) -> BrokerDelegation | None:
        made = whole(states, *args, **options)
        for fetch in () if made is None else made.fetches:
            assert isinstance(fetch.queue, ModelQueue)
            fetch.queue._is_awaited = False
        return made

    whole = broker_delegation.delegate
    patch.setattr(pumped_connection, "delegate", delegate)


def _chunks_are_not_awaited(patch: pytest.MonkeyPatch) -> None:
    """A caller that found nothing sleeps on when a chunk comes."""
    patch.setattr(collecting, "_has_come", lambda *_: False)


def _chunks_end_with_the_epoch_of_their_last_record(patch: pytest.MonkeyPatch) -> None:
    """After a marker of a newer epoch, the position seems to be truncated by any election."""

    def epoch(decoded: DecodedSet) -> int:
        return decoded.leader_epoch(len(decoded.records) - 1)

    patch.setattr("tests.support.model_pump.epoch_after", epoch)


_PLAIN = {"version": 12}
_CUT = {"version": 11, "truncates": True}
_CUT_12 = {"version": 12, "truncates": True}
_NO_POLICY = {"version": 12, "reset": None}

FAULTS: tuple[tuple[Fault, dict[str, Any]], ...] = (
    (_chunks_of_inactive_claims_are_delivered, _PLAIN),
    (_queued_chunks_are_forgotten, _PLAIN),
    (_a_seek_does_not_end_it, _PLAIN),
    (_a_new_epoch_does_not_end_it, _CUT),
    (_an_interrupted_receive_loses_its_chunk, _PLAIN),
    (_second_responses_count_wherever_partitions_are, _CUT_12),
    (_packed_sets_are_dropped, _PLAIN),
    (_the_first_chunk_is_not_reported, _PLAIN),
    (_chunks_are_not_awaited, _PLAIN),
    (_chunks_end_with_the_epoch_of_their_last_record, _NO_POLICY),
)


@pytest.mark.parametrize(
    ("fault", "world"), FAULTS, ids=lambda function: getattr(function, "__name__", "")
)
def test_planted_faults_are_found(
    fault: Fault, world: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some world fails if delegating has a fault."""
    fault(monkeypatch)
    for seed in range(300):
        try:
            run_world(PollWorld(seed, **world, pumps=True))
        except (AssertionError, KeyError, IndexError):
            return
    pytest.fail("300 worlds went well all the same")
