"""A stream that nobody reads delays its own partitions and nothing else."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.support.clusters import fresh_name
from tests.support.members import Member, Stream, settings_for
from tests.support.traffic import partitions_of, write
from tests.support.waiting import PROMPT_MS, wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer import ZookeeperConsumerConnector
from zkconsumer.clock import SystemClock
from zkconsumer.model import TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

VALUES = [b"x" * 500 + b"%d" % number for number in range(200)]
SMALL_FETCHES = {"fetch_message_max_bytes": 1500, "queued_max_message_chunks": 2}
CLOCK = SystemClock()


@contextmanager
def stalled(
    cluster: Sandbox, group: str, topic: str
) -> Iterator[tuple[ZookeeperConsumerConnector, Stream, Stream]]:
    """Open two streams with a partition each; the first one's queue is full and nobody reads it."""
    config = settings_for(
        cluster, group, consumer_timeout_ms=10_000, consumer_id="a", **SMALL_FETCHES
    )
    with ZookeeperConsumerConnector(config) as connector:
        slow, quick = connector.create_message_streams({topic: 2})[topic]
        wait_until(lambda: slow._waiting._queue.chunk_count() == 2, what="a full queue")
        yield connector, slow, quick


def filled_topic(cluster: Sandbox) -> tuple[str, list[TopicPartition]]:
    """Create a topic of two partitions with more messages in each than a queue can hold."""
    topic = fresh_name("slow")
    cluster.create_topic(topic, partitions=2)
    partitions = partitions_of(topic, 2)
    for tp in partitions:
        write(cluster, tp, VALUES)
    return topic, partitions


def test_other_streams_are_not_delayed(cluster: Sandbox) -> None:
    """The other partition is delivered by the same broker and fetcher; then the rest, too."""
    topic, _ = filled_topic(cluster)
    with stalled(cluster, fresh_name("group"), topic) as (_, slow, quick):
        assert [next(quick).offset for _ in VALUES] == list(range(len(VALUES)))
        assert slow._waiting._queue.chunk_count() == 2
        assert [next(slow).offset for _ in VALUES] == list(range(len(VALUES)))


def test_a_partition_that_shares_a_slow_stream_waits_with_it(cluster: Sandbox) -> None:
    """Nothing of a stream's two partitions is lost while it is not read, and order is kept."""
    topic, partitions = filled_topic(cluster)
    config = settings_for(cluster, fresh_name("group"), consumer_timeout_ms=10_000, **SMALL_FETCHES)
    with ZookeeperConsumerConnector(config) as connector:
        [stream] = connector.create_message_streams({topic: 1})[topic]
        wait_until(lambda: stream._waiting._queue.chunk_count() == 2, what="a full queue")
        got: dict[int, list[int]] = {0: [], 1: []}
        for _ in range(2 * len(VALUES)):
            message = next(stream)
            got[message.partition].append(message.offset)
        assert got == {tp.partition: list(range(len(VALUES))) for tp in partitions}


def takeover_ms(cluster: Sandbox, *, read: bool) -> int:
    """Return how long a new member takes to get a partition of a read or stalled stream."""
    topic, (first, _) = filled_topic(cluster)
    group = fresh_name("group")
    with ExitStack() as open_members:
        if read:
            settings = {"consumer_id": "a", **SMALL_FETCHES}
            member = open_members.enter_context(Member(cluster, group, {topic: 2}, **settings))
            wait_until(lambda: 199 in member.got(first), what="all of it")
        else:
            open_members.enter_context(stalled(cluster, group, topic))
        started_ms = CLOCK.now_ms()
        # The thread ids sort as 0-0, a-0, a-1, so the first partition goes to the new member.
        newcomer = open_members.enter_context(
            Member(cluster, group, {topic: 1}, consumer_id="0", **SMALL_FETCHES)
        )
        taken_ms = CLOCK.now_ms() - started_ms
        assert set(newcomer.claims()) == {first}
        if not read:
            wait_until(lambda: newcomer.got(first) == list(range(200)), what="all of it")
        return taken_ms


def test_a_rebalance_does_not_wait_for_a_slow_stream(cluster: Sandbox) -> None:
    """A stalled partition moves as fast as one whose stream is read.

    Waiting would never end: nobody reads the stream.
    """
    assert takeover_ms(cluster, read=False) < takeover_ms(cluster, read=True) + PROMPT_MS


def test_a_shutdown_does_not_wait_for_a_slow_stream(cluster: Sandbox) -> None:
    """Queued messages are dropped without a commit; the slow stream ends."""
    topic, partitions = filled_topic(cluster)
    group = fresh_name("group")
    with stalled(cluster, group, topic) as (connector, slow, quick):
        assert [next(quick).offset for _ in range(10)] == list(range(10))
        started_ms = CLOCK.now_ms()
        connector.shutdown()
        assert CLOCK.now_ms() - started_ms < PROMPT_MS
        assert list(slow) == []
        assert list(quick) == []
    assert ZkTree(cluster).offsets(group) == {partitions[0]: 0, partitions[1]: 9}


def test_the_smallest_byte_budget_delivers_everything(cluster: Sandbox) -> None:
    """With one byte for three streams, chunks come one at a time; messages have many sizes."""
    topic, group = fresh_name("tight"), fresh_name("group")
    cluster.create_topic(topic, partitions=3)
    partitions = partitions_of(topic, 3)
    values = [b"v" * size for size in (1, 30_000, 10, 200, 5_000, 0) * 5]
    for tp in partitions:
        write(cluster, tp, values, codec=Codec.GZIP if tp.partition else Codec.NONE)
    settings = {"queued_max_bytes": 1, "fetch_max_bytes": 10_000, "fetch_message_max_bytes": 2_000}
    with Member(cluster, group, {topic: 3}, **settings) as member:
        wait_until(lambda: len(member.deliveries) == 3 * len(values), what="all messages")
        assert [member.values(tp) for tp in partitions] == [values] * 3
        assert member.errors == []
