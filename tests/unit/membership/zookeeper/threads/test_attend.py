"""Which messages the control thread serves while it waits for a caller to release partitions."""

import pytest

from tests.support.control_bench import ControlledMember, Group
from zkconsumer.errors import ConsumerClosed
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.model import TopicPartition

T0 = TopicPartition("t", 0)
LONG_MS = 60_000


class FalseTimes:
    """A condition that is false for a number of calls, then true."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


def attend(
    group: Group, member: ControlledMember, ended: FalseTimes, for_ms: int = LONG_MS
) -> None:
    """Let the control thread wait for a caller."""
    member.control.attend(ended, group.clock.now_ms() + for_ms)


def test_the_end_of_the_session_ends_the_wait() -> None:
    """There is nothing left to wait for; the event is handled after the wait, in its turn."""
    group = Group()
    member = group.joined("a")
    member.control.mailbox.put(ev.SessionEnded(member.store.session_id))
    ended = FalseTimes(5)
    attend(group, member, ended)
    assert ended.left == 4
    group.settle()
    assert member.owned() == {}


def test_commits_are_served_at_once_and_other_messages_wait() -> None:
    """All other messages keep their order."""
    group = Group()
    member = group.joined("a")
    member.deliver(T0, [0, 1])
    member.consume(1)
    closing = member.close()
    commit = member.commit()
    attend(group, member, FalseTimes(2))
    assert commit.reply.wait(0) == (1, True)
    assert closing.reply.wait(0) == (None, False)
    assert group.offset(0) == "1"
    group.settle()
    assert closing.reply.wait(0) == (None, True)


@pytest.mark.parametrize("for_ms", [0, -5])
def test_after_the_deadline_nothing_is_waited_for(for_ms: int) -> None:
    """Messages that are in the mailbox by then are handled after the wait."""
    group = Group()
    member = group.joined("a")
    commit = member.commit()
    attend(group, member, FalseTimes(5), for_ms)
    assert commit.reply.wait(0) == (None, False)
    group.settle()
    assert commit.reply.wait(0) == (0, True)


def test_a_join_after_a_close_is_refused() -> None:
    """Otherwise its caller would wait for ever."""
    group = Group()
    member = group.member("a")
    member.close()
    join = member.join({"t": 1})
    group.settle()
    with pytest.raises(ConsumerClosed):
        join.reply.wait(0)
