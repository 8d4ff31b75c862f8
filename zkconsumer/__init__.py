"""zkconsumer: the Python consumer for Kafka clusters of the ZooKeeper era.

The consumer's own modules are loaded at their first use. Spark starts a handful of processes for a
query, and each would otherwise take twice as long to import the source.
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
    IllegalArgumentError,
    IllegalState,
    KafkaError,
    KafkaTimeoutError,
    LogTruncated,
    MessageStreamsExist,
    MessageTooLarge,
    NoBrokersAvailable,
    NoOffsetForPartition,
    OffsetCommitFailed,
    OffsetOutOfRange,
    PartitionFailed,
    ProtocolError,
    RebalanceFailed,
    RebalanceInProgress,
    RegistryError,
    RequestTimedOut,
    StreamInUse,
    TopicAuthorizationFailed,
    TransportError,
    UnsupportedCodec,
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
    TopicPartitionReplica,
)
from zkconsumer.version import __version__

if TYPE_CHECKING:
    from zkconsumer.assignment.filters import Blacklist, Whitelist
    from zkconsumer.config import ConsumerConfig
    from zkconsumer.config_typed import ConsumerSettings
    from zkconsumer.connector.connector import ZookeeperConsumerConnector
    from zkconsumer.consumer.kafka_consumer import KafkaConsumer
    from zkconsumer.consumer.settings.typed import KafkaConsumerSettings
    from zkconsumer.membership.listener import ConsumerRebalanceListener
    from zkconsumer.observe import MemberName, Observer
    from zkconsumer.produce.kafka_producer import (
        FutureRecordMetadata,
        KafkaProducer,
        Producer,
        RecordMetadata,
    )
    from zkconsumer.records.consumer_record import ConsumerRecord
    from zkconsumer.records.transactions import IsolationLevel
    from zkconsumer.serializer import DefaultSerializer, Deserializer, JsonSerializer, Serializer
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
    "ConsumerSettings",
    "ConsumerThreadId",
    "ConsumerTimeout",
    "DeadLetterFailed",
    "DefaultSerializer",
    "Deserializer",
    "FutureRecordMetadata",
    "GroupFailed",
    "IllegalArgumentError",
    "IllegalState",
    "IsolationLevel",
    "JsonSerializer",
    "KafkaConsumer",
    "KafkaConsumerSettings",
    "KafkaError",
    "KafkaProducer",
    "KafkaStream",
    "KafkaTimeoutError",
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
    "Producer",
    "ProtocolError",
    "RebalanceFailed",
    "RebalanceInProgress",
    "RecordMetadata",
    "RegistryError",
    "RequestTimedOut",
    "Serializer",
    "StreamInUse",
    "StringDecoder",
    "TimestampType",
    "TopicAuthorizationFailed",
    "TopicPartition",
    "TopicPartitionReplica",
    "TransportError",
    "UnsupportedCodec",
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
    "ConsumerRebalanceListener": "membership.listener",
    "ConsumerRecord": "records.consumer_record",
    "ConsumerSettings": "config_typed",
    "DefaultSerializer": "serializer",
    "Deserializer": "serializer",
    "FutureRecordMetadata": "produce.kafka_producer",
    "IsolationLevel": "records.transactions",
    "JsonSerializer": "serializer",
    "KafkaConsumer": "consumer.kafka_consumer",
    "KafkaConsumerSettings": "consumer.settings.typed",
    "KafkaProducer": "produce.kafka_producer",
    "KafkaStream": "streams.stream",
    "MemberName": "observe",
    "MessageAndMetadata": "streams.message",
    "Observer": "observe",
    "Producer": "produce.kafka_producer",
    "RecordMetadata": "produce.kafka_producer",
    "Serializer": "serializer",
    "StringDecoder": "streams.decoder",
    "Whitelist": "assignment.filters",
    "ZookeeperConsumerConnector": "connector.connector",
}


_BESIDE = "it reads and writes; keep kafka-python installed beside it, and import that from kafka"
_ABSENT = {
    "AsyncConsumerRebalanceListener": "listeners are called in the consumer's own thread, so "
    "derive from ConsumerRebalanceListener and write functions",
    "KafkaAdminClient": _BESIDE,
    "OffsetSpec": _BESIDE,
}
"""Other names of ``from kafka import ...``, each with the advice for who imports it from here."""

if not TYPE_CHECKING:
    __getattr__ = load_later(__name__, _LATER, _ABSENT)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
