"""Brokers crash, lose leadership, or freeze: members only see a pause.

No claim is lost, so nothing may come twice; whatever was acknowledged must come.
"""

import json

import pytest

from tests.support.clusters import fresh_name, frozen, without
from tests.support.members import Member, await_ends, duplicates, settings_for
from tests.support.traffic import Traffic, partitions_of, write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer import ZookeeperConsumerConnector
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox


def await_all_in_sync(tree: ZkTree, topic: str) -> None:
    """Wait until every replica of every partition is in sync."""
    wait_until(
        lambda: all(brokers == {0, 1, 2} for brokers in tree.in_sync(topic).values()),
        what=f"all replicas of {topic} in sync",
    )


def test_a_killed_broker_of_three_loses_and_repeats_nothing(cluster3: Sandbox) -> None:
    """Its partitions are read from their next leaders, and on when it is back."""
    topic, group = fresh_name("killed"), fresh_name("group")
    partitions = partitions_of(topic, 3)
    cluster3.create_topic(topic, partitions=3, replication=3)
    tree = ZkTree(cluster3)
    with Member(cluster3, group, {topic: 2}) as member, Traffic(cluster3, partitions) as traffic:
        wait_until(lambda: len(traffic.ends()) == 3, what="traffic on all partitions")
        await_ends([member], traffic.ends, "before the kill")
        with without(cluster3, 1):
            wait_until(lambda: tree.leaders(topic)[1] in {0, 2}, what="a new leader of partition 1")
            before = traffic.ends()
            wait_until(
                lambda: all(traffic.ends()[tp] > before[tp] for tp in partitions),
                what="new messages on every partition",
            )
            await_ends([member], traffic.ends, "without the broker")
        await_all_in_sync(tree, topic)
        await_ends([member], traffic.ends, "with the broker back")
        acknowledged = traffic.stop()
        assert duplicates([member], acknowledged) == {}
        assert member.errors == []


def test_killing_and_restarting_the_only_broker_loses_and_repeats_nothing(cluster: Sandbox) -> None:
    """Delivery pauses meanwhile; every acknowledged message comes exactly once."""
    topic, group = fresh_name("lonely"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    with Member(cluster, group, {topic: 2}) as member, Traffic(cluster, partitions) as traffic:
        wait_until(lambda: len(traffic.ends()) == 2, what="traffic")
        await_ends([member], traffic.ends, "before the kill")
        with without(cluster, 0):
            pass
        before = traffic.ends()
        wait_until(
            lambda: all(traffic.ends()[tp] > before[tp] for tp in partitions),
            what="new messages on every partition",
        )
        acknowledged = traffic.stop()
        assert duplicates([member], acknowledged) == {}
        assert member.errors == []


def test_a_partition_that_moves_to_another_broker_is_followed(cluster3: Sandbox) -> None:
    """It is reassigned twice while it is read: no message is lost or comes twice."""
    topic, group = fresh_name("moved"), fresh_name("group")
    (tp,) = partitions_of(topic, 1)
    cluster3.create_topic(topic, assignment={0: [0]})
    tree = ZkTree(cluster3)
    with Member(cluster3, group, {topic: 1}) as member, Traffic(cluster3, [tp]) as traffic:
        wait_until(lambda: traffic.count() > 50, what="traffic")
        for broker in (1, 2):
            move = {"topic": topic, "partition": 0, "replicas": [broker]}
            request = {"version": 1, "partitions": [move]}
            tree.put("/admin/reassign_partitions", json.dumps(request).encode())
            wait_until(lambda to=broker: tree.leaders(topic) == {0: to}, what="the move")  # type: ignore[misc]
            wait_until(
                lambda: tree.get("/admin/reassign_partitions") is None, what="the end of the move"
            )
            before = traffic.ends()[tp]
            wait_until(lambda to=before: traffic.ends()[tp] > to, what="new messages")  # type: ignore[misc]
            await_ends([member], traffic.ends, f"at broker {broker}")
        acknowledged = traffic.stop()
        assert duplicates([member], acknowledged) == {}
        assert member.errors == []


def test_a_frozen_broker_is_left_for_the_next_leader(cluster3: Sandbox) -> None:
    """One of three freezes for longer than every timeout, and comes back with outdated metadata."""
    topic, group = fresh_name("frozen"), fresh_name("group")
    partitions = partitions_of(topic, 3)
    cluster3.create_topic(topic, partitions=3, replication=3)
    tree = ZkTree(cluster3)
    with (
        Member(cluster3, group, {topic: 1}, socket_timeout_ms=1000) as member,
        Traffic(cluster3, partitions, timeout_ms=1000) as traffic,
    ):
        wait_until(lambda: len(traffic.ends()) == 3, what="traffic")
        await_ends([member], traffic.ends, "before it froze")
        with frozen(cluster3, 2):
            wait_until(lambda: tree.leaders(topic)[2] in {0, 1}, what="a new leader")
            before = traffic.ends()
            wait_until(
                lambda: all(traffic.ends()[tp] > before[tp] for tp in partitions),
                what="new messages on every partition",
            )
            await_ends([member], traffic.ends, "while it is frozen")
        await_all_in_sync(tree, topic)
        await_ends([member], traffic.ends, "after it thawed")
        acknowledged = traffic.stop()
        assert duplicates([member], acknowledged) == {}
        assert member.errors == []


def test_the_only_broker_frozen_beyond_the_socket_timeout_is_waited_for(
    cluster: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    """The fetcher times out, looks for a leader again, and continues at its offset."""
    topic, group = fresh_name("only"), fresh_name("group")
    (tp,) = partitions_of(topic, 1)
    cluster.create_topic(topic)
    with (
        Member(cluster, group, {topic: 1}, socket_timeout_ms=500) as member,
        Traffic(cluster, [tp], timeout_ms=500) as traffic,
    ):
        wait_until(lambda: traffic.count() > 50, what="traffic")
        with frozen(cluster, 0):
            wait_until(lambda: "no leader found yet" in caplog.text, what="the fetcher to give up")
        before = traffic.ends()[tp]
        wait_until(lambda: traffic.ends()[tp] > before, what="new messages")
        acknowledged = traffic.stop()
        assert duplicates([member], acknowledged) == {}
        assert member.errors == []


def test_what_is_queued_when_the_broker_dies_is_neither_lost_nor_read_twice(
    cluster: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    """The stream's queue is full and a further chunk waits for capacity when the broker dies."""
    topic, count = fresh_name("queued"), 200
    cluster.create_topic(topic, partitions=2)
    slow_tp, quick_tp = partitions_of(topic, 2)
    write(cluster, slow_tp, [b"x" * 500] * count)
    write(cluster, quick_tp, [b"x"])
    config = settings_for(
        cluster, fresh_name("group"), consumer_timeout_ms=10_000, fetch_message_max_bytes=1500
    )
    with ZookeeperConsumerConnector(config) as connector:
        slow, quick = connector.create_message_streams({topic: 2})[topic]
        assert next(quick).offset == 0  # at the end there: the fetcher waits at the broker
        assert [next(slow).offset for _ in range(3)] == [0, 1, 2]
        wait_until(lambda: slow._waiting._queue.chunk_count() == 2, what="a full queue")
        with without(cluster, 0):
            wait_until(
                lambda: "looking up the leaders of its partitions again" in caplog.text,
                what="the fetcher's end",
            )
            assert next(slow).offset == 3
        assert [next(slow).offset for _ in range(4, count)] == list(range(4, count))
        write(cluster, slow_tp, [b"next"])
        write(cluster, quick_tp, [b"next"])
        assert (next(slow).offset, next(quick).offset) == (count, 1)
