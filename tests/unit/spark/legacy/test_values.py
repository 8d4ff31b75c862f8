"""Parameters and values under the names that they had in Spark 1 and 2."""

import pickle
from dataclasses import replace

import pytest

from zkconsumer.errors import ConfigError
from zkconsumer.net.security import SecuritySettings
from zkconsumer.spark.legacy.rdd import cluster_of
from zkconsumer.spark.legacy.values import (
    Broker,
    KafkaMessageAndMetadata,
    OffsetRange,
    TopicAndPartition,
    legacy_params,
    utf8_decoder,
)


@pytest.mark.parametrize("key", ["metadata.broker.list", "bootstrap.servers"])
def test_brokers_are_given_by_either_name(key: str) -> None:
    """Both names of the broker list work as in ``KafkaCluster``, and streams start at the end."""
    params = legacy_params({key: "a:9092,b:9093", "fetch.message.max.bytes": "1234"})
    assert str(params.address) == "a:9092,b:9093"
    assert params.settings.fetch_bytes == 1234
    assert params.settings.fail_on_data_loss
    assert not params.from_smallest


def test_zookeeper_may_be_given_in_place_of_brokers() -> None:
    """ZooKeeper's address may be given in place of brokers, which Spark's own did not support."""
    params = legacy_params({"zookeeper.connect": "zk:2181/k", "auto.offset.reset": "smallest"})
    assert params.address.zookeeper_connect == "zk:2181/k"
    assert params.from_smallest


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "kafkaParams name no cluster: set metadata.broker.list"),
        ({"metadata.broker.list": "x:"}, "has 'x:': expected host1:port1"),
        ({"metadata.broker.list": "x:1", "auto.offset.reset": "latest"}, "auto.offset.reset is"),
        ({"metadata.broker.list": "x:1", "socket.timeout.ms": "soon"}, "socket.timeout.ms is"),
    ],
)
def test_bad_parameters_are_refused(params: dict[str, str], message: str) -> None:
    """A missing or invalid parameter is one error that names its key."""
    with pytest.raises(ConfigError, match=message):
        legacy_params(params)


def test_values_compare_and_pickle() -> None:
    """Ranges, topic-partitions and brokers can be keys of a dict, and can be pickled."""
    for value in (OffsetRange("t", 1, 2, 3), TopicAndPartition("t", 1), Broker("h", 9092)):
        assert pickle.loads(pickle.dumps(value)) == value
        assert len({value, value}) == 1


def test_a_message_is_decoded_on_access() -> None:
    """Key and value are decoded on access; nulls stay null."""
    message = KafkaMessageAndMetadata(
        "t", 1, 7, None, b"5", value_decoder=lambda raw: int(raw or 0)
    )
    assert (message.key, message.message, message.offset) == (None, 5, 7)
    assert utf8_decoder("é".encode()) == "é"


def test_a_checkpoint_holds_no_secret() -> None:
    """A checkpoint holds no security settings, and a stream restored from it asks for them.

    It does so before anything connects.
    """
    open_ones = legacy_params({"bootstrap.servers": "a:9092"})
    assert open_ones.without_secrets() is open_ones
    secured = SecuritySettings(
        protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_username="me",
        sasl_password="hush-hush",
    )
    params = replace(open_ones, address=replace(open_ones.address, broker_security=secured))
    assert "hush" not in repr(params)
    kept = pickle.dumps(params.without_secrets())
    assert b"hush" not in kept
    with pytest.raises(ConfigError, match="the checkpoint does not contain the security settings"):
        cluster_of(pickle.loads(kept))
