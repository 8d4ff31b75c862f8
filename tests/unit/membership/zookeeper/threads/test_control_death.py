"""What happens when the control thread dies of an unexpected error."""

import pytest

from tests.support.control_bench import Group
from zkconsumer.errors import ConsumerClosed
from zkconsumer.membership.zookeeper.threads.messages import CloseRequest, ControlTask, ThreadDied
from zkconsumer.membership.zookeeper.threads.reply import Reply


def test_a_member_that_dies_leaves_its_partitions_to_the_others() -> None:
    """Its streams raise, and its session ends: a registered, dead member would block the group."""
    group = Group()
    dying, other = group.joined("a"), group.joined("b")
    group.members.remove(dying)
    dying.control.mailbox.put(ThreadDied(ZeroDivisionError("a bug")))
    with pytest.raises(ZeroDivisionError):
        dying.control.run()
    with pytest.raises(ConsumerClosed, match="a bug"):
        next(dying.stream())
    assert list(dying.stream()) == []
    assert group.ids() == [other.consumer_id]
    group.settle()
    assert group.owners() == {0: f"{other.consumer_id}-0", 1: f"{other.consumer_id}-0"}


def test_requests_that_wait_while_a_caller_is_attended_are_refused_if_the_member_dies() -> None:
    """Otherwise callers that wait for a commit would wait for ever."""
    group = Group()
    member = group.joined("a")
    group.members.remove(member)
    control = member.control

    def fail() -> None:
        raise ZeroDivisionError("a bug")

    def attend() -> None:
        control._backlog.extend(control.mailbox.drain())
        control.attend(lambda: False, group.clock.now_ms() + 60_000)

    control.mailbox.put(ControlTask(attend, Reply()))
    control.mailbox.put(ControlTask(fail, Reply()))
    commit = member.commit()
    with pytest.raises(ZeroDivisionError):
        control.run()
    with pytest.raises(ConsumerClosed, match="group g: shut down"):
        commit.reply.wait(0)


def test_a_thread_with_the_id_of_an_ended_control_thread_is_another_thread() -> None:
    """Operating systems reuse thread ids at once; a thread must not be taken for the dead one."""
    group = Group()
    member = group.joined("a")
    group.members.remove(member)
    seen: list[bool] = []
    member.control.mailbox.put(ControlTask(lambda: seen.append(member.control.is_current), Reply()))
    member.control.mailbox.put(CloseRequest())
    member.control.run()
    assert seen == [True]
    assert not member.control.is_current
