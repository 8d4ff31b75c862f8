"""The rebalance listener, on real threads (the unit tests of the same name hold the rest)."""

import pytest

from tests.support.control_bench import ControlledMember, Group
from tests.support.memory_connector import MemoryConnector
from tests.support.recording_listener import RecordingListener
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConsumerClosed, MessageStreamsExist
from zkconsumer.model import TopicPartition

T0 = TopicPartition("t", 0)


def test_a_shutdown_in_the_listener_does_not_block() -> None:
    """It returns at once; the call that joins returns, too, and the streams end."""
    group = Group(time=SystemClock())
    member = ControlledMember(group, "a")
    with MemoryConnector(member) as connector:
        listener = RecordingListener(on_start=lambda _: connector.shutdown())
        connector.set_consumer_rebalance_listener(listener)
        [stream] = connector.create_message_streams({"t": 1})["t"]
        assert list(stream) == []
        wait_until(lambda: member.control.done, what="the end of the thread")
        assert (group.ids(), group.owners()) == ([], {})
        assert len(listener.assigned) == 1


def test_a_shutdown_in_the_listener_alone_leaves_no_session() -> None:
    """The shutdown is completed even if nobody calls it again."""
    group = Group(time=SystemClock())
    member = ControlledMember(group, "a")
    connector = MemoryConnector(member)
    connector.set_consumer_rebalance_listener(
        RecordingListener(on_start=lambda _: connector.shutdown())
    )
    connector.create_message_streams({"t": 1})
    wait_until(lambda: not member.store.connected, what="the end of the session")
    assert (group.ids(), group.owners()) == ([], {})


def test_a_commit_in_the_listener_does_not_block() -> None:
    """It is written at once, in the thread that would otherwise write it later."""
    group = Group(time=SystemClock())
    counts: list[int] = []
    connector = MemoryConnector(ControlledMember(group, "a", auto_commit=False))
    connector.set_consumer_rebalance_listener(
        RecordingListener(lambda _share: counts.append(connector.commit_offsets()))
    )
    [stream] = connector.create_message_streams({"t": 1})["t"]
    connector.member.deliver(T0, [0, 1])
    assert next(stream).offset == 0
    connector.shutdown()
    assert counts == [1]
    assert group.offset(0) == "1"


def test_a_listener_is_set_before_the_streams_are_created() -> None:
    """Later it would miss the first rebalance, and after the shutdown there is none."""
    connector = MemoryConnector(ControlledMember(Group(time=SystemClock()), "a"))
    connector.set_consumer_rebalance_listener(RecordingListener())
    connector.set_consumer_rebalance_listener(None)
    connector.create_message_streams({"t": 1})
    with pytest.raises(MessageStreamsExist):
        connector.set_consumer_rebalance_listener(RecordingListener())
    connector.shutdown()
    with pytest.raises(ConsumerClosed):
        connector.set_consumer_rebalance_listener(None)
