"""What is committed, when, and by whom; and that nothing is committed unasked."""

import pytest

from tests.support.clusters import fresh_name
from tests.support.members import Member, duplicates, settings_for
from tests.support.traffic import Traffic, partitions_of, write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer import ZookeeperConsumerConnector
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

VALUES = [b"value %d" % number for number in range(10)]
MANUAL_COMMITS = {"auto_commit_enable": False}


def test_without_automatic_commits_nothing_is_ever_written(cluster: Sandbox) -> None:
    """Neither the interval nor a rebalance nor a shutdown commits: the group has no offsets."""
    topic, group = fresh_name("silent"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    tree = ZkTree(cluster)
    settings = {**MANUAL_COMMITS, "auto_commit_interval_ms": 10}
    with Member(cluster, group, {topic: 1}, **settings) as first:
        for tp in partitions:
            write(cluster, tp, VALUES)
        wait_until(lambda: len(first.deliveries) == 20, what="everything")
        with Member(cluster, group, {topic: 1}, **settings) as second:
            wait_until(lambda: len(second.deliveries) == 10, what="the half of the second one")
        wait_until(lambda: len(first.claims()) == 2, what="the return of that half")
        # From the start each time: 10 more for the second, 10 more for the first.
        wait_until(lambda: len(first.deliveries) == 30, what="that half once more")
    assert tree.children(f"/consumers/{group}/offsets") == []


def test_a_manual_commit_covers_exactly_what_was_delivered(cluster: Sandbox) -> None:
    """It includes the last delivered message, nothing queued, and no unchanged offset."""
    topic, group = fresh_name("by-hand"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    write(cluster, partitions[0], VALUES)
    tree = ZkTree(cluster)
    config = settings_for(cluster, group, consumer_timeout_ms=10_000, **MANUAL_COMMITS)
    with ZookeeperConsumerConnector(config) as connector:
        [stream] = connector.create_message_streams({topic: 1})[topic]
        assert [next(stream).offset for _ in range(7)] == list(range(7))
        # The other partition has a position, too: where auto.offset.reset started it.
        wait_until(
            lambda: connector.commit_offsets() == 0 and len(tree.offsets(group)) == 2,
            what="both partitions committed",
        )
        assert tree.offsets(group) == {partitions[0]: 7, partitions[1]: 0}
        assert connector.commit_offsets() == 0
        assert next(stream).offset == 7
        assert connector.commit_offsets() == 1
        assert tree.offsets(group) == {partitions[0]: 8, partitions[1]: 0}


def test_automatic_commits_exclude_the_last_delivered_message(cluster: Sandbox) -> None:
    """The caller may still be processing it; that holds for the interval and for a shutdown."""
    topic, group = fresh_name("by-time"), fresh_name("group")
    tp = TopicPartition(topic, 0)
    cluster.create_topic(topic)
    write(cluster, tp, VALUES)
    tree = ZkTree(cluster)
    config = settings_for(cluster, group, consumer_timeout_ms=10_000, auto_commit_interval_ms=50)
    with ZookeeperConsumerConnector(config) as connector:
        [stream] = connector.create_message_streams({topic: 1})[topic]
        assert [next(stream).offset for _ in range(5)] == list(range(5))
        wait_until(lambda: tree.offset(group, tp) == 4, what="the automatic commit")
        assert next(stream).offset == 5
        wait_until(lambda: tree.offset(group, tp) == 5, what="the next one")
        assert next(stream).offset == 6
    assert tree.offset(group, tp) == 6


def test_a_partition_that_stays_keeps_its_position(cluster: Sandbox) -> None:
    """Without commits, a rebalance re-reads the partitions that move, and no others."""
    topic, group = fresh_name("stays"), fresh_name("group")
    stays, moves = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    with (
        Member(cluster, group, {topic: 1}, consumer_id="a", **MANUAL_COMMITS) as first,
        Traffic(cluster, [stays, moves]) as traffic,
    ):
        wait_until(lambda: first.got(stays) and first.got(moves), what="traffic")
        claim = first.claims()[stays]
        with Member(cluster, group, {topic: 1}, consumer_id="b", **MANUAL_COMMITS) as second:
            wait_until(lambda: second.got(moves), what="the partition that moves")
            assert first.claims() == {stays: claim}
            second_had = second.claims()[moves]
        wait_until(lambda: moves in first.claims(), what="its return")
        assert first.claims()[stays] is claim
        acknowledged = traffic.stop()
        twice = duplicates([first, second], acknowledged)
        assert twice.keys() == {moves}
        # It had three claims, each from the first message on: two claims' messages came again.
        before = [
            delivery
            for delivery in first.deliveries
            if delivery.tp == moves and delivery.claim is not claim
        ]
        starts = {id(delivery.claim): delivery.offset for delivery in reversed(before)}
        assert set(starts.values()) == {0}
        assert second.got(moves)[0] == 0
        assert not second_had.active
        total = len(first.got(moves)) + len(second.got(moves))
        assert twice[moves] == total - len(acknowledged[moves])
