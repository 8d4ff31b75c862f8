"""Messages larger than the fetch size: the fetch size grows for them, up to a limit."""

import pytest

from tests.support.clusters import fresh_name
from tests.support.members import Member
from tests.support.traffic import partitions_of, write
from tests.support.waiting import wait_until
from zkconsumer import MessageTooLarge
from zkconsumer.model import TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

OVERHEAD_BYTES = 26
"""Entry and message header of magic 0 with a null key."""
SMALL, LARGE, HUGE = b"small", b"l" * 20_000, b"h" * 900_000


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_a_message_larger_than_the_fetch_size_is_delivered(cluster: Sandbox, codec: Codec) -> None:
    """The fetch size grows as often as needed; later messages come, too."""
    topic, group = fresh_name("large"), fresh_name("group")
    tp = TopicPartition(topic, 0)
    cluster.create_topic(topic)
    values = [SMALL, LARGE, SMALL, HUGE, SMALL]
    for value in values:
        write(cluster, tp, [value], codec=codec)
    with Member(cluster, group, {topic: 1}, fetch_message_max_bytes=10) as member:
        wait_until(lambda: len(member.deliveries) == len(values), what="all messages")
        assert member.values(tp) == values
        assert member.errors == []


def test_a_message_beyond_the_limit_stops_its_partition_alone(cluster: Sandbox) -> None:
    """Earlier messages are delivered, the error has size and limit, and other partitions go on."""
    topic, group = fresh_name("huge"), fresh_name("group")
    bad, good = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    for value in (SMALL, LARGE, SMALL):
        write(cluster, bad, [value])
    sizes = {"fetch_message_max_bytes": 1000, "fetch_message_growth_max_bytes": 10_000}
    with Member(cluster, group, {topic: 1}, **sizes) as member:
        wait_until(lambda: member.errors, what="the error")
        write(cluster, good, [SMALL] * 10)
        wait_until(lambda: len(member.got(good)) == 10, what="the other partition")
        (error,) = member.errors
        assert isinstance(error, MessageTooLarge)
        assert error.topic_partition == bad
        assert error.offset == 1
        assert error.size_bytes == len(LARGE) + OVERHEAD_BYTES
        assert error.limit_bytes == 10_000
        assert "raise fetch.message.growth.max.bytes" in str(error)
        assert member.got(bad) == [0]
    with Member(cluster, group, {topic: 1}) as member:
        wait_until(lambda: member.got(bad) == [1, 2], what="the rest, with the bound raised")
