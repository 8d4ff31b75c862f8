"""zkconsumer: the Python consumer for Kafka clusters of the ZooKeeper era.

What makes up the consumer itself is loaded when it is first asked for. Spark starts a handful of
processes for a query, and each would otherwise take twice as long to import the source.
"""

from typing import TYPE_CHECKING

from zkconsumer.errors import (
    AuthenticationFailed,
    BrokerError,
    CommitFailed,
    ConfigError,
    ConsumerClosed,
    ConsumerForked,
    ConsumerTimeout,
    DeadLetterFailed,
    GroupFailed,
    IllegalState,
    KafkaError,
    LogTruncated,
    MessageStreamsExist,
    MessageTooLarge,
    NoBrokersAvailable,
    NoOffsetForPartition,
    OffsetCommitFailed,
    OffsetOutOfRange,
    PartitionFailed,
    RebalanceFailed,
    RebalanceInProgress,
    RegistryError,
    RequestTimedOut,
    TopicAuthorizationFailed,
    TransportError,
    UnsupportedVersion,
    Woken,
    ZkConsumerError,
)
from zkconsumer.lazy import load_later
from zkconsumer.model import (
    Broker,
    ConsumerGroupMetadata,
    ConsumerThreadId,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    TimestampType,
    TopicPartition,
)
from zkconsumer.version import __version__

if TYPE_CHECKING:
    from zkconsumer.assignment.filters import Blacklist, Whitelist
    from zkconsumer.config import ConsumerConfig
    from zkconsumer.connector.connector import ZookeeperConsumerConnector
    from zkconsumer.connector.listener import ConsumerRebalanceListener
    from zkconsumer.consumer.kafka_consumer import KafkaConsumer
    from zkconsumer.observe import MemberName, Observer
    from zkconsumer.records.consumer_record import ConsumerRecord
    from zkconsumer.streams.decoder import StringDecoder
    from zkconsumer.streams.message import MessageAndMetadata
    from zkconsumer.streams.stream import KafkaStream

__all__ = [
    "AuthenticationFailed",
    "Blacklist",
    "Broker",
    "BrokerError",
    "CommitFailed",
    "ConfigError",
    "ConsumerClosed",
    "ConsumerConfig",
    "ConsumerForked",
    "ConsumerGroupMetadata",
    "ConsumerRebalanceListener",
    "ConsumerRecord",
    "ConsumerThreadId",
    "ConsumerTimeout",
    "DeadLetterFailed",
    "GroupFailed",
    "IllegalState",
    "KafkaConsumer",
    "KafkaError",
    "KafkaStream",
    "LogTruncated",
    "MemberName",
    "MessageAndMetadata",
    "MessageStreamsExist",
    "MessageTooLarge",
    "NoBrokersAvailable",
    "NoOffsetForPartition",
    "Observer",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OffsetCommitFailed",
    "OffsetOutOfRange",
    "PartitionFailed",
    "RebalanceFailed",
    "RebalanceInProgress",
    "RegistryError",
    "RequestTimedOut",
    "StringDecoder",
    "TimestampType",
    "TopicAuthorizationFailed",
    "TopicPartition",
    "TransportError",
    "UnsupportedVersion",
    "Whitelist",
    "Woken",
    "ZkConsumerError",
    "ZookeeperConsumerConnector",
    "__version__",
]

_LATER = {
    "Blacklist": "assignment.filters",
    "ConsumerConfig": "config",
    "ConsumerRebalanceListener": "connector.listener",
    "ConsumerRecord": "records.consumer_record",
    "KafkaConsumer": "consumer.kafka_consumer",
    "KafkaStream": "streams.stream",
    "MemberName": "observe",
    "MessageAndMetadata": "streams.message",
    "Observer": "observe",
    "StringDecoder": "streams.decoder",
    "Whitelist": "assignment.filters",
    "ZookeeperConsumerConnector": "connector.connector",
}


if not TYPE_CHECKING:
    __getattr__ = load_later(__name__, _LATER)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
