"""The options of the sink: their defaults, their names, and which values are refused."""

from pathlib import Path

import pytest

from zkconsumer.errors import ConfigError
from zkconsumer.produce.partitioner import PARTITIONERS
from zkconsumer.produce.settings import ACKS_ALL, ACKS_LEADER
from zkconsumer.records.codecs import Codec
from zkconsumer.spark.kafka_options import ALIASES
from zkconsumer.spark.sink.options import (
    _EFFECTIVE,
    DEFAULT_BACKOFF_MS,
    DEFAULT_CLIENT_ID,
    DEFAULT_RETRIES,
    sink_options,
)

BROKERS = {"kafka.bootstrap.servers": "one:9092,two:9093"}


def test_defaults_lose_nothing() -> None:
    """By default all in-sync replicas acknowledge, and retries outlast a leader election."""
    chosen = sink_options(BROKERS)
    assert str(chosen.address) == "one:9092,two:9093"
    assert chosen.topic is None
    assert chosen.partitioner == "kafka.producer.DefaultPartitioner"
    batch = chosen.batch
    assert batch.acks == ACKS_ALL
    assert batch.retries * batch.backoff_ms >= 30_000
    assert batch.codec is Codec.NONE
    assert chosen.notes == ()


def test_every_option_is_read() -> None:
    """The names of the old and of the new producer are read, in any case."""
    chosen = sink_options(
        {
            "zookeeper.connect": "zk:2181/kafka",
            "Topic": "out",
            "kafka.Request.Required.Acks": "1",
            "kafka.message.send.max.retries": "7",
            "kafka.retry.backoff.ms": "11",
            "kafka.timeout.ms": "1300",
            "kafka.compression.codec": "Snappy",
            "kafka.batch.size": "1000",
            "kafka.client.id": "me",
            "kafka.partitioner.class": "kafka.producer.ByteArrayPartitioner",
        }
    )
    batch = chosen.batch
    assert chosen.address.zookeeper_connect == "zk:2181/kafka"
    assert chosen.topic == "out"
    assert (batch.acks, batch.retries, batch.backoff_ms) == (ACKS_LEADER, 7, 11)
    assert (chosen.client.timeout_ms, batch.timeout_ms, chosen.client.client_id) == (
        1300,
        1300,
        "me",
    )
    assert (batch.codec, batch.set_bytes) == (Codec.SNAPPY, 1000)
    assert chosen.partitioner.endswith("ByteArrayPartitioner")
    assert chosen.notes == ()


def test_settings_without_effect_are_noted() -> None:
    """As in Spark any name is accepted, but a note says which settings have no effect."""
    [note] = sink_options({**BROKERS, "kafka.linger.ms": "5"}).notes
    assert "kafka.linger.ms" in note
    secured = {"kafka.security.protocol": "SSL", "kafka.ssl.endpoint.identification.algorithm": ""}
    assert sink_options({**BROKERS, **secured}).notes == ()


def test_two_spellings_of_one_option_must_agree() -> None:
    """Which of two values counts is not left to the order of a dictionary."""
    assert sink_options({**BROKERS, "topic": "out", "TOPIC": "out"}).topic == "out"
    with pytest.raises(ConfigError, match="TOPIC says something else than topic"):
        sink_options({**BROKERS, "topic": "out", "TOPIC": "other"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("topic", ""),
        ("topic", "a b"),
        ("kafka.acks", "0"),
        ("kafka.acks", "2"),
        ("kafka.request.required.acks", "none"),
        ("kafka.retries", "-1"),
        ("kafka.retries", "many"),
        ("kafka.batch.size", "0"),
        ("kafka.compression.type", "zstd"),
        ("kafka.bootstrap.servers", "nowhere:"),
        ("kafka.partitioner.class", "org.example.Mine"),
        ("kafka.key.serializer", "x"),
        ("kafka.value.serializer", "x"),
        ("kafka.serializer.class", "x"),
        ("kafka.producer.type", "async"),
        ("kafka.transactional.id", "x"),
        ("kafka.security.protocol", "TLS"),
    ],
)
def test_bad_values_are_refused(name: str, text: str) -> None:
    """The error for a bad value starts with the option's name."""
    with pytest.raises(ConfigError, match=rf"^{name.replace('.', '[.]')}\b"):
        sink_options({**BROKERS, name: text})


def test_an_address_is_required() -> None:
    """Without an address, the error names both options that can give one."""
    with pytest.raises(ConfigError, match=r"zookeeper\.connect.*kafka\.bootstrap\.servers"):
        sink_options({"topic": "out"})


def test_the_page_has_every_option() -> None:
    """The page on writing names each option, its default, and the partitioners."""
    page = (Path(__file__).parents[4] / "docs" / "spark-writing.md").read_text("utf-8")
    assert [
        name for name in (*_EFFECTIVE - ALIASES.keys(), *PARTITIONERS) if name not in page
    ] == []
    assert f"| {DEFAULT_RETRIES} |" in page
    assert f"| {DEFAULT_BACKOFF_MS} |" in page
    assert f"`{DEFAULT_CLIENT_ID}`" in page
