"""The input of a Spark task: plain values, planned on the driver and sent to an executor."""

from dataclasses import dataclass, field

from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.model import Broker, OffsetRange, TopicPartition
from zkconsumer.net.security import PLAINTEXT, SecuritySettings
from zkconsumer.spark.compat import InputPartition


@dataclass(frozen=True, kw_only=True)
class ZkInputPartition(InputPartition):
    """A range of one partition, with the data needed to read it without ZooKeeper.

    A retried task reads the same range, and so the same records.

    Attributes:
        range_: the range.
        leader: the leader at planning time; None: to be looked up.
        brokers: the brokers to request the leader from.
        settings: the settings for reading.
        security: TLS and authentication to brokers; not in ``repr``.
        are_old: whether all brokers are of 0.8 or 0.9, which get no ApiVersions request.
    """

    range_: OffsetRange
    leader: Broker | None
    brokers: tuple[Broker, ...]
    settings: RangeSettings
    security: SecuritySettings = field(default=PLAINTEXT, repr=False)
    are_old: bool = False

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition of the range."""
        return self.range_.topic_partition
