"""The rebalance of one member, step by step: rounds, their order, their triggers."""

from tests.support.rebalance_script import ME, Script, mine, script_that_loses_a_partition, tps
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.plan import own_share
from zkconsumer.model import ConsumerThreadId, TopicPartition

# --- a first round -------------------------------------------------------------------------------


def test_joining_needs_a_session() -> None:
    """In whichever order they come, the member registers when it has both."""
    script = Script()
    assert script.send(ev.Join()) == []
    assert isinstance(script.send(ev.SessionStarted(1))[0], ev.Register)
    script = Script()
    assert script.send(ev.SessionStarted(1)) == []
    assert isinstance(script.send(ev.Join())[0], ev.Register)


def test_a_first_round_registers_reads_claims_loads_and_starts() -> None:
    """Offsets are loaded after the claim; there is nothing to revoke, commit or release."""
    script = Script()
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    script.run_to_end()
    assert script.kinds() == ["Register", "ReadGroup", "Claim", "LoadOffsets", "Start", "Settled"]
    start, settled = script.actions[-2:]
    assert isinstance(start, ev.Start)
    assert (start.owned, start.offsets) == (mine(0, 1), dict.fromkeys(tps(0, 1), 10))
    assert settled == ev.Settled(mine(0, 1), ev.RebalanceCause.JOINED, changed=True)
    assert (script.core.claimed, script.core.started) == (mine(0, 1), mine(0, 1))
    assert script.core.next_deadline_ms() is None


def test_a_member_without_partitions_settles_with_nothing() -> None:
    """With more members than partitions, one claims nothing."""
    script = Script()
    script.members = ("g_a", "g_aa", ME)
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    script.run_to_end()
    assert script.kinds() == ["Register", "ReadGroup", "Start", "Settled"]
    start = script.actions[-2]
    assert isinstance(start, ev.Start)
    assert (start.owned, len(start.assignment)) == ({}, 2), "it hears who owns what"
    assert script.actions[-1] == ev.Settled({}, ev.RebalanceCause.JOINED, changed=False)


def test_joining_twice_is_joining_once() -> None:
    """A second join changes nothing."""
    script = Script().joined()
    assert script.send(ev.Join()) == []


# --- later rounds --------------------------------------------------------------------------------


def test_a_round_that_changes_nothing_only_reads() -> None:
    """It checks that every claimed node is still ours."""
    script = Script().joined()
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    assert script.open(ev.ReadGroup).check == tps(0, 1)
    script.run_to_end()
    assert script.kinds() == ["ReadGroup", "Settled"]
    assert script.actions[-1] == ev.Settled(mine(0, 1), ev.RebalanceCause.MEMBERS, changed=False)


def test_a_revoked_partition_is_stopped_then_committed_then_released() -> None:
    """Only the revoked partition is touched."""
    script = script_that_loses_a_partition()
    script.run_to_end()
    assert [type(action) for action in script.actions] == [
        ev.ReadGroup,
        ev.Revoke,
        ev.Commit,
        ev.Release,
        ev.Start,
        ev.Settled,
    ]
    _, revoke, commit, release, start, settled = script.actions
    assert isinstance(start, ev.Start)
    assert not start.owned
    assert isinstance(revoke, ev.Revoke)
    assert revoke.partitions == tps(0)
    assert isinstance(commit, ev.Commit)
    assert commit.partitions == tps(0)
    assert isinstance(release, ev.Release)
    assert release.owned == mine(0)
    assert isinstance(settled, ev.Settled)
    assert settled.owned == mine(1)


def test_partitions_are_claimed_after_others_were_released() -> None:
    """Nothing is claimed while partitions are still held that belong to others."""
    script = script_that_loses_a_partition()
    script.partition_count = 4  # ours are now 2 and 3
    script.run_to_end()
    assert script.kinds() == [
        *("ReadGroup", "Revoke", "Commit", "Release"),
        *("Claim", "LoadOffsets", "Start", "Settled"),
    ]
    assert script.core.started == mine(2, 3)


def test_a_lost_partition_is_stopped_but_neither_committed_nor_released() -> None:
    """The other member writes its offset now; since it is assigned to us, it is claimed again."""
    script = Script().joined()
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    script.read(held=tps(1))
    assert script.open(ev.Revoke).partitions == tps(0)
    script.done(ev.Revoke)
    assert script.open(ev.Claim).wanted == mine(0)
    assert (script.core.started, script.core.claimed) == (mine(1), mine(1))
    script.run_to_end()
    assert script.core.started == mine(0, 1)
    assert "Commit" not in script.kinds()
    assert "Release" not in script.kinds()


def test_a_lost_and_a_revoked_partition_are_handled_differently() -> None:
    """Both stop at once; only the one that is still ours is committed and released."""
    script = Script()
    script.partition_count = 4
    script.joined()
    script.members = ("g_a", ME)  # ours are now 2 and 3
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    script.read(held=tps(1, 2, 3))
    assert sorted(script.open(ev.Revoke).partitions) == list(tps(0, 1))
    script.done(ev.Revoke)
    assert script.open(ev.Commit).partitions == tps(1)
    script.done(ev.Commit)
    assert script.open(ev.Release).owned == mine(1)
    script.run_to_end()
    assert script.core.started == mine(2, 3)


# --- triggers ------------------------------------------------------------------------------------


def test_triggers_during_a_round_mean_one_more_round() -> None:
    """It is one round for all of them, after the present round has ended."""
    script = script_that_loses_a_partition()
    for cause in (ev.RebalanceCause.MEMBERS, ev.RebalanceCause.TOPICS, ev.RebalanceCause.MEMBERS):
        assert script.send(ev.RebalanceTriggered(cause)) == []
    script.run_to_end()
    assert script.kinds().count("ReadGroup") == 2
    assert script.kinds()[-2:] == ["ReadGroup", "Settled"]


def test_a_trigger_during_the_last_step_starts_another_round() -> None:
    """The group may have changed after it was read."""
    script = Script()
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    script.until(ev.Start)
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.TOPICS))
    actions = script.done(ev.Start)
    assert [type(action) for action in actions] == [ev.Settled, ev.ReadGroup]


def test_a_trigger_outside_of_a_group_is_ignored() -> None:
    """Watches of a group that was left may fire late."""
    script = Script()
    assert script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS)) == []


def test_a_reconnect_within_the_session_reads_again() -> None:
    """Watches may have been lost while disconnected."""
    script = Script().joined()
    assert isinstance(script.send(ev.SessionStarted(1))[0], ev.ReadGroup)
    script.run_to_end()
    assert script.actions[-1] == ev.Settled(
        mine(0, 1), ev.RebalanceCause.RECONNECTED, changed=False
    )


# --- brokers -------------------------------------------------------------------------------------


def test_without_brokers_nothing_is_touched() -> None:
    """The rebalance succeeds, as in the original: the caller is not kept waiting."""
    script = Script()
    script.broker_count = 0
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    script.run_to_end()
    assert script.kinds() == ["Register", "ReadGroup", "Settled"]


def test_the_first_broker_starts_a_round() -> None:
    """There were no brokers before."""
    script = Script()
    script.broker_count = 0
    script.joined()
    script.broker_count = 1
    assert isinstance(
        script.send(ev.RebalanceTriggered(ev.RebalanceCause.BROKERS))[0], ev.ReadGroup
    )
    script.run_to_end()
    assert script.core.started == mine(0, 1)


def test_further_brokers_start_no_round() -> None:
    """No round starts if there were brokers before."""
    script = Script().joined()
    assert script.send(ev.RebalanceTriggered(ev.RebalanceCause.BROKERS)) == []


def test_a_broker_that_registers_while_the_group_is_read_is_not_missed() -> None:
    """The watch fires only once: if it were ignored, the member would stay idle."""
    script = Script().joined()
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.BROKERS))
    script.broker_count = 0
    actions = script.read()
    assert [type(action) for action in actions] == [ev.Settled, ev.ReadGroup]


# --- texts ---------------------------------------------------------------------------------------


def test_an_assignment_is_a_line_in_order() -> None:
    """Topics and partitions are sorted, partitions by number."""
    thread = ConsumerThreadId(ME, 0)
    owned = {TopicPartition(t, p): thread for t, p in [("b", 4), ("a", 10), ("a", 9), ("a", 0)]}
    assert own_share(owned) == "a [0, 9, 10], b [4]"
    assert own_share({}) == "nothing"


def test_the_repr_has_the_state() -> None:
    """The core is logged this way."""
    text = repr(script_that_loses_a_partition().core)
    assert "READING" in text
    assert "members changed" in text
    assert "claimed=2" in text
