"""Members whose offsets are in Kafka: what is committed when, and what they go on from."""

from collections.abc import Mapping

import pytest

from tests.support.clusters import fresh_name
from tests.support.kafka_offsets import KafkaOffsets
from tests.support.members import Member, await_ends, duplicates, settings_for
from tests.support.offset_keepers import IN_KAFKA
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
BY_HAND = {"auto_commit_enable": False}


def mark_of(cluster: Sandbox, tp: TopicPartition) -> str:
    """What is committed as metadata where the caller has none: which topic of the name it is of."""
    store = connect(
        cluster.zookeeper_connect, session_timeout_ms=4_000, connection_timeout_ms=10_000
    )
    try:
        return f"zkconsumer:topic-czxid={topic_czxids(store, [tp.topic])[tp.topic]:x}"
    finally:
        store.close()


def filled_topic(cluster: Sandbox, partitions: int = 1) -> list[TopicPartition]:
    """A topic with ten messages a partition; gives the partitions."""
    topic = fresh_name("offsets")
    cluster.create_topic(topic, partitions=partitions)
    for tp in partitions_of(topic, partitions):
        write(cluster, tp, VALUES)
    return partitions_of(topic, partitions)


def test_a_member_commits_to_kafka_alone_and_the_next_one_goes_on_there(cluster: Sandbox) -> None:
    """By time, at the end, and by hand with metadata; ZooKeeper is not written to."""
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
    assert stored.entries([tp]) == {tp: (6, mark_of(cluster, tp))}

    config = settings_for(cluster, group, consumer_timeout_ms=10_000, **IN_KAFKA, **BY_HAND)
    with ZookeeperConsumerConnector(config) as connector:
        [stream] = connector.create_message_streams({tp.topic: 1})[tp.topic]
        assert [next(stream).offset for _ in range(3)] == [6, 7, 8]
        assert connector.commit_offsets() == 1
        assert stored.entries([tp]) == {tp: (9, mark_of(cluster, tp))}
        assert connector.commit_offsets({tp: OffsetAndMetadata(3, "said ☃")}) == 1
        assert next(stream).offset == 9
    assert stored.entries([tp]) == {tp: (3, "said ☃")}

    with Member(cluster, group, {tp.topic: 1}, **IN_KAFKA) as member:
        wait_until(lambda: len(member.deliveries) == 7, what="all from there on")
        assert member.got(tp) == list(range(3, 10))
    assert ZkTree(cluster).children(f"/consumers/{group}/offsets") == []


def test_without_automatic_commits_nothing_is_ever_written(cluster: Sandbox) -> None:
    """Not by time, not at a hand-over, not at the end; the log warns that Kafka forgets."""
    partitions = filled_topic(cluster, 2)
    group = fresh_name("group")
    settings = {**IN_KAFKA, **BY_HAND, "auto_commit_interval_ms": 10}
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
    """What is committed at the hand-over is what the next owner goes on from; so at the end."""
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
    """A listener that commits what was handed over, as callers without automatic commits do."""

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
    """Without automatic commits the next owner goes on behind the message in hand."""
    partitions = filled_topic(cluster, 2)
    stays, moves = partitions
    group = fresh_name("group")
    stored = KafkaOffsets(cluster, group)
    listener = CommitsBeforeRelease()
    config = settings_for(
        cluster, group, consumer_id="a", consumer_timeout_ms=10_000, **IN_KAFKA, **BY_HAND
    )
    with ZookeeperConsumerConnector(config) as connector:
        listener.connector = connector
        connector.set_consumer_rebalance_listener(listener)
        [stream] = connector.create_message_streams({stays.topic: 1})[stays.topic]
        taken = [next(stream) for _ in range(13)]
        position = {
            tp: sum(message.partition == tp.partition for message in taken) for tp in partitions
        }
        settings = {**IN_KAFKA, **BY_HAND, "consumer_id": "b"}
        with Member(cluster, group, {stays.topic: 1}, **settings) as second:
            rest = list(range(position[moves], 10))
            wait_until(lambda: second.got(moves) == rest, what="the rest of what moved")
        assert listener.commits == [2]
        assert stored.offsets(partitions) == position


def test_commits_ahead_neither_lose_nor_repeat_while_the_broker_restarts(cluster: Sandbox) -> None:
    """At most once: a stream tells of a commit that failed, and gives the same chunk next time."""
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


def test_with_dual_commit_both_places_hold_the_same(cluster: Sandbox) -> None:
    """By time, by hand, and back; also of a partition in which nothing moves."""
    moving, idle = partitions = filled_topic(cluster, 2)
    group = fresh_name("group")
    stored, tree = KafkaOffsets(cluster, group), ZkTree(cluster)
    stored.put({idle: OffsetAndMetadata(10)})
    with Member(cluster, group, {moving.topic: 1}, auto_commit_interval_ms=100, **IN_BOTH):
        ends = {moving: 10, idle: 10}
        # Where Kafka alone has an offset, ZooKeeper gets it though it is not new: who goes on
        # with ZooKeeper alone must find it there.
        wait_until(lambda: tree.offsets(group) == ends, what="ZooKeeper")
        assert stored.offsets(partitions) == ends
        write(cluster, moving, VALUES)
        ends = {moving: 20, idle: 10}
        wait_until(lambda: stored.offsets(partitions) == ends, what="Kafka, by time")
        wait_until(lambda: tree.offsets(group) == ends, what="ZooKeeper, by time")
    config = settings_for(cluster, group, **IN_BOTH, **BY_HAND)
    with ZookeeperConsumerConnector(config) as connector:
        connector.create_message_streams({moving.topic: 1})
        back = {moving: OffsetAndMetadata(12, "back"), idle: OffsetAndMetadata(0)}
        assert connector.commit_offsets(back) == 2
    assert stored.entries(partitions) == {
        moving: (12, "back"),
        idle: (0, mark_of(cluster, idle)),
    }
    assert tree.offsets(group) == {moving: 12, idle: 0}


def test_with_dual_commit_the_larger_of_both_is_the_start(cluster: Sandbox) -> None:
    """Kafka ahead, ZooKeeper ahead, only the one, only the other, none."""
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
    """The error names the partition, how long it is, and the setting; nothing is cut off."""
    good, bad = partitions = filled_topic(cluster, 2)
    group = fresh_name("group")
    stored = KafkaOffsets(cluster, group)
    config = settings_for(cluster, group, **IN_KAFKA, **BY_HAND)
    with ZookeeperConsumerConnector(config) as connector:
        connector.create_message_streams({good.topic: 1})
        # The broker counts characters: what takes four bytes is two of them.
        for note, length in (("x" * 4097, 4097), ("\U0001f4a9" * 2049, 4098)):
            with pytest.raises(OffsetCommitFailed) as caught:
                connector.commit_offsets(
                    {good: OffsetAndMetadata(4), bad: OffsetAndMetadata(5, note)}
                )
            assert set(caught.value.failed) == {bad}
            assert f"{length} characters" in str(caught.value)
            assert "offset.metadata.max.bytes" in str(caught.value)
            assert stored.entries(partitions) == {good: (4, mark_of(cluster, good))}
        longest = "\U0001f4a9" * 2048
        assert connector.commit_offsets({bad: OffsetAndMetadata(5, longest)}) == 1
    assert stored.entries(partitions) == {good: (4, mark_of(cluster, good)), bad: (5, longest)}


def test_what_another_member_owns_is_not_committed(cluster: Sandbox) -> None:
    """Neither what went to another in order, nor what was taken from under us."""
    partitions = filled_topic(cluster, 2)
    ours, theirs = partitions
    group = fresh_name("group")
    stored, tree = KafkaOffsets(cluster, group), ZkTree(cluster)
    with (
        Member(cluster, group, {ours.topic: 1}, consumer_id="a", **IN_KAFKA, **BY_HAND) as first,
        Member(cluster, group, {ours.topic: 1}, consumer_id="b", **IN_KAFKA, **BY_HAND) as second,
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
        assert stored.entries(partitions) == {ours: (4, mark_of(cluster, ours))}

        # A refused commit makes a member look around: that look must be over.
        wait_until(
            lambda: first.observed.of(RebalanceFinished)[-1].cause == "a commit was refused",
            what="the look after the refused commit",
        )
        tree.delete(owner_path(group, ours))
        with pytest.raises(OffsetCommitFailed, match="is gone, or another member's") as caught:
            first.connector.commit_offsets({ours: OffsetAndMetadata(6)})
        assert f"{ours}" in str(caught.value)
        assert group in str(caught.value)
        assert stored.entries(partitions) == {ours: (4, mark_of(cluster, ours))}
        assert first.observed.of(Committed)
