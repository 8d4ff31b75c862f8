"""What users write, which ``mypy --strict`` must accept as it is."""

import ssl
from typing import Unpack

from zkconsumer import (
    ConsumerConfig,
    ConsumerSettings,
    IsolationLevel,
    JsonSerializer,
    KafkaConsumer,
    KafkaConsumerSettings,
    StringDecoder,
    ZookeeperConsumerConnector,
)
from zkconsumer.errors import *  # noqa: F403 - as programs for kafka-python have it


def config_by_keywords() -> ConsumerConfig:
    """Numbers, truth, choices and what is not given."""
    return ConsumerConfig(
        zookeeper_connect="zk:2181/kafka",
        group_id="billing",
        auto_offset_reset="earliest",
        fetch_min_bytes=1,
        auto_commit_enable=False,
        consumer_id=None,
    )


def config_by_keys(given: dict[str, str]) -> ConsumerConfig:
    """A map of whatever was read from elsewhere, and keywords that win."""
    return ConsumerConfig(given, client_id="reader")


def config_from_files() -> list[ConsumerConfig]:
    """Keywords besides what a file says."""
    return [
        ConsumerConfig.from_file("consumer.properties", group_id="g"),
        ConsumerConfig.from_properties({"group.id": "g"}, zookeeper_connect="zk:2181"),
    ]


def streams(**settings: Unpack[ConsumerSettings]) -> list[str | None]:
    """A function of one's own that passes settings on."""
    with ZookeeperConsumerConnector(ConsumerConfig(**settings)) as connector:
        [stream] = connector.create_message_streams({"t": 1}, value_decoder=StringDecoder())["t"]
        return [message.value for message in stream]


def consumers(**settings: Unpack[KafkaConsumerSettings]) -> list[KafkaConsumer]:
    """Every shape that kafka-python takes."""
    return [
        KafkaConsumer(**settings),
        KafkaConsumer("a", "b", config={"group.id": "g"}),
        KafkaConsumer(bootstrap_servers=["h1:9092", "h2:9092"], group_id=None),
        KafkaConsumer(consumer_timeout_ms=float("inf"), isolation_level="read_committed"),
        KafkaConsumer(isolation_level=IsolationLevel.READ_COMMITTED),
        KafkaConsumer(value_deserializer=JsonSerializer(), key_deserializer=bytes.decode),
        KafkaConsumer(value_deserializer=lambda data: data and data.decode()),
        KafkaConsumer(ssl_context=ssl.create_default_context(), security_protocol="SSL"),
        KafkaConsumer(api_version=(0, 10), sasl_oauth_token_provider=lambda: "token"),
        KafkaConsumer(zookeeper_connect="zk:2181", group_id="g", offsets_storage="kafka"),
        KafkaConsumer(config=consumers()[0].config),
    ]


def errors_by_all_names() -> list[type[Exception]]:
    """What came by ``*``: kafka-python's names, and ours."""
    return [CommitFailedError, NotLeaderForPartitionError, OffsetOutOfRange]  # noqa: F405
