"""Stored offsets that are outside of the log, inside a compressed set, or no offsets at all."""

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.clusters import expire, fresh_name
from tests.support.matrix import in_matrix
from tests.support.members import Member, settings_for
from tests.support.traffic import write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree, offset_path
from zkconsumer import PartitionFailed, ZookeeperConsumerConnector
from zkconsumer.model import TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

VALUES = [b"value %d" % number for number in range(10)]


def store_offset(cluster: Sandbox, group: str, tp: TopicPartition, text: bytes) -> None:
    """Write text to the node of a committed offset."""
    ZkTree(cluster).put(offset_path(group, tp), text)


@pytest.mark.parametrize("reset", ["smallest", "largest"])
def test_an_offset_beyond_the_end_is_reset(
    cluster: Sandbox, caplog: pytest.LogCaptureFixture, reset: str
) -> None:
    """It is reset to the start or the end of the log; the wrong offset is logged."""
    topic, group = fresh_name("beyond"), fresh_name("group")
    tp = TopicPartition(topic, 0)
    cluster.create_topic(topic)
    write(cluster, tp, VALUES)
    store_offset(cluster, group, tp, b"1000")
    with Member(cluster, group, {topic: 1}, auto_offset_reset=reset) as member:
        wait_until(lambda: "offset 1000 is out of range" in caplog.text, what="the reset")
        wait_until(lambda: member.claims()[tp].consumed_offset == 10, what="the end of the log")
        write(cluster, tp, [b"next"])
        wait_until(lambda: 10 in member.got(tp), what="the next message")
        assert member.got(tp) == list(range(0 if reset == "smallest" else 10, 11))
        assert f"continuing at its {reset} offset" in caplog.text
        assert member.errors == []


class Truncated(NamedTuple):
    """A topic whose first segments are deleted."""

    cluster: Sandbox
    tp: TopicPartition
    start: int
    end: int


@pytest.fixture(scope="module")
def truncated(cluster: Sandbox, disks: Path) -> Truncated:
    """Delete the oldest segments of a log, as retention does."""
    tp = TopicPartition(fresh_name("truncated"), 0)
    cluster.create_topic(tp.topic, config={"segment.bytes": "1000"})
    for number in range(40):
        write(cluster, tp, [b"x" * 100 + b"%d" % number])
    return Truncated(cluster, tp, expire(cluster, disks / "cluster", tp, broker_id=0), 40)


@pytest.mark.parametrize("reset", ["smallest", "largest"])
def test_an_offset_before_the_first_segment_is_reset(truncated: Truncated, reset: str) -> None:
    """It is reset to the oldest message or to the end; the new position is committed."""
    cluster, tp, start, end = truncated
    group = fresh_name("group")
    store_offset(cluster, group, tp, b"3")
    with Member(cluster, group, {tp.topic: 1}, auto_offset_reset=reset) as member:
        wanted = list(range(start, end)) if reset == "smallest" else []
        # No message follows, so the last one counts as processed, and the position is the end.
        wait_until(lambda: member.claims()[tp].consumed_offset == end, what="the end of the log")
        assert member.got(tp) == wanted
        assert member.errors == []
    assert ZkTree(cluster).offset(group, tp) == end


@in_matrix(
    "garbage", [b"", b"abc", b"12 ", b"1.5", b"\xff\xfe", b"9" * 30], [b"", b"abc", b"9" * 30]
)
def test_garbage_in_place_of_an_offset_stops_that_partition_alone(
    cluster: Sandbox, garbage: bytes
) -> None:
    """The stream's error names the node and the problem; the node is never overwritten."""
    topic, group = fresh_name("garbage"), fresh_name("group")
    bad, good = TopicPartition(topic, 0), TopicPartition(topic, 1)
    cluster.create_topic(topic, partitions=2)
    write(cluster, bad, VALUES)
    store_offset(cluster, group, bad, garbage)
    with Member(cluster, group, {topic: 1}) as member:
        write(cluster, good, VALUES)
        wait_until(lambda: len(member.got(good)) == 10, what="the other partition")
        wait_until(lambda: member.errors, what="the error")
        (error,) = member.errors
        assert isinstance(error, PartitionFailed)
        assert error.topic_partition == bad
        text = str(error)
        assert "correct or delete" in text
        assert offset_path(group, bad) in text
        assert group in text
        assert member.got(bad) == []
        assert member.connector.commit_offsets() == 1
    node = ZkTree(cluster).get(offset_path(group, bad))
    assert node is not None
    assert node.data == garbage


def test_a_partition_with_a_corrected_offset_is_read_by_the_next_member(cluster: Sandbox) -> None:
    """Once the operator did what the error says, a restarted member continues there."""
    topic, group = fresh_name("corrected"), fresh_name("group")
    tp = TopicPartition(topic, 0)
    cluster.create_topic(topic)
    write(cluster, tp, VALUES)
    store_offset(cluster, group, tp, b"seven")
    with Member(cluster, group, {topic: 1}) as member:
        wait_until(lambda: member.errors, what="the error")
    store_offset(cluster, group, tp, b"7")
    with Member(cluster, group, {topic: 1}) as member:
        wait_until(lambda: member.got(tp) == [7, 8, 9], what="the rest")


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY])
def test_an_offset_inside_a_compressed_set_resumes_there(cluster: Sandbox, codec: Codec) -> None:
    """The whole set is fetched; messages before the offset are not delivered again."""
    topic, group = fresh_name("packed"), fresh_name("group")
    tp = TopicPartition(topic, 0)
    cluster.create_topic(topic)
    assert write(cluster, tp, VALUES, codec=codec) == 0
    store_offset(cluster, group, tp, b"5")
    with Member(cluster, group, {topic: 1}) as member:
        wait_until(lambda: len(member.got(tp)) == 5, what="the rest of the set")
        write(cluster, tp, [b"behind"])
        wait_until(lambda: 10 in member.got(tp), what="the message after it")
        assert member.got(tp) == [5, 6, 7, 8, 9, 10]
        assert member.values(tp) == [*VALUES[5:], b"behind"]


def test_a_commit_inside_a_compressed_set_is_resumed_exactly(cluster: Sandbox) -> None:
    """Three messages of a set are committed: the next member begins with the fourth."""
    topic, group = fresh_name("inside"), fresh_name("group")
    tp = TopicPartition(topic, 0)
    cluster.create_topic(topic)
    write(cluster, tp, VALUES, codec=Codec.GZIP)
    config = settings_for(cluster, group, consumer_timeout_ms=10_000, auto_commit_enable=False)
    with ZookeeperConsumerConnector(config) as connector:
        [stream] = connector.create_message_streams({topic: 1})[topic]
        assert [next(stream).offset for _ in range(3)] == [0, 1, 2]
        assert connector.commit_offsets() == 1
    assert ZkTree(cluster).offset(group, tp) == 3
    with Member(cluster, group, {topic: 1}) as member:
        wait_until(lambda: 9 in member.got(tp), what="the rest of the set")
        assert member.got(tp) == list(range(3, 10))
