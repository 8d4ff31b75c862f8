"""How the sandbox assigns replicas to brokers, and which topic names it refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox.topics import TopicAdmin, spread
from zkconsumer.sandbox.versions import kafka_version
from zkconsumer.sandbox.zookeeper_client import ZooKeeperClient


def test_replicas_are_assigned_round_robin() -> None:
    """The first replica of partition p is on broker p modulo N, the others on the next brokers."""
    assert spread(range(4), [0, 1, 2], 2) == {0: [0, 1], 1: [1, 2], 2: [2, 0], 3: [0, 1]}


def test_new_partitions_go_on_where_the_old_ones_ended() -> None:
    """A topic that grows in two steps has the same assignment as one that is created at once."""
    at_once = spread(range(7), [0, 1, 2], 1)
    assert spread(range(3), [0, 1, 2], 1) | spread(range(3, 7), [0, 1, 2], 1) == at_once


@given(st.integers(1, 40), st.integers(1, 8), st.data())
def test_a_broker_has_at_most_one_replica_of_a_partition(
    partitions: int, brokers: int, data: st.DataObject
) -> None:
    """With any replication up to the number of brokers, a partition's replicas are distinct."""
    replication = data.draw(st.integers(1, brokers))
    assignment = spread(range(partitions), range(brokers), replication)
    assert list(assignment) == list(range(partitions))
    assert all(len(set(ids)) == replication for ids in assignment.values())


def test_a_topic_whose_folder_no_file_system_takes_is_refused() -> None:
    """A name too long for a folder is refused: Kafka 0.8 accepts it, and its brokers then fail."""

    def connect() -> ZooKeeperClient:
        raise AssertionError("nothing is asked")

    topics = TopicAdmin(
        kafka_version("0.8.2.2"), "", connect=connect, live_brokers=list, timeout_ms=1
    )
    for name in ("t" * 250, "no/slash", ".."):
        with pytest.raises(SandboxError, match="is not a topic name"):
            topics.create(name, {0: [0]}, {})
