"""A model cluster for tests of planning: each log is just two offsets."""

from collections.abc import Collection, Mapping, Sequence

from zkconsumer.model import Broker, TopicPartition
from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.subscription import Subscription

BROKER = Broker(1, "model", 9092)


class ModelCluster(ClusterReader):
    """A cluster that answers from dictionaries.

    Args:
        ends: the log end offset of each partition of topic ``t``, as ``p0=10``; logs start at 0.

    Attributes:
        logs: log start and end offset by partition.
        times: the result of lookups by time.
        created: creation ids by topic; empty if unknown.
    """

    def __init__(self, **ends: int) -> None:
        self.logs = {TopicPartition("t", int(name[1:])): (0, end) for name, end in ends.items()}
        self.times: dict[TopicPartition, int] = {}
        self.created: dict[str, str] = {}
        self.closed = False

    @property
    def are_old(self) -> bool:
        """See ``ClusterReader``."""
        return True

    def append(self, tp: TopicPartition, count: int) -> None:
        """Append messages; creates the partition if it does not exist."""
        first, end = self.logs.get(tp, (0, 0))
        self.logs[tp] = (first, end + count)

    def brokers(self) -> tuple[Broker, ...]:
        """See ``ClusterReader``."""
        return (BROKER,)

    def partitions(self, subscription: Subscription) -> tuple[TopicPartition, ...]:
        """See ``ClusterReader``."""
        return subscription.wanted(self.logs)

    def creations(self, topics: Collection[str]) -> dict[str, str]:
        """See ``ClusterReader``."""
        return {
            topic: creation_id for topic, creation_id in self.created.items() if topic in topics
        }

    def leaders(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Broker]:
        """See ``ClusterReader``."""
        return dict.fromkeys(partitions, BROKER)

    def earliest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """See ``ClusterReader``."""
        return {tp: self.logs[tp][0] for tp in partitions}

    def latest(
        self,
        partitions: Sequence[TopicPartition],
        *,
        known: Mapping[TopicPartition, int] | None = None,  # noqa: ARG002 - never in doubt
    ) -> dict[TopicPartition, int]:
        """See ``ClusterReader``."""
        return {tp: self.logs[tp][1] for tp in partitions}

    def at_time(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """See ``ClusterReader``."""
        return {tp: self.times[tp] for tp in times}

    def until_time(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """See ``ClusterReader``."""
        return {tp: self.times[tp] for tp in times}

    def close(self) -> None:
        """See ``ClusterReader``."""
        self.closed = True
