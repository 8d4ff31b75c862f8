"""Groups of rebalance cores in random worlds are always safe and settle; planted faults fail."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.rebalance_faults import (
    ForgetsUnknownClaims,
    ReleasesFirst,
    TakesAnySessionsEnd,
    TrustsItsMemory,
)
from tests.support.rebalance_script import Script
from tests.support.rebalance_world import NewCore, run_world
from tests.support.shares import examples
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.rebalance import RebalanceCore
from zkconsumer.membership.zookeeper.core.states import RESTING, RebalanceState

Actions = tuple[ev.Action, ...]


@settings(max_examples=examples(400), deadline=None)
@given(st.integers(0, 2**32))
def test_every_world_is_safe_and_settles(seed: int) -> None:
    """No member reads what it does not own; in the end the assignor's owners own all."""
    run_world(seed)


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32))
def test_long_worlds_leave_nothing_behind(seed: int) -> None:
    """After many accidents the nodes are exactly those of the current members."""
    run_world(seed, moves=600)


# --- faults that the simulation must find --------------------------------------------------------


class ForgetsTriggers(RebalanceCore):
    """A core that drops a trigger during a round."""

    def _trigger(self, cause: ev.RebalanceCause) -> Actions:
        return super()._trigger(cause) if self.state in RESTING else ()


class TakesStaleResponses(RebalanceCore):
    """A core that takes any result for that of the current step."""

    def receive(self, event: ev.Event, now_ms: int) -> Actions:
        if isinstance(event, ev.StepDone | ev.StepFailed) and self.state not in {
            *RESTING,
            RebalanceState.OUTSIDE,
            RebalanceState.READING,
            RebalanceState.LOADING,
        }:
            event = type(event)(self._round, *_rest(event))
        return super().receive(event, now_ms)


def _rest(event: ev.StepDone | ev.StepFailed) -> tuple[str, ...]:
    return (event.reason,) if isinstance(event, ev.StepFailed) else ()


class KeepsWhatTheSessionOwned(RebalanceCore):
    """A core that keeps its claims beyond the end of their session."""

    def _outside(self) -> None:
        claimed, started = dict(self.claimed), dict(self.started)
        super()._outside()
        self.claimed, self.started = claimed, started


class BelievesAnyRegistration(RebalanceCore):
    """A core that takes any node of its name for its own registration."""

    def _begin(self, cause: ev.RebalanceCause) -> Actions:
        self._registered = True
        return super()._begin(cause)


class RegistersInAnySession(RebalanceCore):
    """A core that registers in any session."""

    def _register(self) -> Actions:
        (step,) = super()._register()
        assert isinstance(step, ev.Register)
        return (AnySession(step.round, step.session_id),)


class AnySession(ev.Register):
    """A registration whose session id equals any other."""

    def __getattribute__(self, name: str) -> object:
        return _Equal() if name == "session_id" else super().__getattribute__(name)


class _Equal:
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False


FAULTS: Sequence[NewCore] = [
    ForgetsTriggers,
    TakesAnySessionsEnd,
    TakesStaleResponses,
    ForgetsUnknownClaims,
    KeepsWhatTheSessionOwned,
    BelievesAnyRegistration,
    RegistersInAnySession,
    ReleasesFirst,
    TrustsItsMemory,
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: NewCore) -> None:
    """A simulation that passes with a fault in the core would prove nothing."""
    with pytest.raises((AssertionError, KeyError)):  # noqa: PT012 - which world shows it is open
        for seed in range(1_000):
            run_world(seed, fault)


# --- one core and any sequence of events ---------------------------------------------------------

events = st.one_of(
    st.builds(ev.RebalanceTriggered, st.sampled_from(ev.RebalanceCause)),
    st.builds(ev.SessionStarted, st.integers(1, 3)),
    st.builds(ev.SessionEnded, st.integers(1, 3)),
    st.builds(ev.StepDone, st.integers(-1, 3)),
    st.builds(ev.StepFailed, st.integers(-1, 3), st.just("stale")),
    st.builds(ev.OffsetsLoaded, st.integers(-1, 3), st.just({})),
    st.builds(ev.ClaimRefused, st.integers(-1, 3), st.just({})),
    st.sampled_from([ev.Join(), ev.Withdraw(), ev.DeadlineReached()]),
)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(events, max_size=30), st.randoms(use_true_random=False))
def test_a_core_handles_any_sequence_of_events(sequence: list[ev.Event], rng: Random) -> None:
    """Results of other rounds change nothing, a step is always last, and every round ends."""
    script = Script()
    for event in sequence:
        if isinstance(event, ev.StepResult):
            before = repr(script.core)
            if event.round != script.core._round:
                assert script.send(event) == []
                assert repr(script.core) == before
            continue
        script.now_ms += rng.randrange(1_500)
        script.partition_count = rng.randrange(5)
        script.send(event)
        if script.is_in_state(RebalanceState.OUTSIDE):
            script.step = None
        elif rng.random() < 0.5:
            script.actions.clear()
            script.run_to_end()
            assert len(script.actions) <= 20
            assert script.is_in_state(RebalanceState.OWNING)
