"""zkconsumer: the Python consumer for Kafka clusters of the ZooKeeper era."""

from zkconsumer.assignment.filters import Blacklist, Whitelist
from zkconsumer.config import ConsumerConfig
from zkconsumer.connector.connector import ZookeeperConsumerConnector
from zkconsumer.errors import (
    ConfigError,
    ConsumerClosed,
    ConsumerTimeout,
    MessageStreamsExist,
    MessageTooLarge,
    OffsetCommitFailed,
    PartitionFailed,
    RebalanceFailed,
    RegistryError,
    ZkConsumerError,
)
from zkconsumer.model import Broker, OffsetAndMetadata, TimestampType, TopicPartition
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
    "ConsumerTimeout",
    "KafkaStream",
    "MessageAndMetadata",
    "MessageStreamsExist",
    "MessageTooLarge",
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
