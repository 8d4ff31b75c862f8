"""Tries that fail: pauses, counting, giving up, registrations that do not stay."""

from collections.abc import Callable

import pytest

from tests.support.rebalance_script import (
    ME,
    Script,
    attempts,
    joining,
    losing_one,
    mine,
    refuse_until_resting,
    tps,
)
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.states import RebalanceState

# --- failures ------------------------------------------------------------------------------------


def test_a_refused_claim_waits_for_the_owners_and_tries_again() -> None:
    """Nothing counts as claimed; the try comes again at the deadline, not before."""
    script = Script()
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    script.until(ev.Claim)
    await_owners, later = script.refused(0, 1)
    assert await_owners == ev.AwaitOwners(tps(0, 1))
    assert isinstance(later, ev.RetryLater)
    assert (later.attempt, later.delay_ms) == (1, 1_000)
    assert "t-0 by g_x-0" in later.reason
    assert script.core.claimed == {}
    assert (script.core.state, script.core.next_deadline_ms()) == (
        RebalanceState.BACKING_OFF,
        1_000,
    )
    script.now_ms = 999
    assert script.send(ev.DeadlineReached()) == []
    script.now_ms = 1_000
    assert [type(action) for action in script.send(ev.DeadlineReached())] == [ev.ReadGroup]
    script.run_on()
    assert script.core.started == mine(0, 1)


def test_a_refusal_by_many_names_a_few() -> None:
    """The reason stays a line."""
    script = Script()
    script.partition_count = 100
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    script.until(ev.Claim)
    _, later = script.refused(*range(100))
    assert isinstance(later, ev.RetryLater)
    assert later.reason.startswith("100 partitions have another owner: t-0 by g_x-0, ")
    assert later.reason.endswith(", ...")
    assert len(later.reason) < 200


def test_a_try_that_comes_early_is_not_counted() -> None:
    """An owner left, another was in the way: that must not use up the tries."""
    script = joining()
    refuse_until_resting(script)
    for _ in range(10):
        assert isinstance(
            script.send(ev.RebalanceTriggered(ev.RebalanceCause.OWNER_GONE))[0], ev.ReadGroup
        )
        refuse_until_resting(script)
    assert [action.attempt for action in script.message if isinstance(action, ev.RetryLater)] == [
        1
    ] * 11
    assert "ReportFailure" not in script.kinds()


def test_an_early_try_that_succeeds_leaves_no_trace() -> None:
    """The next failure is a first one, and counted."""
    script = joining()
    refuse_until_resting(script)
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.OWNER_GONE))
    script.until(ev.Start)
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    script.done(ev.Start)
    script.message.clear()
    script.failed(ev.ReadGroup)
    assert [action.attempt for action in script.message if isinstance(action, ev.RetryLater)] == [1]


def test_after_all_tries_the_caller_hears_it_once_and_tries_go_on() -> None:
    """With the reason of the last one; later ones come more slowly and are not told again."""
    script = joining()
    for number in range(4):
        refuse_until_resting(script)
        assert script.stands_in(RebalanceState.BACKING_OFF)
        if number < 3:
            script.tick()
    (give_up,) = script.tick()
    assert isinstance(give_up, ev.ReportFailure)
    assert give_up.attempts == 4
    assert "t-0 by g_x-0" in give_up.reason
    assert script.stands_in(RebalanceState.FAILED)
    assert script.core.next_deadline_ms() == script.now_ms + 4 * 1_000
    script.tick()
    for _ in range(20):
        refuse_until_resting(script)
        while script.step is None:
            script.tick()
    assert script.kinds().count("ReportFailure") == 1
    script.run_on()
    assert script.core.started == mine(0, 1)


def test_the_last_pause_is_waited_out_before_giving_up() -> None:
    """A crashed member's nodes go after its session: four tries must last four pauses."""
    script = joining()
    for _ in range(3):
        refuse_until_resting(script)
        script.tick()
    refuse_until_resting(script)
    assert "ReportFailure" not in script.kinds()
    assert isinstance(
        script.send(ev.RebalanceTriggered(ev.RebalanceCause.OWNER_GONE))[0], ev.ReadGroup
    )
    script.run_on()
    assert script.stands_in(RebalanceState.OWNING)
    assert script.now_ms == 3 * 1_000


def test_a_trigger_after_giving_up_starts_anew_with_all_tries() -> None:
    """And a second failure after a success is told again."""
    script = Script(max_retries=3)
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    for _ in range(3):
        refuse_until_resting(script)
        script.tick()
    assert script.stands_in(RebalanceState.FAILED)
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    refuse_until_resting(script)
    assert attempts(script)[-1] == 1
    script = Script(max_retries=1)
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    refuse_until_resting(script)
    script.tick()
    assert script.stands_in(RebalanceState.FAILED)
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    script.run_on()
    assert script.stands_in(RebalanceState.OWNING)
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    script.failed(ev.ReadGroup)
    script.tick()
    assert script.kinds().count("ReportFailure") == 2


def test_the_slow_tries_after_giving_up_begin_anew() -> None:
    """At the slower deadline, with all tries again."""
    script = Script(max_retries=3)
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    for _ in range(3):
        refuse_until_resting(script)
        script.tick()
    assert script.stands_in(RebalanceState.FAILED)
    script.tick()
    refuse_until_resting(script)
    assert attempts(script) == [1, 2, 3, 1]


def test_a_trigger_during_a_failed_round_tries_again_at_once() -> None:
    """What it failed on may be gone already."""
    script = joining()
    script.until(ev.Claim)
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    actions = script.refused(0)
    assert [type(action) for action in actions] == [ev.AwaitOwners, ev.RetryLater, ev.ReadGroup]
    assert script.core.next_deadline_ms() is None


def test_retries_are_spread_by_lengthening_the_pause() -> None:
    """Members that fail together do not retry together; never sooner than configured."""
    script = Script(random=lambda: 0.999)
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    script.failed(ev.Register)
    later = script.message[-1]
    assert isinstance(later, ev.RetryLater)
    assert 1_198 < later.delay_ms <= 1_200


def before_register(script: Script) -> None:
    """Fail at the registration."""
    script.failed(ev.Register, "no answer")


def before_read(script: Script) -> None:
    """Fail at the reading."""
    script.until(ev.ReadGroup)
    script.failed(ev.ReadGroup, "no answer")


def before_claim(script: Script) -> None:
    """Fail at the claim."""
    script.until(ev.Claim)
    script.failed(ev.Claim, "no answer")


def before_load(script: Script) -> None:
    """Fail at loading offsets."""
    script.until(ev.LoadOffsets)
    script.failed(ev.LoadOffsets, "no answer")


def before_start(script: Script) -> None:
    """Fail at the start."""
    script.until(ev.Start)
    script.failed(ev.Start, "no answer")


@pytest.mark.parametrize(
    "fail", [before_register, before_read, before_claim, before_load, before_start]
)
def test_a_step_that_fails_backs_off_and_the_next_try_completes(
    fail: Callable[[Script], None],
) -> None:
    """Whichever it is; the try after it ends with every partition started."""
    script = joining()
    fail(script)
    assert isinstance(script.message[-1], ev.RetryLater)
    assert "no answer" in script.message[-1].reason
    assert script.stands_in(RebalanceState.BACKING_OFF)
    script.tick()
    script.run_on()
    assert script.stands_in(RebalanceState.OWNING)
    assert (script.core.claimed, script.core.started) == (mine(0, 1), mine(0, 1))


def test_a_failed_release_is_tried_again() -> None:
    """The partition is stopped already; its node is still ours and still to go."""
    script = losing_one()
    script.until(ev.Release)
    script.failed(ev.Release)
    assert (script.core.started, script.core.claimed) == (mine(1), mine(0, 1))
    script.tick()
    script.read()
    assert script.open(ev.Release).owned == mine(0)
    script.run_on()
    assert script.core.claimed == mine(1)


def test_a_failed_commit_does_not_keep_the_partition() -> None:
    """The next owner reads again what was not committed; holding on would stall the group."""
    script = losing_one()
    script.until(ev.Commit)
    script.failed(ev.Commit)
    assert script.open(ev.Release).owned == mine(0)


def test_a_claim_of_unknown_outcome_is_looked_after() -> None:
    """Nodes may be there: the next reading checks them, and what is not ours by then goes."""
    script = joining()
    script.until(ev.Claim)
    script.failed(ev.Claim)
    script.members = ("g_a", ME)
    script.tick()
    assert script.open(ev.ReadGroup).check == tps(0, 1)
    script.read(held=tps(0, 1))
    assert script.open(ev.Release).owned == mine(0)
    script.done(ev.Release)
    assert script.open(ev.Claim).wanted == mine(1)


def test_a_claim_that_did_not_happen_is_forgotten() -> None:
    """None of its nodes is there: nothing to release."""
    script = joining()
    script.until(ev.Claim)
    script.failed(ev.Claim)
    script.members = ("g_a", "g_aa", ME)
    script.tick()
    script.read(held=())
    script.run_on()
    assert script.stands_in(RebalanceState.OWNING)
    assert script.core.claimed == {}
    assert "Release" not in script.kinds()


def test_a_group_that_cannot_be_assigned_backs_off_with_the_reason() -> None:
    """Our registration is there, but not in the view: nothing is claimed."""
    script = joining()
    script.members = ("g_a",)
    script.until(ev.ReadGroup)
    later = script.read()[-1]
    assert isinstance(later, ev.RetryLater)
    assert ME in later.reason


# --- the registration ----------------------------------------------------------------------------


def test_a_blocked_registration_waits_for_the_node_to_go() -> None:
    """It watches that node, and tries again at the deadline or when it is gone."""
    script = joining()
    actions = script.blocked()
    assert actions == [ev.AwaitRegistration(), ev.RetryLater(1, 1_000, "in the way")]
    assert isinstance(
        script.send(ev.RebalanceTriggered(ev.RebalanceCause.REGISTRATION_GONE))[0], ev.Register
    )
    script.run_on()
    assert script.stands_in(RebalanceState.OWNING)


def test_a_registration_in_the_way_is_waited_for_as_long_as_its_session_may_live() -> None:
    """Restarted with a fixed consumer id after a crash: the tries are not used up meanwhile."""
    script = Script(max_retries=2, session_timeout_ms=30_000)
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    while script.now_ms < 60_000:
        script.blocked()
        assert script.core.state is RebalanceState.BACKING_OFF
        script.tick()
    for _ in range(2):
        script.blocked()
        script.tick()
    assert any(isinstance(action, ev.ReportFailure) for action in script.message)


def test_a_blocked_registration_is_tried_again_not_taken_for_ours() -> None:
    """The node that stands there bears our name, but it is another session's."""
    script = joining()
    script.blocked()
    assert isinstance(script.tick()[0], ev.Register)
    script.blocked()
    assert isinstance(script.tick()[0], ev.Register)
    assert "Claim" not in script.kinds()


def test_a_registration_that_was_deleted_is_made_again() -> None:
    """An operator's hand; what is claimed goes on being read meanwhile."""
    script = Script().joined()
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    script.read(registered=False)
    script.done(ev.Register)
    assert script.open(ev.ReadGroup).check == tps(0, 1)
    script.run_on()
    assert script.kinds() == ["ReadGroup", "Register", "ReadGroup", "Settled"]


def test_a_registration_that_never_stays_ends_the_try() -> None:
    """Not a loop without end: it backs off, and after all tries the caller hears it."""
    script = joining()
    for _ in range(4):
        script.done(ev.Register)
        later = script.read(registered=False)[-1]
        assert isinstance(later, ev.RetryLater)
        assert "registration" in later.reason
        script.tick()
    assert script.kinds()[-1] == "ReportFailure"
