"""The interface of sources of brokers, topics and leaders: ZooKeeper, or the brokers."""

from typing import Protocol

from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.values import ClusterRead


class ClusterSource(Protocol):
    """The source of brokers and topics: ``ZookeeperSource`` or ``BrokerSource``.

    Thread: one reads at a time; ``close``: any.
    """

    @property
    def part(self) -> str:
        """The part that fails if this can't be read, in plain words."""
        ...

    @property
    def requested(self) -> str:
        """The addressee that did not respond in time."""
        ...

    def read(self, deadline: Deadline) -> ClusterRead:
        """Read until the deadline.

        Raises:
            ZkConsumerError: no usable response.
        """
        ...

    def close(self) -> None:
        """Interrupt a running read. Idempotent."""
        ...
