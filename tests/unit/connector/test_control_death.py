"""The control thread after an error that nobody foresaw."""

import pytest

from tests.support.control_bench import Group
from zkconsumer.connector.messages import ThreadDied
from zkconsumer.errors import ConsumerClosed


def test_a_member_that_dies_leaves_its_share_to_the_others() -> None:
    """Its streams raise, and its session ends: registered and dead it would block the group."""
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
