"""Partitions and names that others own, joins that fail, offsets that can't be used."""

import pytest

from tests.support.control_bench import (
    BACKOFF_MS,
    ControlledMember,
    Group,
    consume_all,
    own_as_stranger,
)
from zkconsumer.errors import PartitionFailed, RebalanceFailed
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.threads.messages import WithdrawRequest
from zkconsumer.model import TopicPartition

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)


def registration(member: ControlledMember) -> str:
    """Return the path of a member's registration."""
    return f"/consumers/g/ids/{member.consumer_id}"


# --- conflicts -----------------------------------------------------------------------------------


def test_a_partition_of_another_owner_is_taken_as_soon_as_it_is_released() -> None:
    """It is claimed when its node vanishes, not at the next deadline, and nothing else before."""
    group = Group()
    paths = own_as_stranger(group, 1)
    member = group.member("a")
    request = member.join({"t": 1})
    group.settle()
    assert request.reply.wait(0) == (None, False)
    assert group.owners() == {1: "g_x-0"}
    group.admin.delete_many(paths)
    group.settle()
    assert request.reply.wait(0) == (None, True)
    assert group.owners() == {0: "g_a-0", 1: "g_a-0"}


def test_a_join_that_fails_leaves_nothing_behind() -> None:
    """After all attempts the caller gets the reason; registration and owner nodes are deleted."""
    group = Group()
    own_as_stranger(group, 1)
    member = group.member("a")
    request = member.join({"t": 1})
    group.settle()
    for _ in range(4):
        assert group.ids() == ["g_a"]
        group.pass_time(BACKOFF_MS)
    with pytest.raises(RebalanceFailed, match=r"group g: .* after 4 tries: .*t-1 by g_x-0"):
        request.reply.wait(0)
    assert group.ids() == []
    assert group.owners() == {1: "g_x-0"}
    assert member.core.next_deadline_ms() is None


def test_a_member_whose_join_failed_may_join_again_at_once() -> None:
    """The withdrawal of the first join does not affect the second."""
    group = Group()
    paths = own_as_stranger(group, 1)
    member = group.member("a", max_retries=1)
    request = member.join({"t": 1})
    group.settle()
    group.clock.advance(BACKOFF_MS)
    while member.control.mailbox._items or member.core.next_deadline_ms() is not None:
        # The caller gets the error before the control thread's turn has ended, and acts at once.
        member.control._turn()
        is_done = bool(request.reply._box._items)
        if is_done:
            break
    member.control.mailbox.put(WithdrawRequest(request))
    again = member.join({"t": 1})
    group.admin.delete_many(paths)
    group.settle()
    assert again.reply.wait(0) == (None, True)
    assert group.owners() == {0: "g_a-0", 1: "g_a-0"}


def test_a_failure_after_joining_reaches_every_stream_and_attempts_go_on() -> None:
    """It is not just logged; the streams go on, and get the partitions when they are free."""
    group = Group()
    member = group.joined("a", {"t": 2})
    group.set_topic("t", 3)
    paths = own_as_stranger(group, 2)
    group.settle()
    for _ in range(4):
        group.pass_time(BACKOFF_MS)
    for number in range(2):
        with pytest.raises(RebalanceFailed, match="t-2 by g_x-0"):
            next(member.stream("t", number))
    group.admin.delete_many(paths)
    group.settle()
    assert group.owners() == {0: "g_a-0", 1: "g_a-0", 2: "g_a-1"}
    member.deliver(TopicPartition("t", 2), [1])
    assert consume_all(member.stream("t", 1)) == [(2, 1)]


def test_two_processes_with_the_same_name_do_not_share_a_registration() -> None:
    """The second waits, claims nothing, and takes over when the first has left."""
    group = Group()
    first = group.joined("a")
    second = group.member("a")
    request = second.join({"t": 1})
    group.settle()
    first_session = group.admin.get_many([registration(first)])[0]
    assert first_session is not None
    assert first_session.ephemeral_owner == first.store.session_id
    group.pass_time(BACKOFF_MS)
    assert second.owned() == {}
    assert request.reply.wait(0) == (None, False)
    first.close()
    group.settle()
    assert request.reply.wait(0) == (None, True)
    assert set(second.owned()) == {T0, T1}


def test_a_deleted_owner_node_is_noticed_by_the_next_rebalance() -> None:
    """A Scala member may delete a node blindly: nothing is committed, and the claim is repeated."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0, 1])
    member.consume(2)
    old = member.owned()[T0]
    group.admin.delete_many(["/consumers/g/owners/t/0"])
    group.joined("b", {})
    new = member.owned()[T0]
    assert new is not old
    assert not old.active
    assert group.owners() == {0: "g_a-0", 1: "g_a-0"}
    assert group.offset(0) is None


def test_a_partition_that_another_session_owns_is_stopped_and_not_committed() -> None:
    """The node exists, but is not ours: the offset is the other member's to write."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0, 1, 2])
    assert len(consume_all(member.stream())) == 3
    old = member.owned()[T0]
    group.admin.delete_many(["/consumers/g/owners/t/0"])
    own_as_stranger(group, 0)
    group.joined("b", {})
    assert not old.active
    assert set(member.owned()) == {T1}
    assert group.offset(0) is None
    assert group.owners() == {0: "g_x-0", 1: "g_a-0"}


def test_an_owner_that_left_before_it_was_watched_is_not_waited_for() -> None:
    """A watch on a missing node would never fire; the same holds for a registration."""
    group = Group()
    member = group.member("a")
    member.pump()
    member.control._steps.await_owners((T0,))
    assert member.control.mailbox.drain() == [ev.RebalanceTriggered(ev.RebalanceCause.OWNER_GONE)]
    member.control._steps.await_registration()
    assert member.control.mailbox.drain() == [
        ev.RebalanceTriggered(ev.RebalanceCause.REGISTRATION_GONE)
    ]


# --- offsets that can't be used ------------------------------------------------------------------


def test_an_unusable_offset_stops_that_partition_only() -> None:
    """Its stream raises an error that names it; its offset is not overwritten."""
    group = Group()
    group.write("/consumers/g/offsets/t/0", b"garbage")
    group.write("/consumers/g/offsets/t/1", b"7")
    member = group.joined("a")
    assert member.starts() == {T1: 7}
    with pytest.raises(PartitionFailed, match="t-0 stopped") as raised:
        next(member.stream())
    assert raised.value.topic_partition == T0
    member.deliver(T1, [7])
    assert consume_all(member.stream()) == [(1, 7)]
    member.close()
    group.settle()
    assert (group.offset(0), group.offset(1)) == ("garbage", "8")
    assert group.owners() == {}


def test_a_negative_offset_counts_as_none() -> None:
    """As the original asserts: tools write -1, and then the reset policy applies."""
    group = Group()
    group.write("/consumers/g/offsets/t/0", b"-1")
    member = group.joined("a")
    assert member.starts() == {T0: None, T1: None}


def test_a_member_that_could_not_leave_joins_again_when_zookeeper_is_back() -> None:
    """Until then nodes of the earlier membership block the join, and the error says so."""
    group = Group()
    member = group.joined("a")
    group.server.disconnect(member.store.session_id)
    member.withdraw()
    group.settle()
    request = member.join({"t": 1})
    group.settle()
    with pytest.raises(RebalanceFailed, match=r"group g: .*still have to be deleted: .*is back"):
        request.reply.wait(0)
    group.server.reconnect(member.store.session_id)
    group.settle()
    again = member.join({"t": 1})
    group.settle()
    assert again.reply.wait(0) == (None, True)
    assert group.owners() == {0: "g_a-0", 1: "g_a-0"}
