"""Errors of real and unreachable brokers have kafka-python's exception names."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clusters import fresh_name
from tests.support.traffic import write
from tests.support.waiting import PROMPT_MS, wait_until
from zkconsumer import KafkaConsumer, OffsetAndMetadata, TopicPartition
from zkconsumer.clock import SystemClock
from zkconsumer.errors import (
    AuthorizationError,
    GroupAuthorizationFailedError,
    GroupFailed,
    InvalidGroupIdError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    NoBrokersAvailable,
    NoOffsetForPartitionError,
    OffsetMetadataTooLargeError,
    OffsetOutOfRangeError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

VERSION = "2.8.2"
HIDDEN = "hidden"
"""The name of a topic and of a group that another principal owns."""


@pytest.fixture(scope="module")
def broker() -> Iterator[Sandbox]:
    """Start a broker that allows everything, except for what is ``HIDDEN``."""
    with Sandbox(
        kafka=VERSION,
        brokers=1,
        broker_properties={
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
            "allow.everyone.if.no.acl.found": "true",
            "auto.create.topics.enable": "false",
        },
    ) as sandbox:
        sandbox.create_topic(HIDDEN)
        at = ["--bootstrap-server", sandbox.bootstrap_servers]
        theirs = ["--add", "--allow-principal", "User:somebody", "--operation", "Read"]
        for option in ("--topic", "--group"):
            result = sandbox.run_scala_tool("kafka.admin.AclCommand", *at, *theirs, option, HIDDEN)
            assert result.status == 0, result
        yield sandbox


def consumer_of(broker: Sandbox, *topics: str, **settings: Any) -> KafkaConsumer:
    """Create a consumer with further settings."""
    return KafkaConsumer(*topics, bootstrap_servers=broker.bootstrap_servers, **settings)


def filled(broker: Sandbox, count: int) -> TopicPartition:
    """Create a topic with ``count`` records."""
    tp = TopicPartition(fresh_name("refusals"), 0)
    broker.create_topic(tp.topic)
    write(broker, tp, [b"%d" % number for number in range(count)])
    return tp


def test_a_new_consumer_is_connected(broker: Sandbox) -> None:
    """The constructor connects, and the first poll uses that connection."""
    tp = filled(broker, 3)
    with consumer_of(broker, tp.topic, auto_offset_reset="earliest") as consumer:
        assert consumer.bootstrap_connected()
        found: list[object] = []

        def read() -> bool:
            found.extend(consumer.poll(200).get(tp, ()))
            return len(found) == 3

        wait_until(read, what="the records")


@pytest.mark.parametrize("theirs", [NoBrokersAvailable, KafkaTimeoutError, KafkaConnectionError])
def test_an_unreachable_broker_is_an_error_of_the_constructor(theirs: type[KafkaError]) -> None:
    """It is raised within bootstrap_timeout_ms; the message has the address."""
    clock = SystemClock()
    began_ms = clock.now_ms()
    with pytest.raises(theirs, match=r"127\.0\.0\.1:1"):
        KafkaConsumer("t", bootstrap_servers="127.0.0.1:1", bootstrap_timeout_ms=600)
    assert 300 <= clock.now_ms() - began_ms < PROMPT_MS


def test_a_broker_that_hangs_is_an_error_of_the_constructor(broker: Sandbox) -> None:
    """A consumer with bootstrap_timeout_ms=0 or a given api_version is created at once."""
    clock = SystemClock()
    broker.pause_broker(0)
    try:
        began_ms = clock.now_ms()
        with pytest.raises(NoBrokersAvailable, match=broker.bootstrap_servers):
            consumer_of(broker, "t", bootstrap_timeout_ms=1_000)
        assert 1_000 <= clock.now_ms() - began_ms < PROMPT_MS
        for reported in ({"bootstrap_timeout_ms": 0}, {"api_version": (2, 8)}):
            with consumer_of(broker, "t", **reported) as consumer:
                assert not consumer.bootstrap_connected()
                assert consumer.config["api_version"] == reported.get("api_version")
    finally:
        broker.resume_broker(0)


def test_a_forbidden_group(broker: Sandbox) -> None:
    """The error is its own class, an AuthorizationError, and our GroupFailed."""
    tp = filled(broker, 1)
    with consumer_of(broker, tp.topic, group_id=HIDDEN) as consumer:
        for kind in (GroupAuthorizationFailedError, AuthorizationError, GroupFailed):
            with pytest.raises(kind) as raised:
                wait_until(lambda: consumer.poll(500), what="the error")
            assert isinstance(raised.value, KafkaError)
        with pytest.raises(GroupAuthorizationFailedError) as reported:
            consumer.committed(tp)
        assert (reported.value.errno, reported.value.retriable) == (30, False)


def test_a_forbidden_topic(broker: Sandbox) -> None:
    """As in kafka-python, ``args[0]`` is the set of topics."""
    with consumer_of(broker) as consumer:
        consumer.assign([TopicPartition(HIDDEN, 0)])
        consumer.seek(TopicPartition(HIDDEN, 0), 0)
        with pytest.raises(TopicAuthorizationFailedError) as raised:
            wait_until(lambda: consumer.poll(500), what="the error")
        assert raised.value.args[0] == {HIDDEN}


def test_missing_topics_and_offsets(broker: Sandbox) -> None:
    """A missing topic, no committed offset, and an offset out of range have their own classes."""
    tp = filled(broker, 3)
    with consumer_of(
        broker, group_id=fresh_name("group"), auto_offset_reset="none", enable_auto_commit=0
    ) as consumer:
        for kind in (UnknownTopicOrPartitionError, KafkaTimeoutError):
            with pytest.raises(kind):
                consumer.end_offsets([TopicPartition("nothing", 0)], timeout_ms=500)
        consumer.assign([tp])
        with pytest.raises(NoOffsetForPartitionError) as none:
            wait_until(lambda: consumer.poll(500), what="the error")
        assert none.value.args[0] == {tp}
        consumer.seek(tp, 99)
        with pytest.raises(OffsetOutOfRangeError) as out:
            wait_until(lambda: consumer.poll(500), what="the error")
        assert out.value.args[0] == {tp: 99}


def test_refusals_of_the_coordinator(broker: Sandbox) -> None:
    """Metadata that is too large, and the empty group id, have their own classes."""
    tp = filled(broker, 1)
    with consumer_of(broker, group_id=fresh_name("group")) as consumer:
        consumer.assign([tp])
        with pytest.raises(OffsetMetadataTooLargeError):
            consumer.commit({tp: OffsetAndMetadata(1, "x" * 10_000)})
    with (
        consumer_of(broker, tp.topic, group_id="") as consumer,
        pytest.raises(InvalidGroupIdError),
    ):
        wait_until(lambda: consumer.poll(500), what="the error")
