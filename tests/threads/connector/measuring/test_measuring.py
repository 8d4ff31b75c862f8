"""A connector's metrics on real threads: what it counts, and what it reads on demand."""

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
    """The metrics of a connector without streams."""
    return Measuring(NAME, client_id="c", clock=clock, random=lambda: 0.5)


def test_observing_does_not_wait_for_an_interrupted_reader() -> None:
    """A signal handler may close the connector, whose threads report it, or read metrics."""
    own = measuring(ManualClock())
    with own._counting:
        reporter = threading.Thread(  # noqa: TID251 - not one of ours
            target=own.observe, args=(NAME, RebalanceTryFailed(1, 2, "x"))
        )
        reporter.start()
        reporter.join(5)
        assert not reporter.is_alive()
        assert own.read().failed_tries == 0
    assert own.read().failed_tries == 1


# --- of a connector -------------------------------------------------------------------------------


def test_a_connector_has_the_metrics_of_its_streams() -> None:
    """They have the original's names; closing removes its own and no other connector's."""
    group = Group(time=SystemClock())
    with MemoryConnector(ControlledMember(group, "a")) as connector:
        streams = connector.create_message_streams({"t": 1})["t"]
        member = connector.member
        member.deliver(T0, [0, 1])
        next(streams[0])
        metrics = connector.metrics()
        owned = "kafka.consumer:type=ZookeeperConsumerConnector,name=OwnedPartitionsCount"
        assert metrics[f"{owned},clientId=g,groupId=g"] == {"Value": 2}
        messages = "kafka.consumer:type=ConsumerTopicMetrics,name=MessagesPerSec,clientId=g"
        assert metrics[f"{messages},topic=t"]["Count"] == 1
        with MemoryConnector(ControlledMember(group, "b")) as other:
            assert other.metrics()
        assert connector.metrics().keys() == metrics.keys()
        assert other.metrics() == {}
    assert connector.metrics() == {}
    assert connector.numbers().messages.events == 1


def test_the_streams_of_a_filter_are_distinguished_by_thread_number() -> None:
    """A stream without a partition has no topic so far, and no gauge."""
    group = Group(partitions=1, time=SystemClock())
    with MemoryConnector(ControlledMember(group, "a")) as connector:
        connector.create_message_streams_by_filter(Whitelist("t"), 2)
        sizes = [name for name in connector.metrics() if "FetchQueueSize" in name]
        assert sizes == [
            "kafka.consumer:type=ZookeeperConsumerConnector,name=FetchQueueSize,"
            "clientId=g,topic=t,threadId=0"
        ]
        assert len(connector.numbers().queues) == 2
