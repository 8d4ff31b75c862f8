"""zkconsumer: the Python consumer for Kafka clusters of the ZooKeeper era."""

from zkconsumer.assignment.filters import Blacklist, Whitelist
from zkconsumer.config import ConsumerConfig
from zkconsumer.connector.connector import ZookeeperConsumerConnector
from zkconsumer.connector.listener import ConsumerRebalanceListener
from zkconsumer.errors import (
    ConfigError,
    ConsumerClosed,
    ConsumerForked,
    ConsumerTimeout,
    DeadLetterFailed,
    MessageStreamsExist,
    MessageTooLarge,
    OffsetCommitFailed,
    PartitionFailed,
    RebalanceFailed,
    RegistryError,
    ZkConsumerError,
)
from zkconsumer.model import (
    Broker,
    ConsumerThreadId,
    OffsetAndMetadata,
    TimestampType,
    TopicPartition,
)
from zkconsumer.observe import MemberName, Observer
from zkconsumer.streams.decoder import StringDecoder
from zkconsumer.streams.message import MessageAndMetadata
from zkconsumer.streams.stream import KafkaStream
from zkconsumer.version import __version__

__all__ = [
    "Blacklist",
    "Broker",
    "ConfigError",
    "ConsumerClosed",
    "ConsumerConfig",
    "ConsumerForked",
    "ConsumerRebalanceListener",
    "ConsumerThreadId",
    "ConsumerTimeout",
    "DeadLetterFailed",
    "KafkaStream",
    "MemberName",
    "MessageAndMetadata",
    "MessageStreamsExist",
    "MessageTooLarge",
    "Observer",
    "OffsetAndMetadata",
    "OffsetCommitFailed",
    "PartitionFailed",
    "RebalanceFailed",
    "RegistryError",
    "StringDecoder",
    "TimestampType",
    "TopicPartition",
    "Whitelist",
    "ZkConsumerError",
    "ZookeeperConsumerConnector",
    "__version__",
]
