"""What a real broker refuses, and that none answers, by kafka-python's names for it."""

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
"""A topic and a group that are somebody else's."""


@pytest.fixture(scope="module")
def broker() -> Iterator[Sandbox]:
    """One that lets everybody do everything, but for what is hidden."""
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
    """A consumer, and what it is told besides."""
    return KafkaConsumer(*topics, bootstrap_servers=broker.bootstrap_servers, **settings)


def filled(broker: Sandbox, count: int) -> TopicPartition:
    """A topic with so many records."""
    tp = TopicPartition(fresh_name("refusals"), 0)
    broker.create_topic(tp.topic)
    write(broker, tp, [b"%d" % number for number in range(count)])
    return tp


def test_a_consumer_is_connected_when_it_is_made(broker: Sandbox) -> None:
    """The first poll goes on from there."""
    tp = filled(broker, 3)
    with consumer_of(broker, tp.topic, auto_offset_reset="earliest") as consumer:
        assert consumer.bootstrap_connected()
        found: list[object] = []

        def read() -> bool:
            found.extend(consumer.poll(200).get(tp, ()))
            return len(found) == 3

        wait_until(read, what="the records")


@pytest.mark.parametrize("theirs", [NoBrokersAvailable, KafkaTimeoutError, KafkaConnectionError])
def test_nobody_listens(theirs: type[KafkaError]) -> None:
    """Within the time that was set; the message has the address."""
    clock = SystemClock()
    began_ms = clock.now_ms()
    with pytest.raises(theirs, match=r"127\.0\.0\.1:1"):
        KafkaConsumer("t", bootstrap_servers="127.0.0.1:1", bootstrap_timeout_ms=600)
    assert 300 <= clock.now_ms() - began_ms < PROMPT_MS


def test_somebody_listens_and_is_silent(broker: Sandbox) -> None:
    """As long as it is; a consumer that is told not to wait is made at once."""
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


def test_somebody_elses_group(broker: Sandbox) -> None:
    """By its own name, as one of authorisation, and by ours."""
    tp = filled(broker, 1)
    with consumer_of(broker, tp.topic, group_id=HIDDEN) as consumer:
        for kind in (GroupAuthorizationFailedError, AuthorizationError, GroupFailed):
            with pytest.raises(kind) as raised:
                wait_until(lambda: consumer.poll(500), what="the error")
            assert isinstance(raised.value, KafkaError)
        with pytest.raises(GroupAuthorizationFailedError) as reported:
            consumer.committed(tp)
        assert (reported.value.errno, reported.value.retriable) == (30, False)


def test_somebody_elses_topic(broker: Sandbox) -> None:
    """Its name is the first of ``args``, in a set."""
    with consumer_of(broker) as consumer:
        consumer.assign([TopicPartition(HIDDEN, 0)])
        consumer.seek(TopicPartition(HIDDEN, 0), 0)
        with pytest.raises(TopicAuthorizationFailedError) as raised:
            wait_until(lambda: consumer.poll(500), what="the error")
        assert raised.value.args[0] == {HIDDEN}


def test_what_is_not_there(broker: Sandbox) -> None:
    """A topic, an offset, a committed offset."""
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


def test_what_the_coordinator_refuses(broker: Sandbox) -> None:
    """A commit with too much beside it; a group without a name, which is one to us."""
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
