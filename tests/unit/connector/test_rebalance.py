"""The rebalance of one member, driven by hand: rounds, order, failures, sessions."""

from collections.abc import Callable

import pytest

from tests.support.rebalance_script import ME, Script, mine, tps
from zkconsumer.connector import rebalance_events as ev
from zkconsumer.connector.plan import own_share
from zkconsumer.connector.rebalance import State
from zkconsumer.model import ConsumerThreadId, TopicPartition


def losing_one() -> Script:
    """A member with partitions 0 and 1 that must give up partition 0 to one before it."""
    script = Script().joined()
    script.members = ("g_a", ME)
    script.send(ev.Triggered(ev.Cause.MEMBERS))
    return script


# --- a first round -------------------------------------------------------------------------------


def test_joining_needs_a_session() -> None:
    """Whichever comes first: nothing before both are there, then the registration."""
    script = Script()
    assert script.send(ev.Join()) == []
    assert isinstance(script.send(ev.SessionStarted(1))[0], ev.Register)
    script = Script()
    assert script.send(ev.SessionStarted(1)) == []
    assert isinstance(script.send(ev.Join())[0], ev.Register)


def test_a_first_round_registers_reads_claims_loads_and_starts() -> None:
    """In that order: offsets only after the claim; nothing to stop, commit or release."""
    script = Script()
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    script.run_on()
    assert script.kinds() == ["Register", "ReadGroup", "Claim", "LoadOffsets", "Start", "Settled"]
    start, settled = script.said[-2:]
    assert isinstance(start, ev.Start)
    assert (start.owned, start.offsets) == (mine(0, 1), dict.fromkeys(tps(0, 1), 10))
    assert settled == ev.Settled(mine(0, 1), ev.Cause.JOINED, changed=True)
    assert (script.core.claimed, script.core.started) == (mine(0, 1), mine(0, 1))
    assert script.core.next_deadline_ms() is None


def test_a_member_without_a_share_settles_with_nothing() -> None:
    """More members than partitions: nothing is claimed."""
    script = Script()
    script.members = ("g_a", "g_aa", ME)
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    script.run_on()
    assert script.kinds() == ["Register", "ReadGroup", "Settled"]
    assert script.said[-1] == ev.Settled({}, ev.Cause.JOINED, changed=False)


def test_joining_twice_is_joining_once() -> None:
    """The second one changes nothing."""
    script = Script().joined()
    assert script.send(ev.Join()) == []


# --- later rounds --------------------------------------------------------------------------------


def test_a_round_that_changes_nothing_only_reads() -> None:
    """It checks that every claimed node is still ours."""
    script = Script().joined()
    script.send(ev.Triggered(ev.Cause.MEMBERS))
    assert script.open(ev.ReadGroup).check == tps(0, 1)
    script.run_on()
    assert script.kinds() == ["ReadGroup", "Settled"]
    assert script.said[-1] == ev.Settled(mine(0, 1), ev.Cause.MEMBERS, changed=False)


def test_what_is_given_up_is_stopped_then_committed_then_released() -> None:
    """Only that; the other partition is not touched."""
    script = losing_one()
    script.run_on()
    assert [type(one) for one in script.said] == [
        ev.ReadGroup,
        ev.Revoke,
        ev.Commit,
        ev.Release,
        ev.Settled,
    ]
    _, revoke, commit, release, settled = script.said
    assert isinstance(revoke, ev.Revoke)
    assert revoke.partitions == tps(0)
    assert isinstance(commit, ev.Commit)
    assert commit.partitions == tps(0)
    assert isinstance(release, ev.Release)
    assert release.owned == mine(0)
    assert isinstance(settled, ev.Settled)
    assert settled.owned == mine(1)


def test_new_partitions_are_claimed_after_what_goes_was_released() -> None:
    """A change both ways: nothing is claimed while something is still held for others."""
    script = losing_one()
    script.partition_count = 4  # ours are now 2 and 3
    script.run_on()
    assert script.kinds() == [
        *("ReadGroup", "Revoke", "Commit", "Release"),
        *("Claim", "LoadOffsets", "Start", "Settled"),
    ]
    assert script.core.started == mine(2, 3)


def test_a_lost_partition_is_stopped_but_neither_committed_nor_released() -> None:
    """Its node is another's now: the offset is theirs to write. It is still ours by assignment."""
    script = Script().joined()
    script.send(ev.Triggered(ev.Cause.MEMBERS))
    script.read(held=tps(1))
    assert script.open(ev.Revoke).partitions == tps(0)
    script.done(ev.Revoke)
    assert script.open(ev.Claim).wanted == mine(0)
    assert (script.core.started, script.core.claimed) == (mine(1), mine(1))
    script.run_on()
    assert script.core.started == mine(0, 1)
    assert "Commit" not in script.kinds()
    assert "Release" not in script.kinds()


def test_a_lost_and_a_given_up_partition_are_kept_apart() -> None:
    """Both stop at once; only the one that is still ours is committed and released."""
    script = Script()
    script.partition_count = 4
    script.joined()
    script.members = ("g_a", ME)  # ours are now 2 and 3
    script.send(ev.Triggered(ev.Cause.MEMBERS))
    script.read(held=tps(1, 2, 3))
    assert sorted(script.open(ev.Revoke).partitions) == list(tps(0, 1))
    script.done(ev.Revoke)
    assert script.open(ev.Commit).partitions == tps(1)
    script.done(ev.Commit)
    assert script.open(ev.Release).owned == mine(1)
    script.run_on()
    assert script.core.started == mine(2, 3)


# --- triggers ------------------------------------------------------------------------------------


def test_triggers_during_a_round_mean_one_more_round() -> None:
    """However many they are; the round in progress goes on to its end."""
    script = losing_one()
    for cause in (ev.Cause.MEMBERS, ev.Cause.TOPICS, ev.Cause.MEMBERS):
        assert script.send(ev.Triggered(cause)) == []
    script.run_on()
    assert script.kinds().count("ReadGroup") == 2
    assert script.kinds()[-2:] == ["ReadGroup", "Settled"]


def test_a_trigger_during_the_last_step_is_not_forgotten() -> None:
    """The group may have changed behind the reading."""
    script = Script()
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    script.until(ev.Start)
    script.send(ev.Triggered(ev.Cause.TOPICS))
    actions = script.done(ev.Start)
    assert [type(one) for one in actions] == [ev.Settled, ev.ReadGroup]


def test_a_trigger_outside_is_nothing() -> None:
    """Late watches of a group that was left."""
    script = Script()
    assert script.send(ev.Triggered(ev.Cause.MEMBERS)) == []


def test_a_reconnect_within_the_session_reads_again() -> None:
    """Watches may have been lost on the way."""
    script = Script().joined()
    assert isinstance(script.send(ev.SessionStarted(1))[0], ev.ReadGroup)
    script.run_on()
    assert script.said[-1] == ev.Settled(mine(0, 1), ev.Cause.RECONNECTED, changed=False)


# --- brokers -------------------------------------------------------------------------------------


def test_without_brokers_nothing_is_touched() -> None:
    """It counts as a success, as in the original: the caller is not kept waiting."""
    script = Script()
    script.broker_count = 0
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    script.run_on()
    assert script.kinds() == ["Register", "ReadGroup", "Settled"]


def test_brokers_that_come_start_a_round() -> None:
    """Where there were none."""
    script = Script()
    script.broker_count = 0
    script.joined()
    script.broker_count = 1
    assert isinstance(script.send(ev.Triggered(ev.Cause.BROKERS))[0], ev.ReadGroup)
    script.run_on()
    assert script.core.started == mine(0, 1)


def test_brokers_that_come_and_go_later_are_the_fetchers_affair() -> None:
    """No round where there were brokers before."""
    script = Script().joined()
    assert script.send(ev.Triggered(ev.Cause.BROKERS)) == []


def test_a_broker_that_comes_while_a_reading_without_brokers_is_on_its_way_is_not_missed() -> None:
    """The watch fires once: forgetting it would leave the member idle."""
    script = Script().joined()
    script.send(ev.Triggered(ev.Cause.MEMBERS))
    script.send(ev.Triggered(ev.Cause.BROKERS))
    script.broker_count = 0
    actions = script.read()
    assert [type(one) for one in actions] == [ev.Settled, ev.ReadGroup]


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
    assert (script.core.state, script.core.next_deadline_ms()) == (State.BACKING_OFF, 1_000)
    script.now_ms = 999
    assert script.send(ev.Tick()) == []
    script.now_ms = 1_000
    assert [type(one) for one in script.send(ev.Tick())] == [ev.ReadGroup]
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


def refuse_until_resting(script: Script) -> None:
    """Let the claim of this round be refused."""
    script.until(ev.Claim)
    script.refused(0)


def joining() -> Script:
    """A member in its first round."""
    script = Script()
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    return script


def test_a_try_that_comes_early_is_not_counted() -> None:
    """An owner left, another was in the way: that must not use up the tries."""
    script = joining()
    refuse_until_resting(script)
    for _ in range(10):
        assert isinstance(script.send(ev.Triggered(ev.Cause.OWNER_GONE))[0], ev.ReadGroup)
        refuse_until_resting(script)
    assert [one.attempt for one in script.said if isinstance(one, ev.RetryLater)] == [1] * 11
    assert "GiveUp" not in script.kinds()


def test_an_early_try_that_succeeds_leaves_no_trace() -> None:
    """The next failure is a first one, and counted."""
    script = joining()
    refuse_until_resting(script)
    script.send(ev.Triggered(ev.Cause.OWNER_GONE))
    script.until(ev.Start)
    script.send(ev.Triggered(ev.Cause.MEMBERS))
    script.done(ev.Start)
    script.said.clear()
    script.failed(ev.ReadGroup)
    assert [one.attempt for one in script.said if isinstance(one, ev.RetryLater)] == [1]


def test_after_all_tries_the_caller_hears_it_once_and_tries_go_on() -> None:
    """With the reason of the last one; later ones come more slowly and are not told again."""
    script = joining()
    for number in range(4):
        refuse_until_resting(script)
        assert script.stands_in(State.BACKING_OFF)
        if number < 3:
            script.tick()
    (give_up,) = script.tick()
    assert isinstance(give_up, ev.GiveUp)
    assert give_up.attempts == 4
    assert "t-0 by g_x-0" in give_up.reason
    assert script.stands_in(State.FAILED)
    assert script.core.next_deadline_ms() == script.now_ms + 4 * 1_000
    script.tick()
    for _ in range(20):
        refuse_until_resting(script)
        while script.step is None:
            script.tick()
    assert script.kinds().count("GiveUp") == 1
    script.run_on()
    assert script.core.started == mine(0, 1)


def test_the_last_pause_is_waited_out_before_giving_up() -> None:
    """A crashed member's nodes go after its session: four tries must last four pauses."""
    script = joining()
    for _ in range(3):
        refuse_until_resting(script)
        script.tick()
    refuse_until_resting(script)
    assert "GiveUp" not in script.kinds()
    assert isinstance(script.send(ev.Triggered(ev.Cause.OWNER_GONE))[0], ev.ReadGroup)
    script.run_on()
    assert script.stands_in(State.OWNING)
    assert script.now_ms == 3 * 1_000


def test_a_trigger_after_giving_up_starts_anew_with_all_tries() -> None:
    """And a second failure after a success is told again."""
    script = Script(max_retries=1)
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    refuse_until_resting(script)
    script.tick()
    assert script.stands_in(State.FAILED)
    script.send(ev.Triggered(ev.Cause.MEMBERS))
    script.run_on()
    assert script.stands_in(State.OWNING)
    script.send(ev.Triggered(ev.Cause.MEMBERS))
    script.failed(ev.ReadGroup)
    script.tick()
    assert script.kinds().count("GiveUp") == 2


def test_a_trigger_during_a_failed_round_tries_again_at_once() -> None:
    """What it failed on may be gone already."""
    script = joining()
    script.until(ev.Claim)
    script.send(ev.Triggered(ev.Cause.MEMBERS))
    actions = script.refused(0)
    assert [type(one) for one in actions] == [ev.AwaitOwners, ev.RetryLater, ev.ReadGroup]
    assert script.core.next_deadline_ms() is None


def test_retries_are_spread_by_taking_some_of_the_pause_off() -> None:
    """Members that fail together do not retry together; never later than configured."""
    script = Script(random=lambda: 0.999)
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    script.failed(ev.Register)
    later = script.said[-1]
    assert isinstance(later, ev.RetryLater)
    assert 800 <= later.delay_ms < 802


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
    assert isinstance(script.said[-1], ev.RetryLater)
    assert "no answer" in script.said[-1].reason
    assert script.stands_in(State.BACKING_OFF)
    script.tick()
    script.run_on()
    assert script.stands_in(State.OWNING)
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
    assert script.stands_in(State.OWNING)
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
    assert isinstance(script.send(ev.Triggered(ev.Cause.REGISTRATION_GONE))[0], ev.Register)
    script.run_on()
    assert script.stands_in(State.OWNING)


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
    script.send(ev.Triggered(ev.Cause.MEMBERS))
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
    assert script.kinds()[-1] == "GiveUp"


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
    assert [type(one) for one in actions] == [ev.Fence]
    assert script.stands_in(State.OUTSIDE)
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
    assert script.stands_in(State.REGISTERING)
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
    settled = script.said[-1]
    assert isinstance(settled, ev.Settled)
    assert settled.cause is ev.Cause.NEW_SESSION


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
    assert script.send(ev.Tick()) == []
    script.send(ev.SessionStarted(2))
    refuse_until_resting(script)
    later = script.said[-1]
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
    revoke, commit, release, unregister = script.core.receive(ev.Leave(), 0)
    assert isinstance(revoke, ev.Revoke)
    assert isinstance(commit, ev.Commit)
    assert isinstance(release, ev.Release)
    assert (revoke.partitions, commit.partitions) == (tps(0, 1), tps(0, 1))
    assert release.owned == mine(0, 1)
    assert unregister == ev.Unregister()
    assert script.stands_in(State.OUTSIDE)


@pytest.mark.parametrize("station", stations())
def test_leaving_in_the_middle_of_a_round_releases_what_is_claimed(station: type[ev.Step]) -> None:
    """Also what is not started yet; the open step's answer is nobody's any more."""
    script = at_station(station)
    assert script.step is not None
    stale = script.step.round
    claimed = dict(script.core.claimed)
    actions = script.core.receive(ev.Leave(), 0)
    (release,) = [one for one in actions if isinstance(one, ev.Release)]
    assert release.owned == claimed
    assert script.send(ev.StepDone(stale)) == []
    assert script.stands_in(State.OUTSIDE)


def test_leaving_from_outside_is_nothing() -> None:
    """Never joined, left before, or without a session."""
    script = Script()
    assert script.send(ev.Leave()) == []
    script.joined()
    script.core.receive(ev.Leave(), 0)
    assert script.core.receive(ev.Leave(), 0) == ()
    script = Script().joined()
    script.send(ev.SessionEnded(1))
    assert script.send(ev.Leave()) == []
    assert script.send(ev.SessionStarted(2)) == []


def test_leaving_while_waiting_for_another_try_unregisters() -> None:
    """A member that failed must not stay registered."""
    script = joining()
    refuse_until_resting(script)
    actions = script.core.receive(ev.Leave(), 0)
    assert ev.Unregister() in actions
    assert script.core.next_deadline_ms() is None


def test_a_member_that_left_may_join_again() -> None:
    """With all its tries."""
    script = Script().joined()
    script.core.receive(ev.Leave(), 0)
    assert isinstance(script.send(ev.Join())[0], ev.Register)
    script.run_on()
    assert script.core.started == mine(0, 1)


# --- texts ---------------------------------------------------------------------------------------


def test_a_share_is_a_line_in_order() -> None:
    """Topics and partitions sorted, partitions as numbers."""
    thread = ConsumerThreadId(ME, 0)
    owned = {TopicPartition(t, p): thread for t, p in [("b", 4), ("a", 10), ("a", 9), ("a", 0)]}
    assert own_share(owned) == "a [0, 9, 10], b [4]"
    assert own_share({}) == "nothing"


def test_repr_tells_where_a_member_stands() -> None:
    """It is the log of the core."""
    text = repr(losing_one().core)
    assert "READING" in text
    assert "members changed" in text
    assert "claimed=2" in text
