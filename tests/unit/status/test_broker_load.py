"""The numbers of leaders and replicas for each broker."""

from zkconsumer.model import TopicPartition
from zkconsumer.status.broker_load import BrokerLoad, broker_loads
from zkconsumer.status.model import PartitionStatus, TopicStatus


def _topic(*partitions: tuple[int | None, tuple[int, ...], tuple[int, ...]]) -> TopicStatus:
    """Return a topic, from leader, replicas and in-sync replicas of each partition."""
    return TopicStatus(
        name="t",
        partitions=tuple(
            PartitionStatus(
                topic_partition=TopicPartition("t", number),
                leader=leader,
                replicas=replicas,
                in_sync=in_sync,
            )
            for number, (leader, replicas, in_sync) in enumerate(partitions)
        ),
        seen_ms=0,
    )


def test_each_broker_with_partitions_has_its_load() -> None:
    """The first replica is the preferred one, whichever broker leads, or none does."""
    topic = _topic((1, (1, 2), (1, 2)), (1, (2, 1), (1,)), (None, (2, 3), ()))
    assert broker_loads([topic]) == {
        1: BrokerLoad(leads=2, preferred=1, replicas=2, behind=0),
        2: BrokerLoad(leads=0, preferred=2, replicas=3, behind=2),
        3: BrokerLoad(leads=0, preferred=0, replicas=1, behind=1),
    }


def test_a_replica_that_is_named_twice_counts_once() -> None:
    """A replica that a malformed node names twice counts once."""
    assert broker_loads([_topic((1, (1, 1), ()))]) == {1: BrokerLoad(1, 1, 1, 1)}


def test_a_leader_without_a_replica_counts() -> None:
    """A leader without a replica counts as leader, as during a reassignment."""
    assert broker_loads([_topic((4, (1,), (1,)))])[4] == BrokerLoad(leads=1)


def test_no_topics_are_no_load() -> None:
    """Without topics there is no load."""
    assert broker_loads([]) == {}
