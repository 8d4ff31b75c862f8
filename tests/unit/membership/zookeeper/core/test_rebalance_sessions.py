"""Sessions that end in the middle of a round, and leaving."""

import pytest

from tests.support.rebalance_script import (
    Script,
    joining,
    mine,
    refuse_until_resting,
    script_that_loses_a_partition,
    tps,
)
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.states import RebalanceState

# --- sessions ------------------------------------------------------------------------------------


def steps() -> list[type[ev.Step]]:
    """Return every step of a round that both releases and claims partitions."""
    return [
        ev.ReadGroup,
        ev.Revoke,
        ev.Commit,
        ev.Release,
        ev.Claim,
        ev.LoadOffsets,
        ev.Start,
    ]


def at_step(step: type[ev.Step]) -> Script:
    """Return a member of session 1 at that step of a round."""
    script = script_that_loses_a_partition()
    script.partition_count = 4
    return script.until(step)


@pytest.mark.parametrize("step", steps())
def test_the_end_of_the_session_voids_everything_at_once(step: type[ev.Step]) -> None:
    """Whatever the step: delivery is fenced, nothing is claimed or started, no deadline remains."""
    script = at_step(step)
    actions = script.send(ev.SessionEnded(1))
    assert [type(action) for action in actions] == [ev.Fence]
    assert script.is_in_state(RebalanceState.OUTSIDE)
    assert (script.core.claimed, script.core.started) == ({}, {})
    assert script.core.next_deadline_ms() is None


@pytest.mark.parametrize("step", steps())
def test_a_response_of_an_ended_session_is_ignored(
    step: type[ev.Step],
) -> None:
    """It is ignored before and after the new session starts, be it a success or a failure."""
    script = at_step(step)
    assert script.step is not None
    stale = script.step.round
    script.send(ev.SessionEnded(1))
    assert script.send(ev.StepDone(stale)) == []
    assert script.send(ev.StepFailed(stale, "late")) == []
    register = script.send(ev.SessionStarted(2))[0]
    assert isinstance(register, ev.Register)
    assert script.send(ev.StepDone(stale)) == []
    assert script.is_in_state(RebalanceState.REGISTERING)
    script.run_to_end()
    assert script.core.started == mine(2, 3)


def test_a_new_session_registers_and_claims_again() -> None:
    """A new session implies the end of the old one, even if that was not reported."""
    script = Script().joined()
    fence, register = script.send(ev.SessionStarted(2))
    assert isinstance(fence, ev.Fence)
    assert isinstance(register, ev.Register)
    script.run_to_end()
    assert script.kinds()[2:] == ["ReadGroup", "Claim", "LoadOffsets", "Start", "Settled"]
    settled = script.actions[-1]
    assert isinstance(settled, ev.Settled)
    assert settled.cause is ev.RebalanceCause.NEW_SESSION


def test_a_late_end_of_an_earlier_session_is_ignored() -> None:
    """The new session keeps its partitions."""
    script = Script().joined()
    script.send(ev.SessionStarted(2))
    script.run_to_end()
    assert script.send(ev.SessionEnded(1)) == []
    assert script.core.started == mine(0, 1)


def test_the_end_of_the_session_ends_a_pause() -> None:
    """The deadline is removed; the new session begins with all attempts."""
    script = joining()
    refuse_until_resting(script)
    script.send(ev.SessionEnded(1))
    assert script.core.next_deadline_ms() is None
    assert script.send(ev.DeadlineReached()) == []
    script.send(ev.SessionStarted(2))
    refuse_until_resting(script)
    later = script.actions[-1]
    assert isinstance(later, ev.RetryLater)
    assert later.attempt == 1


def test_a_session_that_ends_before_joining_is_ignored() -> None:
    """The member registers in the next session."""
    script = Script()
    script.send(ev.SessionStarted(1))
    script.send(ev.SessionEnded(1))
    assert script.send(ev.Join()) == []
    assert isinstance(script.send(ev.SessionStarted(2))[0], ev.Register)


def test_a_registration_names_the_known_session() -> None:
    """The client may be in a newer session already; its event must arrive first."""
    script = Script()
    script.send(ev.SessionStarted(7))
    (register,) = script.send(ev.Join())
    assert isinstance(register, ev.Register)
    assert register.session_id == 7
    fence, register = script.send(ev.SessionStarted(8))
    assert isinstance(fence, ev.Fence)
    assert isinstance(register, ev.Register)
    assert register.session_id == 8


# --- leaving -------------------------------------------------------------------------------------


def test_leaving_stops_commits_releases_and_unregisters() -> None:
    """In this order nothing is lost; then the member is outside of the group."""
    script = Script().joined()
    revoke, commit, release, unregister = script.core.receive(ev.Withdraw(), 0)
    assert isinstance(revoke, ev.Revoke)
    assert isinstance(commit, ev.Commit)
    assert isinstance(release, ev.Release)
    assert (revoke.partitions, commit.partitions) == (tps(0, 1), tps(0, 1))
    assert release.owned == mine(0, 1)
    assert unregister == ev.Unregister()
    assert script.is_in_state(RebalanceState.OUTSIDE)


@pytest.mark.parametrize("step", steps())
def test_leaving_in_the_middle_of_a_round_releases_what_is_claimed(step: type[ev.Step]) -> None:
    """This includes claims that were not started; the response to the open step is ignored."""
    script = at_step(step)
    assert script.step is not None
    stale = script.step.round
    claimed = dict(script.core.claimed)
    actions = script.core.receive(ev.Withdraw(), 0)
    (release,) = [action for action in actions if isinstance(action, ev.Release)]
    assert release.owned == claimed
    assert script.send(ev.StepDone(stale)) == []
    assert script.is_in_state(RebalanceState.OUTSIDE)


def test_leaving_twice_or_without_a_session_does_nothing() -> None:
    """It never joined, left earlier, or has no session."""
    script = Script()
    assert script.send(ev.Withdraw()) == []
    script.joined()
    script.core.receive(ev.Withdraw(), 0)
    assert script.core.receive(ev.Withdraw(), 0) == ()
    script = Script().joined()
    script.send(ev.SessionEnded(1))
    assert script.send(ev.Withdraw()) == []
    assert script.send(ev.SessionStarted(2)) == []


def test_leaving_while_backing_off_unregisters() -> None:
    """A member whose rebalance failed must not stay registered."""
    script = joining()
    refuse_until_resting(script)
    actions = script.core.receive(ev.Withdraw(), 0)
    assert ev.Unregister() in actions
    assert script.core.next_deadline_ms() is None


def test_a_member_that_left_may_join_again() -> None:
    """It has all its attempts again."""
    script = Script().joined()
    script.core.receive(ev.Withdraw(), 0)
    assert isinstance(script.send(ev.Join())[0], ev.Register)
    script.run_to_end()
    assert script.core.started == mine(0, 1)
