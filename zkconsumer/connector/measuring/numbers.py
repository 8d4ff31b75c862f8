"""What is known of a connector at one moment, as values. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from zkconsumer.connector.measuring.rates import NO_RATES, Rates
from zkconsumer.connector.measuring.spread import NO_SPREAD, SpreadView
from zkconsumer.model import Broker, TopicPartition

REBALANCE_BOUNDS_MS = (100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000)
"""Rebalances are counted by whether they took no longer than each of these."""


class PartitionNumbers(NamedTuple):
    """One partition that is being read; None where something is not known yet.

    Attributes:
        read_offset: every record below it was handed over; before the first, where reading begins.
        committed_offset: what the offset store holds.
        high_watermark: the end of the log at the last fetch.
    """

    read_offset: int | None
    committed_offset: int | None
    high_watermark: int | None

    @property
    def lag(self) -> int | None:
        """How many offsets there are from what was handed over to the end of the log.

        The original's ``ConsumerLag`` leaves out what waits in its queues; this does not.
        """
        if self.read_offset is None or self.high_watermark is None:
            return None
        return max(0, self.high_watermark - self.read_offset)


class QueueNumbers(NamedTuple):
    """The queue of one stream.

    Attributes:
        topic: what it serves; "" for a stream of a filter.
        topics: the same, and of a filter those whose partitions have come to it.
        thread: the number of the stream, as in its thread id.
        chunks: how many chunks wait.
        size_bytes: the memory of these and of the one in the stream's hands.
    """

    topic: str
    topics: tuple[str, ...]
    thread: int
    chunks: int
    size_bytes: int


class BrokerNumbers(NamedTuple):
    """What was fetched, from one broker or from all.

    Attributes:
        fetches: its answers.
        size_bytes: of the record sets in them.
        took_ms: from each request to its answer.
        answer_bytes: of the record sets in each answer.
    """

    fetches: Rates = NO_RATES
    size_bytes: Rates = NO_RATES
    took_ms: SpreadView = NO_SPREAD
    answer_bytes: SpreadView = NO_SPREAD


NO_FETCHES = BrokerNumbers()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorNumbers:
    """One connector.

    Attributes:
        group_id: its group.
        client_id: how it calls itself to brokers.
        consumer_id: its name in the group.
        messages: that its streams have handed over, in all.
        messages_of: the same by topic.
        fetched: what all brokers together sent.
        fetched_from: by broker.
        least_fetch_rate: the smallest number of answers a second, over a minute, that any broker
            gives which it fetches from now; 0 where there is none.
        rebalances: that came to their end.
        rebalance_ms: how long these took, failed tries and pauses included.
        rebalances_within: how many took no longer than each of ``REBALANCE_BOUNDS_MS``.
        failed_tries: tries of a rebalance that failed.
        given_up: how often all tries of a rebalance had failed.
        zookeeper_commits: offsets written to ZooKeeper.
        kafka_commits: offsets sent to Kafka, whatever became of them.
        failed_commits: offsets that were not written, by storage.
        lost: partitions that were taken from it.
        poisoned: messages that could not be read.
        orphans: partitions of its topics that nobody owned, when it looked last.
        paused: whether delivery waits for ZooKeeper.
        partitions: what it reads now.
        queues: of all its streams.
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
    given_up: int = 0
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
        """The largest lag of any partition; 0 where none is known."""
        return max((partition.lag or 0 for partition in self.partitions.values()), default=0)
