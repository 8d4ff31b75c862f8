"""Sessions that end in the middle of anything, and leaving."""

import pytest

from tests.support.rebalance_script import (
    Script,
    joining,
    losing_one,
    mine,
    refuse_until_resting,
    tps,
)
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.states import RebalanceState

# --- sessions ------------------------------------------------------------------------------------


def stations() -> list[type[ev.Step]]:
    """Every step of a round that changes something both ways."""
    return [
        ev.ReadGroup,
        ev.Revoke,
        ev.Commit,
        ev.Release,
        ev.Claim,
        ev.LoadOffsets,
        ev.Start,
    ]


def at_station(station: type[ev.Step]) -> Script:
    """A member of session 1 in the middle of a round that changes something both ways."""
    script = losing_one()
    script.partition_count = 4
    return script.until(station)


@pytest.mark.parametrize("station", stations())
def test_the_end_of_the_session_voids_everything_at_once(station: type[ev.Step]) -> None:
    """From whatever state: fence, nothing claimed, nothing started, no deadline."""
    script = at_station(station)
    actions = script.send(ev.SessionEnded(1))
    assert [type(action) for action in actions] == [ev.Fence]
    assert script.stands_in(RebalanceState.OUTSIDE)
    assert (script.core.claimed, script.core.started) == ({}, {})
    assert script.core.next_deadline_ms() is None


@pytest.mark.parametrize("station", stations())
def test_an_answer_from_before_the_end_of_the_session_changes_nothing(
    station: type[ev.Step],
) -> None:
    """Success or failure, then or in the new session: it answers a question nobody asks."""
    script = at_station(station)
    assert script.step is not None
    stale = script.step.round
    script.send(ev.SessionEnded(1))
    assert script.send(ev.StepDone(stale)) == []
    assert script.send(ev.StepFailed(stale, "late")) == []
    register = script.send(ev.SessionStarted(2))[0]
    assert isinstance(register, ev.Register)
    assert script.send(ev.StepDone(stale)) == []
    assert script.stands_in(RebalanceState.REGISTERING)
    script.run_on()
    assert script.core.started == mine(2, 3)


def test_a_new_session_registers_and_claims_anew() -> None:
    """Without a word of the old one's end, too."""
    script = Script().joined()
    fence, register = script.send(ev.SessionStarted(2))
    assert isinstance(fence, ev.Fence)
    assert isinstance(register, ev.Register)
    script.run_on()
    assert script.kinds()[2:] == ["ReadGroup", "Claim", "LoadOffsets", "Start", "Settled"]
    settled = script.message[-1]
    assert isinstance(settled, ev.Settled)
    assert settled.cause is ev.RebalanceCause.NEW_SESSION


def test_late_news_of_the_end_of_an_earlier_session_changes_nothing() -> None:
    """What the new session owns stays."""
    script = Script().joined()
    script.send(ev.SessionStarted(2))
    script.run_on()
    assert script.send(ev.SessionEnded(1)) == []
    assert script.core.started == mine(0, 1)


def test_the_end_of_the_session_ends_a_pause() -> None:
    """The deadline goes with it; the new session begins with all tries."""
    script = joining()
    refuse_until_resting(script)
    script.send(ev.SessionEnded(1))
    assert script.core.next_deadline_ms() is None
    assert script.send(ev.DeadlineReached()) == []
    script.send(ev.SessionStarted(2))
    refuse_until_resting(script)
    later = script.message[-1]
    assert isinstance(later, ev.RetryLater)
    assert later.attempt == 1


def test_a_session_that_ends_before_joining_is_no_news() -> None:
    """Joining waits for the next one."""
    script = Script()
    script.send(ev.SessionStarted(1))
    script.send(ev.SessionEnded(1))
    assert script.send(ev.Join()) == []
    assert isinstance(script.send(ev.SessionStarted(2))[0], ev.Register)


def test_a_registration_is_asked_for_in_the_session_that_is_known() -> None:
    """The client may be in a newer one already; its news must come here first."""
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
    """In the order that loses nothing; then the member is outside."""
    script = Script().joined()
    revoke, commit, release, unregister = script.core.receive(ev.Withdraw(), 0)
    assert isinstance(revoke, ev.Revoke)
    assert isinstance(commit, ev.Commit)
    assert isinstance(release, ev.Release)
    assert (revoke.partitions, commit.partitions) == (tps(0, 1), tps(0, 1))
    assert release.owned == mine(0, 1)
    assert unregister == ev.Unregister()
    assert script.stands_in(RebalanceState.OUTSIDE)


@pytest.mark.parametrize("station", stations())
def test_leaving_in_the_middle_of_a_round_releases_what_is_claimed(station: type[ev.Step]) -> None:
    """Also what is not started yet; the open step's answer is nobody's any more."""
    script = at_station(station)
    assert script.step is not None
    stale = script.step.round
    claimed = dict(script.core.claimed)
    actions = script.core.receive(ev.Withdraw(), 0)
    (release,) = [action for action in actions if isinstance(action, ev.Release)]
    assert release.owned == claimed
    assert script.send(ev.StepDone(stale)) == []
    assert script.stands_in(RebalanceState.OUTSIDE)


def test_leaving_from_outside_is_nothing() -> None:
    """Never joined, left before, or without a session."""
    script = Script()
    assert script.send(ev.Withdraw()) == []
    script.joined()
    script.core.receive(ev.Withdraw(), 0)
    assert script.core.receive(ev.Withdraw(), 0) == ()
    script = Script().joined()
    script.send(ev.SessionEnded(1))
    assert script.send(ev.Withdraw()) == []
    assert script.send(ev.SessionStarted(2)) == []


def test_leaving_while_waiting_for_another_try_unregisters() -> None:
    """A member that failed must not stay registered."""
    script = joining()
    refuse_until_resting(script)
    actions = script.core.receive(ev.Withdraw(), 0)
    assert ev.Unregister() in actions
    assert script.core.next_deadline_ms() is None


def test_a_member_that_left_may_join_again() -> None:
    """With all its tries."""
    script = Script().joined()
    script.core.receive(ev.Withdraw(), 0)
    assert isinstance(script.send(ev.Join())[0], ev.Register)
    script.run_on()
    assert script.core.started == mine(0, 1)
