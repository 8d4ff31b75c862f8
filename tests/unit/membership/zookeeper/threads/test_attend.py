"""What the control thread serves while it waits for a caller who is told of a rebalance."""

import pytest

from tests.support.control_bench import ControlledMember, Group
from zkconsumer.errors import ConsumerClosed
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.model import TopicPartition

T0 = TopicPartition("t", 0)
LONG_MS = 60_000


class Looks:
    """Says so often that the caller is not done, and then that he is."""

    def __init__(self, most: int) -> None:
        self.left = most

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


def attend(group: Group, member: ControlledMember, snapshots: Looks, for_ms: int = LONG_MS) -> None:
    """Wait for a caller on the control thread."""
    member.control.attend(snapshots, group.clock.now_ms() + for_ms)


def test_the_end_of_the_session_ends_the_wait() -> None:
    """There is nothing left to wait for; it is dealt with behind the wait, with all else."""
    group = Group()
    member = group.joined("a")
    member.control.mailbox.put(ev.SessionEnded(member.store.session_id))
    snapshots = Looks(5)
    attend(group, member, snapshots)
    assert snapshots.left == 4
    group.settle()
    assert member.owned() == {}


def test_commits_are_served_at_once_and_all_else_waits() -> None:
    """In the order in which it came."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0, 1])
    member.consume(1)
    closing = member.close()
    commit = member.commit()
    attend(group, member, Looks(2))
    assert commit.reply.wait(0) == (1, True)
    assert closing.reply.wait(0) == (None, False)
    assert group.offset(0) == "1"
    group.settle()
    assert closing.reply.wait(0) == (None, True)


@pytest.mark.parametrize("for_ms", [0, -5])
def test_behind_the_deadline_nothing_is_waited_for(for_ms: int) -> None:
    """Nor is anything taken that came too late; it is dealt with behind the wait."""
    group = Group()
    member = group.joined("a")
    commit = member.commit()
    attend(group, member, Looks(5), for_ms)
    assert commit.reply.wait(0) == (None, False)
    group.settle()
    assert commit.reply.wait(0) == (0, True)


def test_a_join_behind_the_close_is_refused() -> None:
    """Its caller would wait for ever."""
    group = Group()
    member = group.member("a")
    member.close()
    join = member.join({"t": 1})
    group.settle()
    with pytest.raises(ConsumerClosed):
        join.reply.wait(0)
