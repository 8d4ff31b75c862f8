"""A connector's numbers: what it hears, and what it looks at: on real threads."""

import threading

from tests.support.chunks import T0
from tests.support.control_bench import ControlledMember, Group
from tests.support.manual_clock import ManualClock
from tests.support.memory_connector import MemoryConnector
from zkconsumer.assignment.filters import Whitelist
from zkconsumer.clock import SystemClock
from zkconsumer.connector.measuring.measuring import Measuring
from zkconsumer.observe import MemberName, RebalanceTryFailed

NAME = MemberName("g", "g_1")


def measuring(clock: ManualClock) -> Measuring:
    """One that looks at nothing yet."""
    return Measuring(NAME, client_id="c", clock=clock, random=lambda: 0.5)


def test_nobody_waits_for_a_reader_that_was_interrupted() -> None:
    """Its handler may end the connector, whose threads tell of it; and may ask for numbers, too."""
    ours = measuring(ManualClock())
    with ours._counting:
        teller = threading.Thread(  # noqa: TID251 - not one of ours
            target=ours.observe, args=(NAME, RebalanceTryFailed(1, 2, "x"))
        )
        teller.start()
        teller.join(5)
        assert not teller.is_alive()
        assert ours.read().failed_tries == 0
    assert ours.read().failed_tries == 1


# --- of a connector -------------------------------------------------------------------------------


def test_a_connector_tells_the_numbers_of_its_streams() -> None:
    """Under the original's names; its end takes them away, and those of nobody else."""
    group = Group(time=SystemClock())
    with MemoryConnector(ControlledMember(group, "a")) as connector:
        streams = connector.create_message_streams({"t": 1})["t"]
        member = connector.member
        member.deliver(T0, [0, 1])
        next(streams[0])
        found = connector.metrics()
        owned = "kafka.consumer:type=ZookeeperConsumerConnector,name=OwnedPartitionsCount"
        assert found[f"{owned},clientId=g,groupId=g"] == {"Value": 2}
        messages = "kafka.consumer:type=ConsumerTopicMetrics,name=MessagesPerSec,clientId=g"
        assert found[f"{messages},topic=t"]["Count"] == 1
        with MemoryConnector(ControlledMember(group, "b")) as other:
            assert other.metrics()
        assert connector.metrics().keys() == found.keys()
        assert other.metrics() == {}
    assert connector.metrics() == {}
    assert connector.numbers().messages.events == 1


def test_the_streams_of_a_filter_are_told_apart_by_their_numbers() -> None:
    """One that got no partition has no topic yet, and no gauge."""
    group = Group(partitions=1, time=SystemClock())
    with MemoryConnector(ControlledMember(group, "a")) as connector:
        connector.create_message_streams_by_filter(Whitelist("t"), 2)
        sizes = [name for name in connector.metrics() if "FetchQueueSize" in name]
        assert sizes == [
            "kafka.consumer:type=ZookeeperConsumerConnector,name=FetchQueueSize,"
            "clientId=g,topic=t,threadId=0"
        ]
        assert len(connector.numbers().queues) == 2
