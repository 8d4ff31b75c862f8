"""On real threads: what the unit tests of the same name do not hold."""

import pytest

from tests.support.control_bench import ControlledMember, Group
from tests.support.listening import NotedListener
from tests.support.memory_connector import MemoryConnector
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConsumerClosed, MessageStreamsExist
from zkconsumer.model import TopicPartition

T0 = TopicPartition("t", 0)


def test_a_shutdown_in_the_listener_of_a_real_thread_does_not_block() -> None:
    """It returns at once; whoever joined meanwhile has been answered; the streams end."""
    group = Group(time=SystemClock())
    member = ControlledMember(group, "a")
    with MemoryConnector(member) as connector:
        listener = NotedListener(on_start=lambda _: connector.shutdown())
        connector.set_consumer_rebalance_listener(listener)
        [stream] = connector.create_message_streams({"t": 1})["t"]
        assert list(stream) == []
        wait_until(lambda: member.control.done, what="the end of the thread")
        assert (group.ids(), group.owners()) == ([], {})
        assert len(listener.assigned) == 1


def test_a_shutdown_in_the_listener_alone_leaves_no_session() -> None:
    """Nobody else may ever call it: what it asked for is brought to its end."""
    group = Group(time=SystemClock())
    member = ControlledMember(group, "a")
    connector = MemoryConnector(member)
    connector.set_consumer_rebalance_listener(
        NotedListener(on_start=lambda _: connector.shutdown())
    )
    connector.create_message_streams({"t": 1})
    wait_until(lambda: not member.store.connected, what="the end of the session")
    assert (group.ids(), group.owners()) == ([], {})


def test_a_commit_in_the_listener_of_a_real_thread_does_not_block() -> None:
    """It is served there and then, on the thread that would otherwise serve it later."""
    group = Group(time=SystemClock())
    counts: list[int] = []
    connector = MemoryConnector(ControlledMember(group, "a", auto_commit=False))
    connector.set_consumer_rebalance_listener(
        NotedListener(lambda _share: counts.append(connector.commit_offsets()))
    )
    [stream] = connector.create_message_streams({"t": 1})["t"]
    connector.member.deliver(T0, [0, 1])
    assert next(stream).offset == 0
    connector.shutdown()
    assert counts == [1]
    assert group.offset(0) == "1"


def test_it_is_set_before_the_streams_are_created() -> None:
    """Later the first rebalance would have passed it by; after the end there is none to come."""
    connector = MemoryConnector(ControlledMember(Group(time=SystemClock()), "a"))
    connector.set_consumer_rebalance_listener(NotedListener())
    connector.set_consumer_rebalance_listener(None)
    connector.create_message_streams({"t": 1})
    with pytest.raises(MessageStreamsExist):
        connector.set_consumer_rebalance_listener(NotedListener())
    connector.shutdown()
    with pytest.raises(ConsumerClosed):
        connector.set_consumer_rebalance_listener(None)
