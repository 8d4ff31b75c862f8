"""The assertions of the original's own tests of its connector (ZookeeperConsumerConnectorTest)."""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest

from tests.interop.members import TIMINGS
from tests.interop.mixed_group import MixedGroup
from tests.support.matrix import in_matrix
from zkconsumer import (
    ConsumerConfig,
    ConsumerTimeout,
    KafkaStream,
    MessageAndMetadata,
    MessageStreamsExist,
    StringDecoder,
    Whitelist,
    ZookeeperConsumerConnector,
)
from zkconsumer.records.codecs import Codec

pytestmark = pytest.mark.sandbox


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Give a stack that shuts connectors down at the end of the test."""
    with ExitStack() as opened:
        yield opened


def connector(
    stack: ExitStack, group: MixedGroup, name: str, **settings: str
) -> ZookeeperConsumerConnector:
    """Create a connector with a fixed id that raises if no message comes for a while."""
    props = {
        **TIMINGS,
        "zookeeper.connect": group.cluster.zookeeper_connect,
        "group.id": group.name,
        "consumer.id": name,
        "auto.offset.reset": "smallest",
        "consumer.timeout.ms": "20000",
        **{key.replace("_", "."): value for key, value in settings.items()},
    }
    return stack.enter_context(ZookeeperConsumerConnector(ConsumerConfig(props)))


def take(stream: KafkaStream[bytes, bytes], count: int) -> list[str]:
    """Return the values of the stream's next messages."""
    return [(message.value or b"").decode() for message in itertools.islice(stream, count)]


def owners(group: MixedGroup, topic: str) -> Mapping[int, str]:
    """Return the owner of each partition, without the group's name."""
    return {
        int(tp.rpartition("-")[2]): thread.removeprefix(f"{group.name}_")
        for tp, thread in group.peek.owners([topic]).items()
    }


def test_without_messages_the_timeout_is_raised_each_time(
    group: MixedGroup, stack: ExitStack
) -> None:
    """Item 1: a stream can be called again after a timeout."""
    topic = group.topic(1)
    consumer = connector(stack, group, "consumer0", consumer_timeout_ms="200")
    [stream] = consumer.create_message_streams({topic: 1})[topic]
    for _ in range(2):
        with pytest.raises(ConsumerTimeout, match="200 ms"):
            next(stream)


@in_matrix("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY], [Codec.NONE, Codec.GZIP])
def test_a_second_consumer_gets_one_of_two_partitions_and_an_empty_third_none(
    group: MixedGroup, stack: ExitStack, codec: Codec
) -> None:
    """Items 2, 3, 4, 6: owners by name, and each round delivers exactly the new messages."""
    topic = group.topic(2)
    first = connector(stack, group, "consumer1", auto_commit_enable="false")
    [stream1] = first.create_message_streams({topic: 1})[topic]
    sent = group.write(10, topic, codec=codec)
    assert sorted(take(stream1, 20)) == sorted(sent)
    assert owners(group, topic) == {0: "consumer1-0", 1: "consumer1-0"}

    first.commit_offsets()
    second = connector(stack, group, "consumer2", auto_commit_enable="false")
    [stream2] = second.create_message_streams({topic: 1})[topic]
    sent = group.write(10, topic, codec=codec)
    assert take(stream1, 10) == sent[:10]
    assert take(stream2, 10) == sent[10:]
    shared = {0: "consumer1-0", 1: "consumer2-0"}
    assert owners(group, topic) == shared

    third = connector(stack, group, "consumer3")
    assert third.create_message_streams({}) == {}
    sent = group.write(10, topic, codec=codec)
    assert take(stream1, 10) == sent[:10]
    assert take(stream2, 10) == sent[10:]
    group.await_settled([topic], ["consumer1", "consumer2", "consumer3"])
    assert owners(group, topic) == shared
    assert group.peek.registrations()[third.consumer_id].startswith(
        b'{"version":1,"subscription":{},"pattern":"static","timestamp":"'
    )


def test_streams_can_be_created_once(group: MixedGroup, stack: ExitStack) -> None:
    """Item 5: the second call raises, by map or by filter, and the first streams go on."""
    topic = group.topic(1)
    consumer = connector(stack, group, "consumer1")
    [stream] = consumer.create_message_streams({topic: 1})[topic]
    with pytest.raises(MessageStreamsExist):
        consumer.create_message_streams({topic: 1})
    with pytest.raises(MessageStreamsExist):
        consumer.create_message_streams_by_filter(Whitelist(topic))
    sent = group.write(3, topic)
    assert take(stream, 3) == sent


@in_matrix("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4], [Codec.GZIP])
def test_all_messages_of_compressed_sets_come_once(
    group: MixedGroup, stack: ExitStack, codec: Codec
) -> None:
    """Item 7: 200 compressed messages in each of two partitions."""
    topic = group.topic(2)
    sent = group.write(200, topic, codec=codec)
    consumer = connector(stack, group, "consumer1", consumer_timeout_ms="1000")
    [stream] = consumer.create_message_streams({topic: 1})[topic]
    assert sorted(take(stream, 400)) == sorted(sent)
    with pytest.raises(ConsumerTimeout):
        next(stream)


def test_string_decoders_decode_key_and_value(group: MixedGroup, stack: ExitStack) -> None:
    """Item 8: all messages of both partitions as text."""
    topic = group.topic(2)
    sent = group.write(50, topic)
    consumer = connector(stack, group, "consumer1")
    streams = consumer.create_message_streams({topic: 1}, StringDecoder(), StringDecoder())
    [stream] = streams[topic]
    got: list[MessageAndMetadata[str, str]] = list(itertools.islice(stream, 100))
    assert sorted(str(message.value) for message in got) == sorted(sent)
    assert all(message.key == f"key {message.value}" for message in got)


def test_one_partition_belongs_to_the_one_consumer_and_comes_in_order(
    group: MixedGroup, stack: ExitStack
) -> None:
    """Item 9: exactly partition 0 of that topic is owned."""
    topic = group.topic(1)
    sent = [value for _ in range(4) for value in group.write(5, topic)]
    consumer = connector(stack, group, "consumer1")
    [stream] = consumer.create_message_streams({topic: 1})[topic]
    assert take(stream, 20) == sent
    owned = {path for path in group.peek.tree() if path.startswith("owners/")}
    assert owned == {f"owners/{topic}", f"owners/{topic}/0"}
    assert owners(group, topic) == {0: "consumer1-0"}


def test_two_streams_on_two_partitions_deliver_everything(
    group: MixedGroup, stack: ExitStack
) -> None:
    """Item 10: each stream has one partition."""
    topic = group.topic(2)
    sent = group.write(30, topic)
    consumer = connector(stack, group, "consumer1")
    streams = consumer.create_message_streams({topic: 2})[topic]
    assert [take(stream, 30) for stream in streams] == [sent[:30], sent[30:]]
