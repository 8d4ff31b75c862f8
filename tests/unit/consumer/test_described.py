"""The ``repr`` of a consumer, as it appears in a log line."""

from unittest import mock

import pytest

from tests.support.poll_callers import ConsumerFactory
from zkconsumer import KafkaConsumer, TopicPartition
from zkconsumer.consumer.config import PollConfig


def test_the_repr_shows_group_client_id_topics_and_state(make_consumer: ConsumerFactory) -> None:
    """It follows each change of the subscription until the consumer is closed."""
    consumer, _ = make_consumer(group_id="g", client_id="c")
    start = "<KafkaConsumer group_id='g', client_id='c'"
    assert repr(consumer) == f"{start}, nothing subscribed, open>"
    consumer.subscribe(["b", "a"])
    assert repr(consumer) == f"{start}, topics [a, b], open>"
    consumer.unsubscribe()
    consumer.subscribe(pattern="x.*")
    assert repr(consumer) == f"{start}, pattern, topics [], open>"
    consumer.unsubscribe()
    consumer.assign([TopicPartition("a", 1)])
    assert repr(consumer) == f"{start}, assigned [a-1], open>"
    consumer.close()
    assert repr(consumer).endswith(", closed>")


def test_the_repr_is_one_short_printable_line(make_consumer: ConsumerFactory) -> None:
    """Long lists are shortened and control characters escaped."""
    consumer, _ = make_consumer(group_id="g\n\x1b[2J")
    consumer.subscribe([f"t{number}" for number in range(1000)])
    text = repr(consumer)
    assert "topics [t0, t1, t10, t100, t101, 995 more]" in text
    assert text.isprintable()
    assert len(text) < 300


def test_the_repr_works_without_a_group_and_before_init(make_consumer: ConsumerFactory) -> None:
    """Subclasses show their own names."""

    class Mine(KafkaConsumer):
        pass

    assert repr(Mine.__new__(Mine)) == "<Mine, not made>"
    consumer, fakes = make_consumer()
    with mock.patch.object(consumer, "config", PollConfig()):
        assert repr(consumer).startswith("<KafkaConsumer no group, ")
    assert fakes.config.group_id == "g"


@pytest.mark.parametrize("name", ["sasl_plain_password", "ssl_password", "zookeeper_auth_password"])
def test_a_configuration_shows_no_secret(name: str) -> None:
    """Passwords of brokers and of ZooKeeper are hidden."""
    zookeeper = {"zookeeper_connect": "h:1", "group_id": "g"}
    if name == "zookeeper_auth_password":
        zookeeper |= {"zookeeper_auth_scheme": "digest", "zookeeper_auth_username": "u"}
    assert "hunter2" not in repr(PollConfig({**zookeeper, name: "hunter2"}))
