"""How partitions and their leaders are counted by broker."""

from zkconsumer.model import TopicPartition
from zkconsumer.status.broker_load import BrokerLoad, broker_loads
from zkconsumer.status.model import PartitionStatus, TopicStatus


def _topic(*partitions: tuple[int | None, tuple[int, ...], tuple[int, ...]]) -> TopicStatus:
    """A topic: leader, replicas and those in sync of each partition."""
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
    """The first replica is preferred, whoever leads; nobody leads the last partition."""
    topic = _topic((1, (1, 2), (1, 2)), (1, (2, 1), (1,)), (None, (2, 3), ()))
    assert broker_loads([topic]) == {
        1: BrokerLoad(leads=2, preferred=1, replicas=2, behind=0),
        2: BrokerLoad(leads=0, preferred=2, replicas=3, behind=2),
        3: BrokerLoad(leads=0, preferred=0, replicas=1, behind=1),
    }


def test_a_replica_that_is_named_twice_counts_once() -> None:
    """A broken node of a topic may say so."""
    assert broker_loads([_topic((1, (1, 1), ()))]) == {1: BrokerLoad(1, 1, 1, 1)}


def test_who_leads_without_a_replica_counts_as_leader() -> None:
    """As while replicas are reassigned."""
    assert broker_loads([_topic((4, (1,), (1,)))])[4] == BrokerLoad(leads=1)


def test_no_topics_are_no_load() -> None:
    """Nobody is made up."""
    assert broker_loads([]) == {}
