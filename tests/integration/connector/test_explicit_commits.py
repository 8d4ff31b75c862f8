"""``commit_offsets`` with offsets, on a real ZooKeeper: it writes only these, and only ours."""

import pytest

from tests.support.clusters import fresh_name
from tests.support.members import Member, settings_for
from tests.support.traffic import partitions_of, write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree, offset_path
from zkconsumer import ConfigError, OffsetCommitFailed, ZookeeperConsumerConnector
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

MANUAL_COMMITS = {"auto_commit_enable": False}
TEN = [b"value"] * 10


def test_the_next_member_starts_at_explicit_offsets(cluster: Sandbox) -> None:
    """They may be before or after the position; the stream is not affected; no later commit."""
    topic, group = fresh_name("exact"), fresh_name("group")
    back, forth = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    for tp in (back, forth):
        write(cluster, tp, TEN)
    tree = ZkTree(cluster)
    with Member(cluster, group, {topic: 1}, **MANUAL_COMMITS) as member:
        wait_until(lambda: len(member.deliveries) == 20, what="everything")
        assert member.connector.commit_offsets() == 2
        offsets = {back: OffsetAndMetadata(3), forth: OffsetAndMetadata(12, "skipped two")}
        assert member.connector.commit_offsets(offsets) == 2
        assert tree.offsets(group) == {back: 3, forth: 12}
        for tp in (back, forth):
            write(cluster, tp, [b"eleven", b"twelve", b"thirteen"])
        wait_until(lambda: len(member.deliveries) == 26, what="what is new")
        assert member.got(back) == list(range(13))
    assert tree.offsets(group) == {back: 3, forth: 12}
    with Member(cluster, group, {topic: 1}, **MANUAL_COMMITS) as successor:
        wait_until(
            lambda: (successor.got(back), successor.got(forth)) == (list(range(3, 13)), [12]),
            what="just that",
        )


def test_partitions_of_another_member_are_refused_and_ours_are_written(cluster: Sandbox) -> None:
    """Both are in one call; the other member's offset is unchanged."""
    topic, group = fresh_name("foreign"), fresh_name("group")
    cluster.create_topic(topic, partitions=2)
    ours, theirs = partitions_of(topic, 2)
    tree = ZkTree(cluster)
    with (
        Member(cluster, group, {topic: 1}, consumer_id="a", **MANUAL_COMMITS) as member,
        Member(cluster, group, {topic: 1}, consumer_id="b", **MANUAL_COMMITS) as other,
    ):
        wait_until(lambda: set(member.claims()) == {ours}, what="a share each")
        assert other.connector.commit_offsets({theirs: OffsetAndMetadata(5)}) == 1
        wanted = {
            partition: OffsetAndMetadata(9)
            for partition in (ours, theirs, TopicPartition("none", 0))
        }
        with pytest.raises(OffsetCommitFailed) as caught:
            member.connector.commit_offsets(wanted)
        assert set(caught.value.failed) == {theirs, TopicPartition("none", 0)}
        assert tree.offsets(group) == {ours: 9, theirs: 5}


def test_only_an_explicit_commit_overwrites_a_foreign_offset(
    cluster: Sandbox,
) -> None:
    """An operator's larger offset fails a commit of all positions, but not one of given offsets."""
    topic, group = fresh_name("moved"), fresh_name("group")
    cluster.create_topic(topic)
    [tp] = partitions_of(topic, 1)
    write(cluster, tp, TEN)
    tree = ZkTree(cluster)
    config = settings_for(cluster, group, consumer_timeout_ms=10_000, **MANUAL_COMMITS)
    with ZookeeperConsumerConnector(config) as connector:
        [stream] = connector.create_message_streams({topic: 1})[topic]
        assert [next(stream).offset for _ in range(4)] == [0, 1, 2, 3]
        assert connector.commit_offsets() == 1
        tree.put(offset_path(group, tp), b"1000")
        assert next(stream).offset == 4
        with pytest.raises(OffsetCommitFailed, match="1000"):
            connector.commit_offsets()
        assert tree.offset(group, tp) == 1000
        assert connector.commit_offsets({tp: OffsetAndMetadata(2)}) == 1
        assert tree.offset(group, tp) == 2
        assert next(stream).offset == 5


def test_bad_offsets_are_refused_without_harm(cluster: Sandbox) -> None:
    """A wrong type is a ConfigError, an impossible offset fails its partition."""
    topic, group = fresh_name("bad"), fresh_name("group")
    cluster.create_topic(topic)
    [tp] = partitions_of(topic, 1)
    config = settings_for(cluster, group, **MANUAL_COMMITS)
    with ZookeeperConsumerConnector(config) as connector:
        connector.create_message_streams({topic: 1})
        for nonsense in ("5", 5.0, None, True):
            with pytest.raises(ConfigError, match="offset"):
                connector.commit_offsets({tp: OffsetAndMetadata(nonsense)})  # type: ignore[arg-type]
        for impossible in (-1, 2**63):
            with pytest.raises(OffsetCommitFailed, match=str(impossible)):
                connector.commit_offsets({tp: OffsetAndMetadata(impossible)})
        assert ZkTree(cluster).offsets(group) == {}
        assert connector.commit_offsets({tp: OffsetAndMetadata(0)}) == 1
        assert ZkTree(cluster).offsets(group) == {tp: 0}
