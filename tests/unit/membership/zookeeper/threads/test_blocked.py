"""Owner nodes that belong to no session block their own partition, and nothing else."""

import pytest

from tests.support.control_bench import (
    BACKOFF_MS,
    ControlledMember,
    Group,
    consume_all,
    own_as_stranger,
)
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
    """Write owner nodes that never expire; return their paths."""
    paths = [f"/consumers/g/owners/t/{partition}" for partition in partitions]
    for path in paths:
        group.write(path, b"garbage")
    return paths


def errors_of(member: ControlledMember) -> list[ZkConsumerError]:
    """Return every error that its stream has now; other results are not expected."""
    found: list[ZkConsumerError] = []
    while True:
        try:
            next(member.stream())
        except ConsumerTimeout:
            return found
        except ZkConsumerError as error:
            found.append(error)


def is_in_state(member: ControlledMember, state: RebalanceState) -> bool:
    """Return whether its core is in this state."""
    return member.core.state is state


def blocked(member: ControlledMember) -> list[set[TopicPartition]]:
    """Return the blocked partitions that observers were notified of."""
    return [
        set(partitions_blocked.reasons)
        for partitions_blocked in member.observed.of(PartitionsBlocked)
    ]


def test_garbage_blocks_its_own_partition_only() -> None:
    """Joining succeeds with the other partitions, in the first attempt."""
    group = Group(partitions=3)
    block(group, 1)
    member = group.joined("a")
    assert set(member.owned()) == {T0, T2}
    assert group.owners() == {0: "g_a-0", 1: "garbage", 2: "g_a-0"}
    assert member.observed.of(RebalanceTryFailed) == []


def test_the_stream_names_the_node_once() -> None:
    """Observers are notified of the same; messages of other partitions are delivered."""
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
    """Return every error that its stream has now; one message is expected, too."""
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


def test_other_rebalances_do_not_report_it_again() -> None:
    """Members and topics change, and the node is not reported again."""
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


def test_audits_do_not_report_it_again() -> None:
    """They try again without a report, as the caller knows."""
    group = Group()
    block(group, 0)
    member = group.joined("a", audit_interval_ms=AUDIT_MS)
    for _ in range(3):
        group.pass_time(AUDIT_MS)
    assert len(errors_of(member)) == 1


def test_audits_with_a_blocked_partition_do_not_touch_the_others() -> None:
    """No partition that is read is stopped for the attempt."""
    group = Group(partitions=3)
    block(group, 1)
    member = group.joined("a", audit_interval_ms=AUDIT_MS)
    claims = member.owned()
    for _ in range(3):
        group.pass_time(AUDIT_MS)
    assert member.owned() == claims
    assert is_in_state(member, RebalanceState.OWNING)


def test_a_blocked_partition_is_taken_as_soon_as_the_node_is_deleted() -> None:
    """The watch starts the claim without an audit, from the committed offset."""
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


def test_a_blocked_partition_is_taken_at_an_audit_if_the_watch_was_lost() -> None:
    """The watch of the deletion never fires."""
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


def test_of_two_blocked_partitions_the_one_that_is_freed_is_taken() -> None:
    """The other one still blocks itself only."""
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
    assert is_in_state(member, RebalanceState.OWNING)


def test_a_member_joins_even_if_all_partitions_are_blocked() -> None:
    """The member owns nothing, and there is an error for each partition."""
    group = Group(partitions=3)
    paths = block(group, 0, 1, 2)
    member = group.joined("a")
    assert member.owned() == {}
    assert len(errors_of(member)) == 3
    group.admin.delete_many(paths)
    group.settle()
    assert set(member.owned()) == {T0, T1, T2}


def test_a_blocked_partition_beside_a_live_owner_waits_for_the_owner() -> None:
    """Its session will end; then the member settles without the blocked partition."""
    group = Group(partitions=3)
    block(group, 0)
    [path] = own_as_stranger(group, 1)
    member = group.member("a")
    request = member.join({"t": 1})
    group.settle()
    group.pass_time(BACKOFF_MS)
    assert is_in_state(member, RebalanceState.BACKING_OFF)
    group.admin.delete_many([path])
    group.settle()
    assert request.reply.wait(0) == (None, True)
    assert set(member.owned()) == {T1, T2}


def test_another_owner_that_leaves_does_not_report_it_again() -> None:
    """The garbage is still the same."""
    group = Group(partitions=3)
    block(group, 0)
    [path] = own_as_stranger(group, 1)
    member = group.member("a")
    member.join({"t": 1})
    group.settle()
    group.admin.delete_many([path])
    group.settle()
    assert len(errors_of(member)) == 1


def test_a_blocked_partition_moves_with_the_assignment() -> None:
    """The member that it is assigned to next finds the node itself; the first is rid of it."""
    group = Group()
    [path] = block(group, 0)
    first = group.joined("a")
    other = group.joined("0")
    assert blocked(other) == [{T0}]
    assert set(first.owned()) == {T1}
    group.admin.delete_many([path])
    group.settle()
    assert group.owners() == {0: "g_0-0", 1: "g_a-0"}


def test_garbage_in_place_of_our_node_is_noticed_at_the_audit() -> None:
    """Its partition stops, the rest goes on, and no attempt fails."""
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
    assert is_in_state(member, RebalanceState.OWNING)


def test_offsets_of_a_blocked_partition_are_not_committed() -> None:
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
    """It is not ours; all nodes of ours are deleted."""
    group = Group()
    block(group, 0)
    member = group.joined("a")
    member.close()
    group.settle()
    assert (group.owners(), group.ids()) == ({0: "garbage"}, [])


def test_a_new_session_reports_it_again_and_reads_the_others() -> None:
    """It reports the node again, as it relies on nothing from the earlier session."""
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


def test_every_stream_raises_when_all_attempts_failed_and_the_next_event_repairs_it() -> None:
    """An owner never lets go: one error per stream, then slow attempts; what is owned is read."""
    group = Group(partitions=3)
    member = group.joined("a", {"t": 2})
    [path] = own_as_stranger(group, 3)
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
    assert consume_all(member.stream()) == [(0, 5)]
    assert is_in_state(member, RebalanceState.FAILED)
    group.admin.delete_many([path])
    group.settle()
    assert is_in_state(member, RebalanceState.OWNING)
    assert group.owners() == {0: "g_a-0", 1: "g_a-0", 2: "g_a-1", 3: "g_a-1"}


def test_a_second_failure_of_all_attempts_is_reported_again() -> None:
    """A success in between makes the failure worth a report again."""
    group = Group()
    member = group.joined("a")
    for partitions in (3, 4):
        [path] = own_as_stranger(group, partitions - 1)
        group.set_topic("t", partitions)
        group.settle()
        for _ in range(5):
            group.pass_time(BACKOFF_MS)
        assert [type(error) for error in errors_of(member)] == [RebalanceFailed]
        group.admin.delete_many([path])
        group.settle()
        assert is_in_state(member, RebalanceState.OWNING)
