"""``commit_offsets`` with offsets on a real ZooKeeper: exactly those, and only of what is ours."""

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

BY_HAND = {"auto_commit_enable": False}
TEN = [b"value"] * 10


def test_they_are_where_the_next_one_starts_wherever_the_caller_was(cluster: Sandbox) -> None:
    """Back or forth; the stream itself goes on where it is; nothing else is written later."""
    topic, group = fresh_name("exact"), fresh_name("group")
    back, forth = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    for tp in (back, forth):
        write(cluster, tp, TEN)
    tree = ZkTree(cluster)
    with Member(cluster, group, {topic: 1}, **BY_HAND) as member:
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
    with Member(cluster, group, {topic: 1}, **BY_HAND) as successor:
        wait_until(
            lambda: (successor.got(back), successor.got(forth)) == (list(range(3, 13)), [12]),
            what="just that",
        )


def test_another_members_partitions_are_refused_and_ours_are_written(cluster: Sandbox) -> None:
    """In one call; the other's offset stays, whatever it is."""
    topic, group = fresh_name("foreign"), fresh_name("group")
    cluster.create_topic(topic, partitions=2)
    ours, theirs = partitions_of(topic, 2)
    tree = ZkTree(cluster)
    with (
        Member(cluster, group, {topic: 1}, consumer_id="a", **BY_HAND) as member,
        Member(cluster, group, {topic: 1}, consumer_id="b", **BY_HAND) as other,
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


def test_what_somebody_else_wrote_is_overwritten_only_when_the_caller_says_what_by(
    cluster: Sandbox,
) -> None:
    """A larger offset by an operator: kept from the commit of all, not from an explicit one."""
    topic, group = fresh_name("moved"), fresh_name("group")
    cluster.create_topic(topic)
    [tp] = partitions_of(topic, 1)
    write(cluster, tp, TEN)
    tree = ZkTree(cluster)
    config = settings_for(cluster, group, consumer_timeout_ms=10_000, **BY_HAND)
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
    """By the caller's thread or by name; the connector goes on."""
    topic, group = fresh_name("bad"), fresh_name("group")
    cluster.create_topic(topic)
    [tp] = partitions_of(topic, 1)
    config = settings_for(cluster, group, **BY_HAND)
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
