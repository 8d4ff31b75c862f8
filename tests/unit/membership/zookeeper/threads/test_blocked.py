"""Owner nodes that belong to no session: they block their own partition and nothing else."""

import pytest

from tests.support.control_bench import BACKOFF_MS, ControlledMember, Group, drained, hold
from zkconsumer.errors import (
    ConsumerTimeout,
    OffsetCommitFailed,
    PartitionFailed,
    RebalanceFailed,
    ZkConsumerError,
)
from zkconsumer.membership.zookeeper.core.states import RebalanceState
from zkconsumer.model import TopicPartition
from zkconsumer.observe import PartitionsBlocked, RebalanceTryFailed

AUDIT_MS = 10_000
T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
T2 = TopicPartition("t", 2)


def block(group: Group, *partitions: int) -> list[str]:
    """Leave garbage that never goes by itself; gives the nodes."""
    paths = [f"/consumers/g/owners/t/{partition}" for partition in partitions]
    for path in paths:
        group.write(path, b"garbage")
    return paths


def errors_of(member: ControlledMember) -> list[ZkConsumerError]:
    """Every error that its stream has now, and nothing else."""
    found: list[ZkConsumerError] = []
    while True:
        try:
            next(member.stream())
        except ConsumerTimeout:
            return found
        except ZkConsumerError as error:
            found.append(error)


def stands_in(member: ControlledMember, state: RebalanceState) -> bool:
    """Whether its core is in this state."""
    return member.core.state is state


def blocked(member: ControlledMember) -> list[set[TopicPartition]]:
    """What observers heard of blocked partitions."""
    return [
        set(partitions_blocked.reasons)
        for partitions_blocked in member.observed.of(PartitionsBlocked)
    ]


def test_garbage_blocks_its_own_partition_only() -> None:
    """Joining succeeds with the others, in the first try."""
    group = Group(partitions=3)
    block(group, 1)
    member = group.joined("a")
    assert set(member.owned()) == {T0, T2}
    assert group.owners() == {0: "g_a-0", 1: "garbage", 2: "g_a-0"}
    assert member.observed.of(RebalanceTryFailed) == []


def test_the_stream_names_the_node_once() -> None:
    """And the observers hear the same; messages of the others come before and behind."""
    group = Group(partitions=3)
    [path] = block(group, 1)
    member = group.joined("a")
    member.deliver(T0, [0])
    [error] = errors_of_and_messages(member)
    assert isinstance(error, PartitionFailed)
    assert error.topic_partition == T1
    assert f"delete {path}" in str(error)
    assert "garbage" in str(error)
    assert blocked(member) == [{T1}]


def errors_of_and_messages(member: ControlledMember) -> list[ZkConsumerError]:
    """Every error; there must be a message, too."""
    errors: list[ZkConsumerError] = []
    messages = 0
    while True:
        try:
            next(member.stream())
            messages += 1
        except ConsumerTimeout:
            assert messages == 1
            return errors
        except ZkConsumerError as error:
            errors.append(error)


def test_other_rebalances_don_t_say_it_again() -> None:
    """Members and topics come and go; the node is known."""
    group = Group(partitions=3)
    block(group, 0)
    member = group.joined("a")
    group.joined("b", {})
    other = group.joined("c")
    other.close()
    group.settle()
    group.set_topic("t", 4)
    group.settle()
    assert len(errors_of(member)) == 1
    assert blocked(member) == [{T0}]
    assert set(member.owned()) == {T1, T2, TopicPartition("t", 3)}


def test_audits_don_t_say_it_again() -> None:
    """They try, and fail, in silence: the caller knows."""
    group = Group()
    block(group, 0)
    member = group.joined("a", audit_interval_ms=AUDIT_MS)
    for _ in range(3):
        group.pass_time(AUDIT_MS)
    assert len(errors_of(member)) == 1


def test_audits_with_a_blocked_partition_don_t_touch_the_others() -> None:
    """Nothing that is being read is stopped for the try."""
    group = Group(partitions=3)
    block(group, 1)
    member = group.joined("a", audit_interval_ms=AUDIT_MS)
    claims = member.owned()
    for _ in range(3):
        group.pass_time(AUDIT_MS)
    assert member.owned() == claims
    assert stands_in(member, RebalanceState.OWNING)


def test_it_is_taken_as_soon_as_the_node_is_deleted() -> None:
    """By the watch, without an audit, from what is committed."""
    group = Group()
    group.write("/consumers/g/offsets/t/0", b"7")
    [path] = block(group, 0)
    member = group.joined("a")
    claim = member.owned()[T1]
    group.admin.delete_many([path])
    group.settle()
    assert group.owners() == {0: "g_a-0", 1: "g_a-0"}
    assert member.starts()[T0] == 7
    assert member.owned()[T1] is claim


def test_it_is_taken_at_an_audit_where_the_watch_got_lost() -> None:
    """The news of the deletion never comes."""
    group = Group(delivery="queued")
    [path] = block(group, 0)
    member = group.member("a", audit_interval_ms=AUDIT_MS)
    member.join({"t": 1})
    group.settle()
    group.server.deliver_all()
    group.settle()
    assert set(member.owned()) == {T1}
    group.admin.delete_many([path])
    group.pass_time(AUDIT_MS)
    assert set(member.owned()) == {T0, T1}


def test_of_two_the_one_that_is_freed_is_taken() -> None:
    """The other still blocks nobody but itself."""
    group = Group(partitions=3)
    paths = block(group, 0, 2)
    member = group.joined("a")
    assert set(member.owned()) == {T1}
    group.admin.delete_many(paths[:1])
    group.settle()
    assert set(member.owned()) == {T0, T1}
    group.admin.delete_many(paths[1:])
    group.settle()
    assert set(member.owned()) == {T0, T1, T2}
    assert stands_in(member, RebalanceState.OWNING)


def test_garbage_on_everything_still_joins() -> None:
    """With nothing, and an error for each partition."""
    group = Group(partitions=3)
    paths = block(group, 0, 1, 2)
    member = group.joined("a")
    assert member.owned() == {}
    assert len(errors_of(member)) == 3
    group.admin.delete_many(paths)
    group.settle()
    assert set(member.owned()) == {T0, T1, T2}


def test_garbage_beside_a_living_owner_waits_for_the_living_one() -> None:
    """That one will go; once it has, the member rests without the blocked one."""
    group = Group(partitions=3)
    block(group, 0)
    [path] = hold(group, 1)
    member = group.member("a")
    request = member.join({"t": 1})
    group.settle()
    group.pass_time(BACKOFF_MS)
    assert stands_in(member, RebalanceState.BACKING_OFF)
    group.admin.delete_many([path])
    group.settle()
    assert request.reply.wait(0) == (None, True)
    assert set(member.owned()) == {T1, T2}


def test_another_owner_that_goes_does_not_say_it_again() -> None:
    """The garbage is still the same."""
    group = Group(partitions=3)
    block(group, 0)
    [path] = hold(group, 1)
    member = group.member("a")
    member.join({"t": 1})
    group.settle()
    group.admin.delete_many([path])
    group.settle()
    assert len(errors_of(member)) == 1


def test_the_blocked_one_moves_with_the_share() -> None:
    """Another member to whom it falls meets the node itself; the first one is rid of it."""
    group = Group()
    [path] = block(group, 0)
    first = group.joined("a")
    other = group.joined("0")
    assert blocked(other) == [{T0}]
    assert set(first.owned()) == {T1}
    group.admin.delete_many([path])
    group.settle()
    assert group.owners() == {0: "g_0-0", 1: "g_a-0"}


def test_garbage_that_comes_in_place_of_our_node_is_met_at_the_audit() -> None:
    """Ours stops, the rest goes on, nothing is tried in vain."""
    group = Group()
    member = group.joined("a", audit_interval_ms=AUDIT_MS)
    claims = member.owned()
    group.admin.delete_many(["/consumers/g/owners/t/0"])
    block(group, 0)
    member.deliver(T0, [0, 1])
    group.pass_time(AUDIT_MS)
    assert not claims[T0].active
    assert member.owned() == {T1: claims[T1]}
    assert len(errors_of(member)) == 1
    assert stands_in(member, RebalanceState.OWNING)


def test_offsets_of_a_blocked_partition_can_t_be_committed() -> None:
    """It is not ours; the error names it."""
    group = Group()
    block(group, 0)
    member = group.joined("a")
    request = member.commit({T0: 5})
    group.settle()
    with pytest.raises(OffsetCommitFailed, match="t-0"):
        request.reply.wait(0)
    assert group.offset(0) is None


def test_leaving_does_not_delete_the_garbage() -> None:
    """It is not ours; everything of ours goes."""
    group = Group()
    block(group, 0)
    member = group.joined("a")
    member.close()
    group.settle()
    assert (group.owners(), group.ids()) == ({0: "garbage"}, [])


def test_a_new_session_meets_it_again_and_reads_the_others() -> None:
    """Nothing of the earlier session is taken for granted."""
    group = Group()
    block(group, 0)
    member = group.joined("a")
    group.server.expire(member.store.session_id)
    group.settle()
    assert set(member.owned()) == {T1}
    member.deliver(T1, [0])
    [first, second] = errors_of_and_messages(member)
    assert str(first) == str(second)


# --- all tries failed ----------------------------------------------------------------------------


def test_every_stream_hears_that_all_tries_failed_and_the_next_event_mends_it() -> None:
    """A living owner that never lets go: once a stream, then slower tries; what is held is read."""
    group = Group(partitions=3)
    member = group.joined("a", {"t": 2})
    [path] = hold(group, 3)
    group.set_topic("t", 4)
    group.settle()
    for _ in range(12):
        group.pass_time(BACKOFF_MS)
    for number in (0, 1):
        with pytest.raises(RebalanceFailed, match="t-3 by g_x-0"):
            next(member.stream("t", number))
        with pytest.raises(ConsumerTimeout):
            next(member.stream("t", number))
    member.deliver(T0, [5])
    assert drained(member.stream()) == [(0, 5)]
    assert stands_in(member, RebalanceState.FAILED)
    group.admin.delete_many([path])
    group.settle()
    assert stands_in(member, RebalanceState.OWNING)
    assert group.owners() == {0: "g_a-0", 1: "g_a-0", 2: "g_a-1", 3: "g_a-1"}


def test_it_is_said_anew_when_it_happens_anew() -> None:
    """A rest in between makes it news again."""
    group = Group()
    member = group.joined("a")
    for partitions in (3, 4):
        [path] = hold(group, partitions - 1)
        group.set_topic("t", partitions)
        group.settle()
        for _ in range(5):
            group.pass_time(BACKOFF_MS)
        assert [type(error) for error in errors_of(member)] == [RebalanceFailed]
        group.admin.delete_many([path])
        group.settle()
        assert stands_in(member, RebalanceState.OWNING)
