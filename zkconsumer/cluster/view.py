"""A snapshot of the cluster as one broker described it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from zkconsumer.model import Broker, TopicPartition
from zkconsumer.wire.error_codes import ErrorCode
from zkconsumer.wire.messages.metadata import MetadataResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """Who leads what.

    Attributes:
        brokers: the live brokers by id.
        leaders: the leader of every partition that has one among them.
        leaderless: the partitions without one, each with its error code.
        errors: the error code of every topic that has one.
    """

    brokers: Mapping[int, Broker]
    leaders: Mapping[TopicPartition, Broker]
    leaderless: Mapping[TopicPartition, int]
    errors: Mapping[str, int]


def from_metadata(response: MetadataResponse) -> ClusterView:
    """Read a metadata answer.

    A partition with error 9 (a replica is down) has a leader all the same. Partition ids may have
    gaps. A leader that is not among the brokers is as good as none.
    """
    brokers = {one.id: Broker(one.id, one.host, one.port) for one in response.brokers}
    leaders: dict[TopicPartition, Broker] = {}
    leaderless: dict[TopicPartition, int] = {}
    errors: dict[str, int] = {}
    for topic in response.topics:
        if topic.error_code != ErrorCode.NONE:
            errors[topic.topic] = topic.error_code
        for partition in topic.partitions:
            tp = TopicPartition(topic.topic, partition.partition)
            leader = brokers.get(partition.leader)
            if leader is None:
                leaderless[tp] = partition.error_code
            else:
                leaders[tp] = leader
    return ClusterView(brokers=brokers, leaders=leaders, leaderless=leaderless, errors=errors)
