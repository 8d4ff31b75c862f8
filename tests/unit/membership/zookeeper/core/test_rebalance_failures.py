"""Attempts that fail: pauses, counts, giving up, and registrations that do not last."""

from collections.abc import Callable

import pytest

from tests.support.rebalance_script import (
    ME,
    Script,
    attempts,
    joining,
    mine,
    refuse_until_resting,
    script_that_loses_a_partition,
    tps,
)
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.states import RebalanceState

# --- failures ------------------------------------------------------------------------------------


def test_a_refused_claim_waits_for_the_owners_and_is_tried_again() -> None:
    """Nothing counts as claimed; the next attempt is due at the deadline, and not before."""
    script = Script()
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    script.until(ev.Claim)
    await_owners, retry = script.refused(0, 1)
    assert await_owners == ev.AwaitOwners(tps(0, 1))
    assert isinstance(retry, ev.RetryLater)
    assert (retry.attempt, retry.delay_ms) == (1, 1_000)
    assert "t-0 by g_x-0" in retry.reason
    assert script.core.claimed == {}
    assert (script.core.state, script.core.next_deadline_ms()) == (
        RebalanceState.BACKING_OFF,
        1_000,
    )
    script.now_ms = 999
    assert script.send(ev.DeadlineReached()) == []
    script.now_ms = 1_000
    assert [type(action) for action in script.send(ev.DeadlineReached())] == [ev.ReadGroup]
    script.run_to_end()
    assert script.core.started == mine(0, 1)


def test_the_reason_of_a_refused_claim_names_a_few_owners() -> None:
    """The reason stays short."""
    script = Script()
    script.partition_count = 100
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    script.until(ev.Claim)
    _, retry = script.refused(*range(100))
    assert isinstance(retry, ev.RetryLater)
    assert retry.reason.startswith("100 partitions have another owner: t-0 by g_x-0, ")
    assert retry.reason.endswith(", ...")
    assert len(retry.reason) < 200


def test_an_attempt_before_its_deadline_is_not_counted() -> None:
    """An owner left, but another one still held on: that must not use up the attempts."""
    script = joining()
    refuse_until_resting(script)
    for _ in range(10):
        assert isinstance(
            script.send(ev.RebalanceTriggered(ev.RebalanceCause.OWNER_GONE))[0], ev.ReadGroup
        )
        refuse_until_resting(script)
    assert [action.attempt for action in script.actions if isinstance(action, ev.RetryLater)] == [
        1
    ] * 11
    assert "ReportFailure" not in script.kinds()


def test_an_early_attempt_that_succeeds_resets_the_count() -> None:
    """The next failure is the first one again, and counted."""
    script = joining()
    refuse_until_resting(script)
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.OWNER_GONE))
    script.until(ev.Start)
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    script.done(ev.Start)
    script.actions.clear()
    script.failed(ev.ReadGroup)
    assert [action.attempt for action in script.actions if isinstance(action, ev.RetryLater)] == [1]


def test_after_all_attempts_the_failure_is_reported_once_and_attempts_go_on() -> None:
    """It has the last attempt's reason; later attempts are slower and not reported again."""
    script = joining()
    for number in range(4):
        refuse_until_resting(script)
        assert script.is_in_state(RebalanceState.BACKING_OFF)
        if number < 3:
            script.tick()
    (report,) = script.tick()
    assert isinstance(report, ev.ReportFailure)
    assert report.attempts == 4
    assert "t-0 by g_x-0" in report.reason
    assert script.is_in_state(RebalanceState.FAILED)
    assert script.core.next_deadline_ms() == script.now_ms + 4 * 1_000
    script.tick()
    for _ in range(20):
        refuse_until_resting(script)
        while script.step is None:
            script.tick()
    assert script.kinds().count("ReportFailure") == 1
    script.run_to_end()
    assert script.core.started == mine(0, 1)


def test_the_last_pause_is_waited_out_before_giving_up() -> None:
    """A crashed member's nodes last as long as its session: four attempts must span four pauses."""
    script = joining()
    for _ in range(3):
        refuse_until_resting(script)
        script.tick()
    refuse_until_resting(script)
    assert "ReportFailure" not in script.kinds()
    assert isinstance(
        script.send(ev.RebalanceTriggered(ev.RebalanceCause.OWNER_GONE))[0], ev.ReadGroup
    )
    script.run_to_end()
    assert script.is_in_state(RebalanceState.OWNING)
    assert script.now_ms == 3 * 1_000


def test_a_trigger_after_giving_up_restores_all_attempts() -> None:
    """A second failure, after a success, is reported again."""
    script = Script(max_retries=3)
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    for _ in range(3):
        refuse_until_resting(script)
        script.tick()
    assert script.is_in_state(RebalanceState.FAILED)
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    refuse_until_resting(script)
    assert attempts(script)[-1] == 1
    script = Script(max_retries=1)
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    refuse_until_resting(script)
    script.tick()
    assert script.is_in_state(RebalanceState.FAILED)
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    script.run_to_end()
    assert script.is_in_state(RebalanceState.OWNING)
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    script.failed(ev.ReadGroup)
    script.tick()
    assert script.kinds().count("ReportFailure") == 2


def test_slow_attempts_after_giving_up_are_counted_from_1() -> None:
    """They begin at the slower deadline, with all attempts again."""
    script = Script(max_retries=3)
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    for _ in range(3):
        refuse_until_resting(script)
        script.tick()
    assert script.is_in_state(RebalanceState.FAILED)
    script.tick()
    refuse_until_resting(script)
    assert attempts(script) == [1, 2, 3, 1]


def test_a_trigger_during_a_failed_round_starts_the_next_at_once() -> None:
    """The cause of the failure may be gone already."""
    script = joining()
    script.until(ev.Claim)
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    actions = script.refused(0)
    assert [type(action) for action in actions] == [ev.AwaitOwners, ev.RetryLater, ev.ReadGroup]
    assert script.core.next_deadline_ms() is None


def test_retries_are_spread_by_lengthening_the_pause() -> None:
    """Members that fail together do not retry together, and none earlier than configured."""
    script = Script(random=lambda: 0.999)
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    script.failed(ev.Register)
    retry = script.actions[-1]
    assert isinstance(retry, ev.RetryLater)
    assert 1_198 < retry.delay_ms <= 1_200


def fail_at_register(script: Script) -> None:
    """Fail at the registration."""
    script.failed(ev.Register, "no answer")


def fail_at_read(script: Script) -> None:
    """Fail at reading the group."""
    script.until(ev.ReadGroup)
    script.failed(ev.ReadGroup, "no answer")


def fail_at_claim(script: Script) -> None:
    """Fail at the claim."""
    script.until(ev.Claim)
    script.failed(ev.Claim, "no answer")


def fail_at_load(script: Script) -> None:
    """Fail at loading offsets."""
    script.until(ev.LoadOffsets)
    script.failed(ev.LoadOffsets, "no answer")


def fail_at_start(script: Script) -> None:
    """Fail at the start."""
    script.until(ev.Start)
    script.failed(ev.Start, "no answer")


@pytest.mark.parametrize(
    "fail", [fail_at_register, fail_at_read, fail_at_claim, fail_at_load, fail_at_start]
)
def test_a_failed_step_backs_off_and_the_next_attempt_completes(
    fail: Callable[[Script], None],
) -> None:
    """After any failed step, the next attempt ends with every partition started."""
    script = joining()
    fail(script)
    assert isinstance(script.actions[-1], ev.RetryLater)
    assert "no answer" in script.actions[-1].reason
    assert script.is_in_state(RebalanceState.BACKING_OFF)
    script.tick()
    script.run_to_end()
    assert script.is_in_state(RebalanceState.OWNING)
    assert (script.core.claimed, script.core.started) == (mine(0, 1), mine(0, 1))


def test_a_failed_release_is_tried_again() -> None:
    """The partition is stopped already; its node is still ours, and still has to be deleted."""
    script = script_that_loses_a_partition()
    script.until(ev.Release)
    script.failed(ev.Release)
    assert (script.core.started, script.core.claimed) == (mine(1), mine(0, 1))
    script.tick()
    script.read()
    assert script.open(ev.Release).owned == mine(0)
    script.run_to_end()
    assert script.core.claimed == mine(1)


def test_a_failed_commit_does_not_keep_the_partition() -> None:
    """The next owner reads uncommitted records again; a partition that is kept blocks the group."""
    script = script_that_loses_a_partition()
    script.until(ev.Commit)
    script.failed(ev.Commit)
    assert script.open(ev.Release).owned == mine(0)


def test_a_claim_of_unknown_outcome_is_checked() -> None:
    """Nodes may exist: the next round reads them, and releases those not assigned to us."""
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


def test_a_claim_that_turns_out_to_have_failed_is_forgotten() -> None:
    """None of its nodes exists, so there is nothing to release."""
    script = joining()
    script.until(ev.Claim)
    script.failed(ev.Claim)
    script.members = ("g_a", "g_aa", ME)
    script.tick()
    script.read(held=())
    script.run_to_end()
    assert script.is_in_state(RebalanceState.OWNING)
    assert script.core.claimed == {}
    assert "Release" not in script.kinds()


def test_a_group_that_cannot_be_assigned_backs_off_with_the_reason() -> None:
    """Our registration exists, but is missing in what was read: nothing is claimed."""
    script = joining()
    script.members = ("g_a",)
    script.until(ev.ReadGroup)
    retry = script.read()[-1]
    assert isinstance(retry, ev.RetryLater)
    assert ME in retry.reason


# --- the registration ----------------------------------------------------------------------------


def test_a_blocked_registration_waits_for_the_node_to_go() -> None:
    """It watches that node, and tries again when it is gone, or at the deadline."""
    script = joining()
    actions = script.blocked()
    assert actions == [ev.AwaitRegistration(), ev.RetryLater(1, 1_000, "in the way")]
    assert isinstance(
        script.send(ev.RebalanceTriggered(ev.RebalanceCause.REGISTRATION_GONE))[0], ev.Register
    )
    script.run_to_end()
    assert script.is_in_state(RebalanceState.OWNING)


def test_a_registration_in_the_way_is_waited_for_as_long_as_its_session_may_live() -> None:
    """After a crash with a fixed consumer id, waiting for the old session uses up no attempts."""
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
    assert any(isinstance(action, ev.ReportFailure) for action in script.actions)


def test_a_blocked_registration_is_tried_again_and_not_taken_for_ours() -> None:
    """The node has our name, but belongs to another session."""
    script = joining()
    script.blocked()
    assert isinstance(script.tick()[0], ev.Register)
    script.blocked()
    assert isinstance(script.tick()[0], ev.Register)
    assert "Claim" not in script.kinds()


def test_a_registration_that_was_deleted_is_made_again() -> None:
    """An operator deleted it; claimed partitions are read on meanwhile."""
    script = Script().joined()
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    script.read(registered=False)
    script.done(ev.Register)
    assert script.open(ev.ReadGroup).check == tps(0, 1)
    script.run_to_end()
    assert script.kinds() == ["ReadGroup", "Register", "ReadGroup", "Settled"]


def test_a_registration_that_keeps_vanishing_ends_the_attempt() -> None:
    """The member backs off instead of looping, and after all attempts the failure is reported."""
    script = joining()
    for _ in range(4):
        script.done(ev.Register)
        retry = script.read(registered=False)[-1]
        assert isinstance(retry, ev.RetryLater)
        assert "registration" in retry.reason
        script.tick()
    assert script.kinds()[-1] == "ReportFailure"
