"""Counts how partitions and their leaders are distributed over the brokers. Pure."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from zkconsumer.status.model import TopicStatus


class BrokerLoad(NamedTuple):
    """The partitions of one broker.

    Attributes:
        leads: the number of partitions that it leads.
        preferred: the number of partitions whose first replica it is.
        replicas: the number of partitions of which it has a replica.
        behind: the number of these replicas that are not in sync.
    """

    leads: int = 0
    preferred: int = 0
    replicas: int = 0
    behind: int = 0


def broker_loads(topics: Iterable[TopicStatus]) -> dict[int, BrokerLoad]:
    """Return the load of each broker that leads partitions or has replicas, by its id."""
    leads, preferred, replicas, behind = (
        Counter[int](),
        Counter[int](),
        Counter[int](),
        Counter[int](),
    )
    for topic in topics:
        for partition in topic.partitions:
            assigned = set(partition.replicas)  # a malformed list may repeat a broker
            leads.update(() if partition.leader is None else (partition.leader,))
            preferred.update(partition.replicas[:1])
            replicas.update(assigned)
            behind.update(assigned.difference(partition.in_sync))
    return {
        broker_id: BrokerLoad(
            leads[broker_id], preferred[broker_id], replicas[broker_id], behind[broker_id]
        )
        for broker_id in leads.keys() | replicas.keys()
    }
