"""Listeners that fail, on real threads (the unit tests of the same name hold the rest)."""

import pytest

from tests.support.control_bench import ControlledMember, Group
from tests.support.memory_connector import MemoryConnector
from tests.support.recording_listener import RecordingListener, Share
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConsumerClosed


def test_a_listener_that_exits_ends_its_member_but_not_the_group() -> None:
    """After ``SystemExit`` the member's session ends, and its streams raise the reason."""
    group = Group(time=SystemClock())
    member = ControlledMember(group, "a")

    def leave(_share: Share) -> None:
        raise SystemExit(3)

    connector = MemoryConnector(member)
    connector.set_consumer_rebalance_listener(RecordingListener(leave))
    [stream] = connector.create_message_streams({"t": 1})["t"]
    other = MemoryConnector(ControlledMember(group, "0"))
    other.create_message_streams({"t": 1})
    with pytest.raises(ConsumerClosed, match="control thread died"):
        next(stream)
    wait_until(lambda: group.owners() == {0: "g_0-0", 1: "g_0-0"}, what="the other's share")
    assert group.ids() == ["g_0"]
    connector.shutdown()
    other.shutdown()


def test_a_shutdown_does_not_wait_for_a_listener_that_hangs() -> None:
    """Its time is limited; the nodes go with the session, so that others can claim all."""
    group = Group(time=SystemClock())
    released: list[bool] = []
    connector = MemoryConnector(ControlledMember(group, "a"), shutdown_timeout_ms=300)
    connector.set_consumer_rebalance_listener(
        RecordingListener(lambda _share: wait_until(lambda: released, what="the test's end"))
    )
    [stream] = connector.create_message_streams({"t": 1})["t"]
    connector.shutdown()
    assert (group.ids(), group.owners()) == ([], {})
    released.append(True)
    assert list(stream) == []
    wait_until(lambda: connector.closed, what="the end of the thread")
