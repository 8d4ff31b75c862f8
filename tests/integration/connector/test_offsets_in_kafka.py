"""Members whose offsets are in Kafka: what they commit, when, and where they continue."""

from collections.abc import Mapping

import pytest

from tests.support.clusters import fresh_name
from tests.support.coordinator_cluster import IN_KAFKA
from tests.support.kafka_offsets import KafkaOffsets
from tests.support.members import Member, await_ends, duplicates, settings_for
from tests.support.traffic import Traffic, partitions_of, write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree, offset_path, owner_path
from zkconsumer import (
    ConsumerThreadId,
    OffsetAndMetadata,
    OffsetCommitFailed,
    ZookeeperConsumerConnector,
)
from zkconsumer.model import TopicPartition
from zkconsumer.observe import Committed, RebalanceFinished
from zkconsumer.sandbox import Sandbox
from zkconsumer.zk.kazoo_store import connect
from zkconsumer.zk.topic_nodes import topic_czxids

pytestmark = pytest.mark.sandbox

VALUES = [b"value %d" % number for number in range(10)]
IN_BOTH: Mapping[str, object] = {**IN_KAFKA, "dual_commit_enabled": True}
MANUAL_COMMITS = {"auto_commit_enable": False}


def metadata_of(cluster: Sandbox, tp: TopicPartition) -> str:
    """Return the metadata of a commit without the caller's own: it has the topic's czxid."""
    store = connect(
        cluster.zookeeper_connect, session_timeout_ms=4_000, connection_timeout_ms=10_000
    )
    try:
        return f"zkconsumer:topic-czxid={topic_czxids(store, [tp.topic])[tp.topic]:x}"
    finally:
        store.close()


def filled_topic(cluster: Sandbox, partitions: int = 1) -> list[TopicPartition]:
    """Create a topic with ten messages in each partition; return the partitions."""
    topic = fresh_name("offsets")
    cluster.create_topic(topic, partitions=partitions)
    for tp in partitions_of(topic, partitions):
        write(cluster, tp, VALUES)
    return partitions_of(topic, partitions)


def test_a_member_commits_to_kafka_alone_and_the_next_one_continues_there(cluster: Sandbox) -> None:
    """Automatic, final and manual commits with metadata; nothing is written to ZooKeeper."""
    [tp] = filled_topic(cluster)
    group = fresh_name("group")
    stored = KafkaOffsets(cluster, group)
    config = settings_for(
        cluster, group, consumer_timeout_ms=10_000, auto_commit_interval_ms=50, **IN_KAFKA
    )
    with ZookeeperConsumerConnector(config) as connector:
        [stream] = connector.create_message_streams({tp.topic: 1})[tp.topic]
        assert [next(stream).offset for _ in range(5)] == list(range(5))
        wait_until(lambda: stored.offset(tp) == 4, what="the automatic commit")
        assert next(stream).offset == 5
        wait_until(lambda: stored.offset(tp) == 5, what="the next one")
        assert next(stream).offset == 6
    assert stored.entries([tp]) == {tp: (6, metadata_of(cluster, tp))}

    config = settings_for(cluster, group, consumer_timeout_ms=10_000, **IN_KAFKA, **MANUAL_COMMITS)
    with ZookeeperConsumerConnector(config) as connector:
        [stream] = connector.create_message_streams({tp.topic: 1})[tp.topic]
        assert [next(stream).offset for _ in range(3)] == [6, 7, 8]
        assert connector.commit_offsets() == 1
        assert stored.entries([tp]) == {tp: (9, metadata_of(cluster, tp))}
        assert connector.commit_offsets({tp: OffsetAndMetadata(3, "said ☃")}) == 1
        assert next(stream).offset == 9
    assert stored.entries([tp]) == {tp: (3, "said ☃")}

    with Member(cluster, group, {tp.topic: 1}, **IN_KAFKA) as member:
        wait_until(lambda: len(member.deliveries) == 7, what="all from there on")
        assert member.got(tp) == list(range(3, 10))
    assert ZkTree(cluster).children(f"/consumers/{group}/offsets") == []


def test_without_automatic_commits_nothing_is_ever_written(cluster: Sandbox) -> None:
    """Neither the interval nor a rebalance nor a shutdown commits."""
    partitions = filled_topic(cluster, 2)
    group = fresh_name("group")
    settings = {**IN_KAFKA, **MANUAL_COMMITS, "auto_commit_interval_ms": 10}
    topic = partitions[0].topic
    with Member(cluster, group, {topic: 1}, **settings) as first:
        wait_until(lambda: len(first.deliveries) == 20, what="everything")
        with Member(cluster, group, {topic: 1}, **settings) as second:
            wait_until(lambda: len(second.deliveries) == 10, what="the half of the second one")
        wait_until(lambda: len(first.deliveries) == 30, what="that half once more")
    assert KafkaOffsets(cluster, group).entries(partitions) == {}


@pytest.mark.parametrize("settings", [IN_KAFKA, IN_BOTH], ids=["kafka", "both"])
def test_a_partition_changes_hands_without_a_gap_or_a_repeat(
    cluster: Sandbox, settings: Mapping[str, object]
) -> None:
    """The next owner continues at the offset that was committed at the release."""
    topic, group = fresh_name("handed"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    stored, tree = KafkaOffsets(cluster, group), ZkTree(cluster)
    stays, moves = partitions
    with (
        Member(cluster, group, {topic: 1}, consumer_id="a", **settings) as first,
        Traffic(cluster, partitions) as traffic,
    ):
        wait_until(lambda: first.got(stays) and first.got(moves), what="traffic")
        with Member(cluster, group, {topic: 1}, consumer_id="b", **settings) as second:
            wait_until(lambda: len(second.got(moves)) > 20, what="the partition that moves")
        before = len(first.got(moves))
        wait_until(lambda: len(first.got(moves)) > before, what="its return")
        acknowledged = traffic.stop()
        assert duplicates([first, second], acknowledged) == {}
        ends = traffic.ends()
        wait_until(
            lambda: {tp: claim.consumed_offset for tp, claim in first.claims().items()} == ends,
            what="the last message to count",
        )
    assert stored.offsets(partitions) == ends
    assert tree.offsets(group) == (ends if settings is IN_BOTH else {})


class CommitsBeforeRelease:
    """A listener that commits before a release, as callers without automatic commits do."""

    def __init__(self) -> None:
        self.connector: ZookeeperConsumerConnector | None = None
        self.commits: list[int] = []

    def before_releasing_partitions(self, ownership: Mapping[str, frozenset[int]]) -> None:
        """See ``ConsumerRebalanceListener``."""
        del ownership
        assert self.connector is not None
        self.commits.append(self.connector.commit_offsets())

    def before_starting_fetchers(
        self, consumer_id: str, global_assignment: Mapping[str, Mapping[int, ConsumerThreadId]]
    ) -> None:
        """See ``ConsumerRebalanceListener``."""


def test_a_listener_commits_what_is_about_to_be_released(cluster: Sandbox) -> None:
    """Without automatic commits the next owner continues after the last delivered message."""
    partitions = filled_topic(cluster, 2)
    stays, moves = partitions
    group = fresh_name("group")
    stored = KafkaOffsets(cluster, group)
    listener = CommitsBeforeRelease()
    config = settings_for(
        cluster, group, consumer_id="a", consumer_timeout_ms=10_000, **IN_KAFKA, **MANUAL_COMMITS
    )
    with ZookeeperConsumerConnector(config) as connector:
        listener.connector = connector
        connector.set_consumer_rebalance_listener(listener)
        [stream] = connector.create_message_streams({stays.topic: 1})[stays.topic]
        taken = [next(stream) for _ in range(13)]
        position = {
            tp: sum(message.partition == tp.partition for message in taken) for tp in partitions
        }
        settings = {**IN_KAFKA, **MANUAL_COMMITS, "consumer_id": "b"}
        with Member(cluster, group, {stays.topic: 1}, **settings) as second:
            rest = list(range(position[moves], 10))
            wait_until(lambda: second.got(moves) == rest, what="the rest of what moved")
        assert listener.commits == [2]
        assert stored.offsets(partitions) == position


def test_at_most_once_neither_loses_nor_repeats_while_the_broker_restarts(cluster: Sandbox) -> None:
    """A stream whose commit failed raises, and delivers the same chunk at the next call."""
    topic, group = fresh_name("ahead"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    settings = {**IN_KAFKA, "delivery": "at_most_once", "offsets_commit_max_retries": 0}
    with (
        Member(cluster, group, {topic: 1}, **settings) as member,
        Traffic(cluster, partitions) as traffic,
    ):
        wait_until(lambda: len(traffic.ends()) == 2, what="traffic")
        await_ends([member], traffic.ends, "before the restart")
        cluster.stop_broker(0)
        cluster.start_broker(0)
        before = traffic.ends()
        wait_until(
            lambda: all(traffic.ends()[tp] > before[tp] for tp in partitions), what="new messages"
        )
        acknowledged = traffic.stop()
        assert duplicates([member], acknowledged) == {}
        assert all(isinstance(error, OffsetCommitFailed) for error in member.errors)
    assert KafkaOffsets(cluster, group).offsets(partitions) == traffic.ends()


# --- both at once ---------------------------------------------------------------------------------


def test_with_dual_commit_both_storages_have_the_same_offsets(cluster: Sandbox) -> None:
    """After automatic and manual commits, also backwards, and for a partition without traffic."""
    moving, idle = partitions = filled_topic(cluster, 2)
    group = fresh_name("group")
    stored, tree = KafkaOffsets(cluster, group), ZkTree(cluster)
    stored.put({idle: OffsetAndMetadata(10)})
    with Member(cluster, group, {moving.topic: 1}, auto_commit_interval_ms=100, **IN_BOTH):
        ends = {moving: 10, idle: 10}
        # An offset that only Kafka has is written to ZooKeeper, although it is not new: a member
        # that uses ZooKeeper alone must find it there.
        wait_until(lambda: tree.offsets(group) == ends, what="ZooKeeper")
        assert stored.offsets(partitions) == ends
        write(cluster, moving, VALUES)
        ends = {moving: 20, idle: 10}
        wait_until(lambda: stored.offsets(partitions) == ends, what="Kafka, by time")
        wait_until(lambda: tree.offsets(group) == ends, what="ZooKeeper, by time")
    config = settings_for(cluster, group, **IN_BOTH, **MANUAL_COMMITS)
    with ZookeeperConsumerConnector(config) as connector:
        connector.create_message_streams({moving.topic: 1})
        back = {moving: OffsetAndMetadata(12, "back"), idle: OffsetAndMetadata(0)}
        assert connector.commit_offsets(back) == 2
    assert stored.entries(partitions) == {
        moving: (12, "back"),
        idle: (0, metadata_of(cluster, idle)),
    }
    assert tree.offsets(group) == {moving: 12, idle: 0}


def test_with_dual_commit_the_larger_of_both_is_the_start(cluster: Sandbox) -> None:
    """Kafka is ahead, ZooKeeper is ahead, only one of them has an offset, or none has."""
    partitions = filled_topic(cluster, 5)
    group = fresh_name("group")
    stored, tree = KafkaOffsets(cluster, group), ZkTree(cluster)
    in_kafka = dict(zip(partitions, [7, 2, 4, None, None], strict=True))
    in_zookeeper = dict(zip(partitions, [3, 6, None, 5, None], strict=True))
    starts = dict(zip(partitions, [7, 6, 4, 5, 0], strict=True))
    stored.put({tp: OffsetAndMetadata(at) for tp, at in in_kafka.items() if at is not None})
    for tp, at in in_zookeeper.items():
        if at is not None:
            tree.put(offset_path(group, tp), b"%d" % at)
    with Member(cluster, group, {partitions[0].topic: 2}, **IN_BOTH) as member:
        wait_until(lambda: len(member.deliveries) == 50 - 22, what="all from there on")
        assert {tp: member.got(tp)[0] for tp in partitions} == starts
    ends = dict.fromkeys(partitions, 10)
    assert stored.offsets(partitions) == ends
    assert tree.offsets(group) == ends


# --- what is refused ------------------------------------------------------------------------------


def test_metadata_that_is_too_large_is_refused_and_the_rest_is_committed(cluster: Sandbox) -> None:
    """The error names the partition, the length and the setting; nothing is truncated."""
    good, bad = partitions = filled_topic(cluster, 2)
    group = fresh_name("group")
    stored = KafkaOffsets(cluster, group)
    config = settings_for(cluster, group, **IN_KAFKA, **MANUAL_COMMITS)
    with ZookeeperConsumerConnector(config) as connector:
        connector.create_message_streams({good.topic: 1})
        # The broker counts UTF-16 characters: one that takes four bytes in UTF-8 counts as two.
        for note, length in (("x" * 4097, 4097), ("\U0001f4a9" * 2049, 4098)):
            with pytest.raises(OffsetCommitFailed) as caught:
                connector.commit_offsets(
                    {good: OffsetAndMetadata(4), bad: OffsetAndMetadata(5, note)}
                )
            assert set(caught.value.failed) == {bad}
            assert f"{length} characters" in str(caught.value)
            assert "offset.metadata.max.bytes" in str(caught.value)
            assert stored.entries(partitions) == {good: (4, metadata_of(cluster, good))}
        longest = "\U0001f4a9" * 2048
        assert connector.commit_offsets({bad: OffsetAndMetadata(5, longest)}) == 1
    assert stored.entries(partitions) == {good: (4, metadata_of(cluster, good)), bad: (5, longest)}


def test_what_another_member_owns_is_not_committed(cluster: Sandbox) -> None:
    """The other member got the partition by a rebalance, or its owner node was deleted."""
    partitions = filled_topic(cluster, 2)
    ours, theirs = partitions
    group = fresh_name("group")
    stored, tree = KafkaOffsets(cluster, group), ZkTree(cluster)
    with (
        Member(
            cluster, group, {ours.topic: 1}, consumer_id="a", **IN_KAFKA, **MANUAL_COMMITS
        ) as first,
        Member(
            cluster, group, {ours.topic: 1}, consumer_id="b", **IN_KAFKA, **MANUAL_COMMITS
        ) as second,
    ):
        wait_until(lambda: set(first.claims()) == {ours}, what="the first one to give one up")
        assert set(second.claims()) == {theirs}
        with pytest.raises(
            OffsetCommitFailed, match="not currently read by this consumer"
        ) as caught:
            first.connector.commit_offsets(
                {ours: OffsetAndMetadata(4), theirs: OffsetAndMetadata(9)}
            )
        assert set(caught.value.failed) == {theirs}
        assert stored.entries(partitions) == {ours: (4, metadata_of(cluster, ours))}

        # A refused commit triggers a rebalance, which must be over.
        wait_until(
            lambda: first.observed.of(RebalanceFinished)[-1].cause == "a commit was refused",
            what="the rebalance after the refused commit",
        )
        tree.delete(owner_path(group, ours))
        with pytest.raises(OffsetCommitFailed, match="is gone, or another member's") as caught:
            first.connector.commit_offsets({ours: OffsetAndMetadata(6)})
        assert f"{ours}" in str(caught.value)
        assert group in str(caught.value)
        assert stored.entries(partitions) == {ours: (4, metadata_of(cluster, ours))}
        assert first.observed.of(Committed)
