"""The measurements of a connector at one moment, as values. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from zkconsumer.connector.measuring.rates import NO_RATES, Rates
from zkconsumer.connector.measuring.spread import NO_SPREAD, SpreadView
from zkconsumer.model import Broker, TopicPartition

REBALANCE_BOUNDS_MS = (100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000)
"""Upper bounds of the rebalance-duration histogram, ms."""


class PartitionNumbers(NamedTuple):
    """The numbers of a partition that is being read; None: not known yet.

    Attributes:
        read_offset: the next offset to hand over; before the first record, the start offset.
        committed_offset: the offset in the offset store.
        high_watermark: the high watermark of the last fetch.
    """

    read_offset: int | None
    committed_offset: int | None
    high_watermark: int | None

    @property
    def lag(self) -> int | None:
        """The number of offsets from the next one to hand over up to the high watermark.

        Unlike the original's ``ConsumerLag``, it includes messages that wait in the queues.
        """
        if self.read_offset is None or self.high_watermark is None:
            return None
        return max(0, self.high_watermark - self.read_offset)


class QueueNumbers(NamedTuple):
    """The numbers of one stream's queue.

    Attributes:
        topic: the topic that it serves; "" for a stream of a filter.
        topics: that topic; for a stream of a filter, the topics whose partitions it reads now.
        thread: the number of the stream, as in its thread id.
        chunks: how many chunks are queued.
        size_bytes: the memory of these and of the chunk being handed out.
    """

    topic: str
    topics: tuple[str, ...]
    thread: int
    chunks: int
    size_bytes: int


class BrokerNumbers(NamedTuple):
    """The numbers of the fetches from one broker, or from all.

    Attributes:
        fetches: the fetch responses.
        size_bytes: the bytes of their record sets.
        took_ms: the times from each request to its response.
        response_bytes: the sizes of the record sets in each response.
    """

    fetches: Rates = NO_RATES
    size_bytes: Rates = NO_RATES
    took_ms: SpreadView = NO_SPREAD
    response_bytes: SpreadView = NO_SPREAD


NO_FETCHES = BrokerNumbers()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorNumbers:
    """The numbers of one connector.

    Attributes:
        group_id: its group.
        client_id: the client id sent to brokers.
        consumer_id: its name in the group.
        messages: messages handed over by its streams.
        messages_of: the same by topic.
        fetched: the fetches from all brokers together.
        fetched_from: the same by broker.
        least_fetch_rate: the smallest one-minute response rate, per second, of the brokers that
            are fetched from; 0 without brokers.
        rebalances: rebalances that finished or were given up.
        rebalance_ms: how long these took, including failed tries and pauses.
        rebalances_within: how many took no longer than each of ``REBALANCE_BOUNDS_MS``.
        failed_tries: tries of a rebalance that failed.
        zookeeper_commits: offsets written to ZooKeeper.
        kafka_commits: offsets sent to Kafka, whether or not they were written.
        failed_commits: offsets that were not written, by storage.
        lost: partitions taken from it, since the session ended or the owner node was deleted.
        poisoned: messages that could not be read.
        orphans: partitions of its topics without an owner at the last audit.
        paused: whether delivery is paused until ZooKeeper responds.
        partitions: the partitions being read.
        queues: the queues of all streams.
    """

    group_id: str
    client_id: str
    consumer_id: str
    messages: Rates = NO_RATES
    messages_of: Mapping[str, Rates] = field(default_factory=dict)
    fetched: BrokerNumbers = NO_FETCHES
    fetched_from: Mapping[Broker, BrokerNumbers] = field(default_factory=dict)
    least_fetch_rate: float = 0.0
    rebalances: Rates = NO_RATES
    rebalance_ms: SpreadView = NO_SPREAD
    rebalances_within: tuple[int, ...] = (0,) * len(REBALANCE_BOUNDS_MS)
    failed_tries: int = 0
    zookeeper_commits: Rates = NO_RATES
    kafka_commits: Rates = NO_RATES
    failed_commits: Mapping[str, int] = field(default_factory=dict)
    lost: int = 0
    poisoned: int = 0
    orphans: int = 0
    paused: bool = False
    partitions: Mapping[TopicPartition, PartitionNumbers] = field(default_factory=dict)
    queues: tuple[QueueNumbers, ...] = ()

    @property
    def max_lag(self) -> int:
        """The largest lag of any partition; 0 if none is known."""
        return max((partition.lag or 0 for partition in self.partitions.values()), default=0)
