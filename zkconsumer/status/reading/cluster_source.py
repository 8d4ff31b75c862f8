"""Who tells brokers, topics and leaders: ZooKeeper's nodes, or the brokers themselves."""

from typing import Protocol

from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.values import ClusterRead


class ClusterSource(Protocol):
    """``ZookeeperSource`` and ``BrokerSource`` are the two that there are.

    Thread: one reads at a time; ``close``: any.
    """

    @property
    def part(self) -> str:
        """What can't be read where this can't, in plain words."""
        ...

    @property
    def requested(self) -> str:
        """Who was silent where no response came in time."""
        ...

    def read(self, deadline: Deadline) -> ClusterRead:
        """Ask, until the deadline.

        Raises:
            ZkConsumerError: nobody answers in a way that can be used.
        """
        ...

    def close(self) -> None:
        """Break off what is under way. Idempotent."""
        ...
