"""Topics that are deleted and created again, with more messages than were read before."""

import logging
from collections.abc import Sequence

import pytest

from tests.support.clusters import fresh_name
from tests.support.members import Member
from tests.support.traffic import write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

KAFKA: dict[str, object] = {"offsets_storage": "kafka"}
DUAL: dict[str, object] = {**KAFKA, "dual_commit_enabled": True}
OLD = [b"old %d" % number for number in range(200)]
NEW = [b"new %d" % number for number in range(500)]


def warnings_of(
    caplog: pytest.LogCaptureFixture, topic: str, text: str = "deleted and created again"
) -> list[str]:
    """Return the warnings about a topic that have a text, such as that it was created again."""
    return [
        record.getMessage()
        for record in caplog.records
        if record.levelno == logging.WARNING
        and text in record.getMessage()
        and topic in record.getMessage()
    ]


def former_topic(cluster: Sandbox) -> TopicPartition:
    """Create a topic with the messages ``OLD``; return its only partition."""
    tp = TopicPartition(fresh_name("recreated"), 0)
    cluster.create_topic(tp.topic)
    write(cluster, tp, OLD)
    return tp


def recreate(cluster: Sandbox, tp: TopicPartition, values: Sequence[bytes] = NEW) -> None:
    """Delete the topic, create it again, and fill it."""
    cluster.delete_topic(tp.topic)
    cluster.create_topic(tp.topic)
    write(cluster, tp, values)


@pytest.mark.parametrize("storage", [{}, KAFKA, DUAL], ids=["zookeeper", "kafka", "both"])
def test_a_topic_created_again_while_nobody_reads_is_read_whole(
    cluster: Sandbox, caplog: pytest.LogCaptureFixture, storage: dict[str, object]
) -> None:
    """There is one warning; the next member continues at the committed offset."""
    tp, group = former_topic(cluster), fresh_name("group")
    with Member(cluster, group, {tp.topic: 1}, **storage) as member:
        wait_until(lambda: len(member.got(tp)) == 200, what="the former topic")
    recreate(cluster, tp)
    with Member(cluster, group, {tp.topic: 1}, **storage) as member:
        wait_until(lambda: len(member.got(tp)) == 500, what="the new topic")
        assert member.values(tp) == NEW
        assert member.errors == []
    (warning,) = warnings_of(caplog, tp.topic)
    assert group in warning
    assert "partition 0: 200" in warning
    with Member(cluster, group, {tp.topic: 1}, **storage) as member:
        write(cluster, tp, [b"next"])
        wait_until(lambda: member.got(tp), what="the next message")
        assert member.got(tp)[-1] == 500
        assert member.got(tp)[0] >= 499
    assert len(warnings_of(caplog, tp.topic)) == 1


@pytest.mark.parametrize("storage", [{}, KAFKA], ids=["zookeeper", "kafka"])
def test_a_topic_created_again_under_a_member_is_read_whole(
    cluster: Sandbox, caplog: pytest.LogCaptureFixture, storage: dict[str, object]
) -> None:
    """The member notices the deletion and the creation, and reads all of the new topic."""
    tp, group = former_topic(cluster), fresh_name("group")
    with Member(cluster, group, {tp.topic: 1}, auto_commit_interval_ms=100, **storage) as member:
        wait_until(lambda: len(member.got(tp)) == 200, what="the former topic")
        member.connector.commit_offsets()
        recreate(cluster, tp)
        # It may first continue at its former offset, before ZooKeeper's watch fires.
        wait_until(lambda: member.values(tp)[-500:] == NEW, what="the new topic")
        assert member.errors == []
    # While the new log is shorter than the old position, the broker's error may come first.
    # A pending commit of the former topic's offsets is refused with a warning, too.
    recreated = warnings_of(caplog, tp.topic, "so these offsets are those of")
    assert len(recreated or warnings_of(caplog, tp.topic, "is out of range")) == 1


def test_with_largest_only_new_messages_are_read(
    cluster: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    """``auto.offset.reset`` applies, as for any group without an offset."""
    tp, group = former_topic(cluster), fresh_name("group")
    with Member(cluster, group, {tp.topic: 1}) as member:
        wait_until(lambda: len(member.got(tp)) == 200, what="the former topic")
    recreate(cluster, tp)
    with Member(cluster, group, {tp.topic: 1}, auto_offset_reset="largest") as member:
        wait_until(lambda: member.claims()[tp].consumed_offset == 500, what="the end of the log")
        write(cluster, tp, [b"next"])
        wait_until(lambda: member.got(tp), what="the next message")
        assert member.got(tp) == [500]
    assert len(warnings_of(caplog, tp.topic)) == 1


def test_a_foreign_offset_from_before_the_creation_is_ignored(
    cluster: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    """ZooKeeper's transaction ids show that, even for a Scala member's offset."""
    topic, group = fresh_name("recreated"), fresh_name("group")
    tp = TopicPartition(topic, 0)
    cluster.create_topic(topic)
    ZkTree(cluster).put(f"/consumers/{group}/offsets/{topic}/0", b"20")
    recreate(cluster, tp, NEW[:50])
    with Member(cluster, group, {topic: 1}) as member:
        wait_until(lambda: len(member.got(tp)) == 50, what="the new topic")
        assert member.values(tp) == NEW[:50]
    assert len(warnings_of(caplog, topic)) == 1
