"""Input of one Spark task: plain values, planned on the driver and sent to an executor."""

from dataclasses import dataclass, field

from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.model import Broker, OffsetRange, TopicPartition
from zkconsumer.net.security import PLAINTEXT, SecuritySettings
from zkconsumer.spark.compat import InputPartition


@dataclass(frozen=True, kw_only=True)
class ZkInputPartition(InputPartition):
    """A range of one partition, and what is needed to read it without ZooKeeper.

    A task that is tried again reads the same range, so the same records.

    Attributes:
        range_: the range.
        leader: who led the partition when this was planned; None: to be asked for.
        brokers: the brokers to request the leader from.
        settings: how to read.
        security: how brokers are reached; it is in no text of this.
        are_old: all brokers are of 0.8 or 0.9, and need not be asked.
    """

    range_: OffsetRange
    leader: Broker | None
    brokers: tuple[Broker, ...]
    settings: RangeSettings
    security: SecuritySettings = field(default=PLAINTEXT, repr=False)
    are_old: bool = False

    @property
    def topic_partition(self) -> TopicPartition:
        """Whose records they are."""
        return self.range_.topic_partition
