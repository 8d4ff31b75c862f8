"""A group's offsets pass from the original to ours and back, exact to the message."""

import itertools

import pytest

from tests.interop.members import TIMINGS
from tests.interop.mixed_group import MixedGroup
from tests.support.matrix import in_matrix
from tests.support.recorded import declare, recorded
from zkconsumer import ConsumerConfig, ZookeeperConsumerConnector
from zkconsumer.records.codecs import Codec

pytestmark = pytest.mark.sandbox
_numbers = itertools.count(1)
CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]


def scala_takes(group: MixedGroup, topic: str, count: int) -> list[str]:
    """Let the original read ``count`` messages, commit and leave; return their values."""
    name = f"scala-{next(_numbers)}"
    member = group.scala(topic, name, options=("--max-messages", str(count)))
    member.tool.wait()
    assert len(member.values) == count
    return member.values


def ours_takes(
    group: MixedGroup, topic: str, count: int, *, auto_commit: bool = False
) -> list[str]:
    """Let a member of ours read ``count`` messages, commit and leave; return their values."""
    group.fresh = False
    member = f"ours-{next(_numbers)}"
    props = {
        **TIMINGS,
        "consumer.id": member,
        "zookeeper.connect": group.cluster.zookeeper_connect,
        "group.id": group.name,
        "auto.offset.reset": "smallest",
        "auto.commit.enable": str(auto_commit).lower(),
        "auto.commit.interval.ms": "60000",
    }
    declare(group.recorder, group.id_of(member), props)
    with ZookeeperConsumerConnector(ConsumerConfig(props)) as connector:
        [stream] = connector.create_message_streams({topic: 1})[topic]
        messages = recorded(stream, group.recorder, group.id_of(member), member)
        values = [(message.value or b"").decode() for message in itertools.islice(messages, count)]
        if not auto_commit:
            connector.commit_offsets()
    return values


@in_matrix("codec", CODECS, [Codec.GZIP])
def test_either_kind_continues_inside_a_set_where_the_other_stopped(
    group: MixedGroup, codec: Codec
) -> None:
    """Sets have ten messages; the original stops within the second, ours within the third, etc.

    CI has all codecs in one topic, in the next test.
    """
    topic = group.topic(1)
    written = [value for _ in range(6) for value in group.write(10, topic, codec=codec)]
    assert scala_takes(group, topic, 13) == written[:13]
    assert group.peek.offsets(topic) == {0: "13"}
    assert ours_takes(group, topic, 11) == written[13:24]
    assert group.peek.offsets(topic) == {0: "24"}
    assert scala_takes(group, topic, 8) == written[24:32]
    assert ours_takes(group, topic, 28) == written[32:]
    assert group.peek.offsets(topic) == {0: "60"}


def test_every_partition_continues_at_its_own_next_message(group: MixedGroup) -> None:
    """Four partitions with different codecs: over all turns each message comes exactly once."""
    topic = group.topic(4)
    for tp, codec in zip(group.partitions(topic), CODECS, strict=True):
        for _ in range(5):
            group.writer.write(tp, 10, codec)
    taken: list[str] = []
    for count in (37, 23, 31):
        taken += scala_takes(group, topic, count)
        taken += ours_takes(group, topic, count - 1)
    rest = len(group.writer.values) - len(taken)
    taken += ours_takes(group, topic, rest)
    assert sorted(taken) == sorted(group.writer.values)
    assert group.peek.offsets(topic) == dict.fromkeys(range(4), "50")


def test_with_auto_commit_the_last_delivered_message_comes_again(group: MixedGroup) -> None:
    """A message counts as processed at the next call, so the last one goes to the successor."""
    topic = group.topic(1)
    written = group.write(10, topic, codec=Codec.GZIP)
    assert ours_takes(group, topic, 4, auto_commit=True) == written[:4]
    assert scala_takes(group, topic, 7) == written[3:]


def test_ours_continues_at_the_last_commit_of_a_killed_original(
    group: MixedGroup,
) -> None:
    """No message is missing, and only uncommitted ones are read again."""
    topic = group.topic(1)
    written = group.write(10, topic)
    dead = group.scala(topic, settings={"zookeeper.session.timeout.ms": "1000"})
    group.await_values(written, dead)
    group.await_committed(topic)
    dead.kill()
    more = group.write(10, topic)
    assert ours_takes(group, topic, 10) == more
