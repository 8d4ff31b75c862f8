"""A ZooKeeper group behind the poll API, on a ZooKeeper in memory."""

import threading
from collections.abc import Iterator

import pytest

from tests.support.control_bench import GROUP, Group
from tests.support.waiting import wait_until
from tests.support.zookeeper_member import T0, T1, TIMEOUT_MS, PolledMember, in_memory, numbers
from zkconsumer.clock import SystemClock
from zkconsumer.cluster.view import NOTHING_KNOWN
from zkconsumer.errors import (
    CommitFailed,
    ConsumerClosed,
    OffsetCommitFailed,
    PartitionFailed,
    RebalanceFailed,
    RequestTimedOut,
)
from zkconsumer.membership.protocol import Offsets, Partitions, RevocationKind
from zkconsumer.membership.zookeeper.threads.messages import ControlTask
from zkconsumer.membership.zookeeper.threads.reply import Reply
from zkconsumer.model import OffsetAndMetadata, TopicPartition

BOTH = frozenset((T0, T1))
QUICK = {"rebalance_backoff_ms": 50, "rebalance_max_retries": 4}
"""Settings that give a caller 100 ms to poll during a rebalance."""
SLOW = {"rebalance_backoff_ms": 300, "rebalance_max_retries": 10}
"""Settings that leave the caller enough time to start, even on a slow machine."""


@pytest.fixture
def group() -> Group:
    """A group without members."""
    return in_memory()


@pytest.fixture
def member(group: Group) -> Iterator[PolledMember]:
    """A member that has not subscribed."""
    with PolledMember(group) as polled_member:
        yield polled_member


def offsets(number: int, *partitions: TopicPartition) -> Offsets:
    """Map each of these partitions, or both, to this offset."""
    return {tp: OffsetAndMetadata(number) for tp in partitions or BOTH}


def test_a_member_joins_while_it_polls(group: Group, member: PolledMember) -> None:
    """It is registered as a Scala member; closing revokes its partitions and deletes its nodes."""
    assert (member.membership.member_id, member.membership.generation) == ("", -1)
    member.joined()
    assert member.received == [("assigned", frozenset({0, 1}))]
    assert member.membership.deliverable() == BOTH
    assert group.ids() == [member.membership.member_id]
    registration = group.text(f"/consumers/{GROUP}/ids/{group.ids()[0]}")
    assert registration is not None
    assert '"subscription":{"t":1},"pattern":"static"' in registration
    assert set(group.owners()) == {0, 1}
    assert (member.membership.generation, member.membership.state) == (1, "owning")
    member.membership.close(TIMEOUT_MS)
    assert member.received[1:] == [("revoked", frozenset({0, 1}))]
    assert (group.ids(), group.owners()) == ([], {})


def test_a_subscription_during_a_poll_wakes_the_caller(member: PolledMember) -> None:
    """The same poll joins, as for topics of a pattern: the caller is woken for one more round."""
    member.wakeup.wait(0)
    assert not member.wakeup._signalled
    member.membership.subscribe(frozenset("t"), open_ended=True)
    assert member.wakeup._signalled


def test_two_members_share_and_only_what_moves_is_given_up(
    group: Group, member: PolledMember
) -> None:
    """Kept partitions are delivered all the time; the handler commits a moving one first."""
    member.joined()

    def commit(partitions: Partitions, _why: RevocationKind) -> None:
        assert not partitions & member.membership.deliverable()
        member.membership.commit(offsets(7, *partitions), timeout_ms=TIMEOUT_MS)

    member.on_give_up = commit
    with PolledMember(group) as other:
        other.membership.subscribe(frozenset("t"), open_ended=False)
        other.poll_until(lambda: other.owned and len(member.owned) == 1, "both", member)
        (kind, gone), (_, none) = member.received[1:]
        assert (kind, none) == ("revoked", frozenset())
        (moved,) = other.owned
        assert gone == {moved.partition}
        assert group.offset(moved.partition) == "7"
        found = other.membership.committed([moved], timeout_ms=TIMEOUT_MS)
        assert found == {moved: OffsetAndMetadata(7)}
        member.on_give_up = lambda _partitions, _why: None
    member.poll_until(lambda: member.owned == BOTH, "all of it again")
    assert member.membership.deliverable() == BOTH


def test_a_caller_that_does_not_poll_in_time_loses_partitions(group: Group) -> None:
    """The group does not wait; its commits of them are refused, and the next poll reports it."""
    with PolledMember(group, **QUICK).joined() as busy, PolledMember(group) as other:
        other.membership.subscribe(frozenset("t"), open_ended=False)
        other.poll_until(lambda: other.owned, "a share of a busy member's")
        (moved,) = other.owned
        assert busy.membership.deliverable() == BOTH - {moved}
        with pytest.raises(CommitFailed, match=f"{moved} went to other members"):
            busy.membership.commit(offsets(9), timeout_ms=TIMEOUT_MS)
        (stays,) = BOTH - {moved}
        assert group.offset(stays.partition) == "9"
        assert group.offset(moved.partition) is None
        busy.poll_until(lambda: len(busy.received) > 1, "the news")
        assert busy.received[1] == ("lost", numbers(frozenset({moved})))


def test_the_wait_for_a_slow_listener_is_limited(group: Group) -> None:
    """What the listener commits after that is refused."""
    with PolledMember(group, **SLOW).joined() as slow, PolledMember(group) as other:
        refused: list[CommitFailed] = []

        def flush(partitions: Partitions, why: RevocationKind) -> None:
            assert why is RevocationKind.REVOKED
            other.poll_until(lambda: other.owned, "a share that was not waited for")
            with pytest.raises(CommitFailed) as error:
                slow.membership.commit(offsets(9, *partitions), timeout_ms=TIMEOUT_MS)
            refused.append(error.value)

        slow.on_give_up = flush
        other.membership.subscribe(frozenset("t"), open_ended=False)
        slow.poll_until(lambda: refused, "a hand-over", other)
        slow.on_give_up = lambda _partitions, _why: None


def test_a_commit_is_written_while_a_rebalance_waits(group: Group, member: PolledMember) -> None:
    """The caller commits between two polls, a partition that is being handed over included."""
    member.joined()
    with PolledMember(group) as other:
        other.membership.subscribe(frozenset("t"), open_ended=False)
        other.membership.poll()
        wait_until(lambda: len(member.membership.deliverable()) == 1, what="the hand-over")
        (going,) = BOTH - member.membership.deliverable()
        member.membership.commit(offsets(5), timeout_ms=TIMEOUT_MS)
        assert group.offset(going.partition) == "5"
        found = member.membership.committed(BOTH, timeout_ms=TIMEOUT_MS)
        assert found == offsets(5)
        other.poll_until(lambda: other.owned, "the share", member)
        assert member.received[1] == ("revoked", numbers(frozenset({going})))


def test_the_end_of_the_session_takes_all_partitions_at_once(
    group: Group, member: PolledMember
) -> None:
    """Nothing is delivered from that moment on; the next polls join again."""
    member.joined()
    group.server.expire(member.store.session_id)
    assert member.membership.deliverable() <= BOTH
    member.poll_until(lambda: len(member.received) == 3, "the news")
    assert member.received[1:] == [("lost", frozenset({0, 1})), ("assigned", frozenset({0, 1}))]
    assert member.membership.deliverable() == BOTH


def test_delivery_stops_while_zookeeper_is_silent(group: Group) -> None:
    """A disconnected member can't know what it owns; the caller is woken when it is back."""
    with PolledMember(group, zookeeper_silence_percent=0).joined() as member:
        group.server.disconnect(member.store.session_id)
        assert member.membership.deliverable() == frozenset()
        member.wakeup.wait(0)
        group.server.reconnect(member.store.session_id)
        assert member.membership.deliverable() == BOTH
        member.poll_until(lambda: member.membership.state == "owning", "rest")
        assert len(member.received) == 1


def test_the_metrics_count_what_happens(group: Group, member: PolledMember) -> None:
    """Commits, losses and rebalances appear in ``metrics()``."""
    member.joined()
    member.membership.commit(offsets(1), timeout_ms=TIMEOUT_MS)
    group.server.expire(member.store.session_id)
    member.poll_until(lambda: len(member.received) == 3, "the loss")
    wait_until(lambda: member.membership.numbers()["join-total"] >= 2, what="two rebalances")
    found = member.membership.numbers()
    assert (found["commit-total"], found["lost-total"]) == (1, 1)
    assert found["join-total"] >= 2
    assert found["failed-rebalance-total"] >= 0


def test_a_commit_waits_for_zookeeper_until_its_time_out(
    group: Group, member: PolledMember
) -> None:
    """It is written if ZooKeeper is back by then, and an error otherwise."""
    member.joined()
    group.server.disconnect(member.store.session_id)
    with pytest.raises(OffsetCommitFailed):
        member.membership.commit(offsets(3), timeout_ms=150)
    with pytest.raises(RequestTimedOut):
        member.membership.committed(BOTH, timeout_ms=150)
    group.server.reconnect(member.store.session_id)
    member.membership.commit(offsets(4), timeout_ms=TIMEOUT_MS)
    assert group.offset(0) == group.offset(1) == "4"


def test_callbacks_of_asynchronous_commits_run_in_order(group: Group, member: PolledMember) -> None:
    """They run before a later synchronous commit; what they raise is logged."""
    member.joined()
    reported: list[tuple[int, str]] = []

    def done(given: Offsets, error: Exception | None) -> None:
        reported.append((given[T0].offset, type(error).__name__))
        if given[T0].offset == 1:
            raise ValueError("the caller's")

    for number in range(3):
        member.membership.commit_async(offsets(number, T0), done)
    member.membership.commit_async(offsets(3, T0, TopicPartition("t", 9)), done)
    member.membership.commit_async(offsets(4, T0), None)
    member.membership.commit(offsets(2, T0), timeout_ms=TIMEOUT_MS)
    assert reported == [(0, "NoneType"), (1, "NoneType"), (2, "NoneType"), (3, "CommitFailedError")]
    assert group.offset(0) == "2"
    member.membership.commit_async(offsets(8, T0), done)
    member.poll_until(lambda: len(reported) == 5, "the callback")


def test_without_a_subscription_anything_can_be_committed(
    group: Group, member: PolledMember
) -> None:
    """A consumer with assigned partitions does so, and never joins."""
    member.membership.poll()
    member.membership.commit(offsets(6, T0), timeout_ms=TIMEOUT_MS)
    assert group.offset(0) == "6"
    assert group.ids() == []
    found = member.membership.committed([T0, T1], timeout_ms=TIMEOUT_MS)
    assert found == {T0: OffsetAndMetadata(6), T1: None}
    with pytest.raises(OffsetCommitFailed, match="can't be an offset"):
        member.membership.commit(offsets(-1, T0), timeout_ms=TIMEOUT_MS)


def test_other_topics_need_another_join(group: Group, member: PolledMember) -> None:
    """Without topics the member leaves the group, but its session stays alive."""
    group.set_topic("u", 1)
    member.joined()
    member.membership.subscribe(frozenset("tu"), open_ended=True)
    member.poll_until(lambda: len(member.owned) == 3, "more topics")
    assert member.received[1] == ("revoked", frozenset({0, 1}))
    member.membership.subscribe(frozenset(), open_ended=True)
    member.poll_until(lambda: not member.owned, "no topics")
    wait_until(lambda: not group.ids(), what="leaving")
    with pytest.raises(CommitFailed):
        member.membership.commit(offsets(1), timeout_ms=TIMEOUT_MS)
    member.joined("u", count=1)
    member.membership.unsubscribe(TIMEOUT_MS)
    assert member.received[-1] == ("revoked", frozenset({0}))
    assert group.ids() == []
    member.joined()


def test_new_partitions_are_taken_over(group: Group, member: PolledMember) -> None:
    """No partition is given up for them."""
    member.joined()
    group.set_topic("t", 3)
    member.poll_until(lambda: len(member.owned) == 3, "the third one")
    assert member.received[1:] == [("assigned", frozenset({2}))]


def test_a_handler_that_fails_does_not_block_the_group(group: Group, member: PolledMember) -> None:
    """Poll raises its error, and the partition is handed over nevertheless."""
    member.joined()

    def fail(_partitions: Partitions, _why: RevocationKind) -> None:
        raise ValueError("the caller's")

    member.on_give_up = fail
    with PolledMember(group) as other:
        other.membership.subscribe(frozenset("t"), open_ended=False)
        with pytest.raises(ValueError, match="the caller's"):
            member.poll_until(lambda: False, "the hand-over", other)
        other.poll_until(lambda: other.owned, "the share")
    with pytest.raises(ValueError, match="the caller's"):
        member.membership.close(TIMEOUT_MS)
    assert group.ids() == []


def test_a_failed_rebalance_is_raised_by_poll(group: Group) -> None:
    """Later polls retry it."""
    group.admin.create(f"/consumers/{GROUP}/owners/t/1", b"hung-0", ephemeral=True)
    with PolledMember(group, **QUICK) as member:
        member.membership.subscribe(frozenset("t"), open_ended=False)
        with pytest.raises(RebalanceFailed, match="another owner: t-1 by hung-0"):
            member.poll_until(lambda: False, "the failure")
        assert member.membership.numbers()["failed-rebalance-total"] >= 4
        group.admin.delete_many([f"/consumers/{GROUP}/owners/t/1"])
        member.poll_until(lambda: member.owned == BOTH, "another try")


def test_an_offset_that_can_not_be_read_is_not_taken_for_none(
    group: Group, member: PolledMember
) -> None:
    """The partition with the invalid node is not read; the other one is."""
    group.write(f"/consumers/{GROUP}/offsets/t/1", b"rubbish")
    member.membership.subscribe(frozenset("t"), open_ended=False)
    with pytest.raises(PartitionFailed, match=r"t-1 stopped: .*rubbish"):
        member.poll_until(lambda: False, "the failure")
    member.poll_until(lambda: member.membership.deliverable() == {T0}, "the other one")
    with pytest.raises(PartitionFailed, match="correct or delete the node"):
        member.membership.committed(BOTH, timeout_ms=TIMEOUT_MS)


def test_a_close_without_zookeeper_is_quick_and_reports_a_loss(group: Group) -> None:
    """Nothing can be committed; the owner nodes go with the session."""
    member = PolledMember(group).joined()
    group.server.disconnect(member.store.session_id)
    member.membership.close(1_000)
    assert member.received[1:] == [("lost", frozenset({0, 1}))]
    with pytest.raises(ConsumerClosed):
        member.membership.commit(offsets(1), timeout_ms=TIMEOUT_MS)
    reported: list[Exception | None] = []
    member.membership.commit_async(offsets(1), lambda _offsets, error: reported.append(error))
    member.membership.unsubscribe(TIMEOUT_MS)
    assert [type(exception) for exception in reported] == [ConsumerClosed]
    member.membership.close(1_000)


def test_leaving_respects_its_time_out(group: Group) -> None:
    """If the control thread is busy until then, the partitions are lost instead of revoked."""
    released = threading.Event()
    with PolledMember(group).joined() as member:
        reply: Reply[bool] = Reply()
        control = member.membership._control
        control.mailbox.put(ControlTask(lambda: released.wait(20), reply))
        began_ms = SystemClock().now_ms()
        try:
            member.membership.unsubscribe(200)
            assert 200 <= SystemClock().now_ms() - began_ms < 15_000
        finally:
            released.set()
        assert reply.wait(TIMEOUT_MS) == (True, True)
        assert member.received[1:] == [("lost", frozenset({0, 1}))]


def test_a_requested_rebalance_reads_the_group_again(group: Group, member: PolledMember) -> None:
    """A partition that was lost unnoticed is claimed again, and the other one does not move."""
    member.joined()
    group.admin.delete_many([f"/consumers/{GROUP}/owners/t/1"])
    member.membership.rejoin()
    member.poll_until(lambda: len(member.received) == 3, "what was lost and taken again")
    assert member.received[1:] == [("lost", frozenset({1})), ("assigned", frozenset({1}))]
    member.membership.on_topics_changed(NOTHING_KNOWN)


def test_a_caller_that_stops_polling_leaves_the_group(
    group: Group, caplog: pytest.LogCaptureFixture
) -> None:
    """Others can get its partitions; its next poll joins again, which is logged."""
    with PolledMember(group, max_poll_interval_ms=1_000, **QUICK).joined() as member:
        wait_until(lambda: not group.ids(), what="leaving")
        assert group.owners() == {}
        assert member.membership.deliverable() == frozenset()
        with pytest.raises(CommitFailed):
            member.membership.commit(offsets(1), timeout_ms=TIMEOUT_MS)
        member.poll_until(lambda: len(member.received) == 3, "coming back")
        assert member.received[1:] == [("lost", frozenset({0, 1})), ("assigned", frozenset({0, 1}))]
        assert "after 1000 ms without a poll" in caplog.text
        wait_until(lambda: not group.ids(), what="leaving again")


def test_leaving_while_zookeeper_is_away_loses_the_partitions(group: Group) -> None:
    """Others may have read on meanwhile, so a partition that comes back is a new assignment."""
    with PolledMember(group, max_poll_interval_ms=1_000, **QUICK).joined() as member:
        session_id = member.store.session_id
        group.server.disconnect(session_id)
        wait_until(lambda: not member.membership.deliverable(), what="leaving")
        group.server.reconnect(session_id)
        wait_until(lambda: not group.ids(), what="what was left undone")
        member.poll_until(lambda: member.membership.deliverable() == BOTH, "coming back")
        assert member.received[1:] == [("lost", frozenset({0, 1})), ("assigned", frozenset({0, 1}))]


@pytest.mark.parametrize("leave", ["unsubscribe", "close"])
def test_the_last_commit_is_made_as_a_member(group: Group, leave: str) -> None:
    """While leaving, a commit of a partition of others is refused as before."""
    member = PolledMember(group).joined()
    foreign = TopicPartition("t", 9)

    def commit(partitions: Partitions, _why: RevocationKind) -> None:
        member.membership.commit(offsets(2, *partitions), timeout_ms=TIMEOUT_MS)
        with pytest.raises(CommitFailed):
            member.membership.commit(offsets(2, foreign), timeout_ms=TIMEOUT_MS)

    member.on_give_up = commit
    getattr(member.membership, leave)(TIMEOUT_MS)
    assert member.received[-1] == ("revoked", frozenset({0, 1}))
    assert (group.offset(0), group.offset(9)) == ("2", None)
    if leave == "unsubscribe":
        member.membership.commit(offsets(3, foreign), timeout_ms=TIMEOUT_MS)
        assert group.offset(9) == "3"
    member.membership.close(TIMEOUT_MS)


def test_commits_of_partitions_lost_with_the_session_are_refused(
    group: Group, member: PolledMember
) -> None:
    """A listener that commits in on_partitions_lost does not overwrite the next owner's."""
    member.joined()
    refused: list[bool] = []

    def commit(partitions: Partitions, why: RevocationKind) -> None:
        assert why is RevocationKind.LOST
        # By now the control thread may have joined again and own them once more.
        with pytest.raises(CommitFailed):
            member.membership.commit(offsets(2, *partitions), timeout_ms=TIMEOUT_MS)
        refused.append(True)
        member.on_give_up = lambda _partitions, _why: None

    member.on_give_up = commit
    group.server.expire(member.store.session_id)
    member.poll_until(lambda: refused, "the loss")
    member.poll_until(lambda: member.owned == BOTH, "all of it again")
