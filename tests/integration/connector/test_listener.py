"""The rebalance listener on a real cluster: the caller commits when partitions are released."""

import pytest

from tests.support.clusters import fresh_name
from tests.support.members import Member, await_ends, duplicates
from tests.support.recording_listener import RecordingListener, Share, plainly
from tests.support.traffic import Traffic, partitions_of, write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.observe import ErrorSeen
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

MANUAL_COMMITS = {"auto_commit_enable": False}
TEN = [b"value"] * 10


def tps(share: Share) -> set[TopicPartition]:
    """Return a share as topic-partitions."""
    return {TopicPartition(topic, number) for topic, numbers in share.items() for number in numbers}


def test_commits_in_the_listener_lose_nothing_and_repeat_almost_nothing(
    cluster: Sandbox,
) -> None:
    """Members come and go under traffic: at most the message in flight of each release repeats."""
    topic, group = fresh_name("released"), fresh_name("group")
    partitions = partitions_of(topic, 4)
    cluster.create_topic(topic, partitions=4)
    members: list[Member] = []
    released: list[TopicPartition] = []

    def member(name: str) -> Member:
        def finish(share: Share) -> None:
            released.extend(tps(share))
            made.connector.commit_offsets()

        listener = RecordingListener(finish)
        made = Member(
            cluster, group, {topic: 1}, listener=listener, consumer_id=name, **MANUAL_COMMITS
        )
        members.append(made)
        return made

    with Traffic(cluster, partitions) as traffic:
        first = member("b")
        wait_until(lambda: len(traffic.ends()) == 4, what="traffic")
        for name in ("c", "a"):
            other = member(name)
            assert len(other.claims()) == 2
            await_ends(members, traffic.ends, "shared")
            other.close()
            wait_until(lambda: len(first.claims()) == 4, what="all of it back")
            await_ends(members, traffic.ends, "alone")
        acknowledged = traffic.stop()
        twice = duplicates(members, acknowledged)
        first.close()
    assert len(released) >= 8
    assert sum(twice.values()) <= len(released)
    assert ZkTree(cluster).offsets(group) == {
        tp: max(of_tp) + 1 for tp, of_tp in acknowledged.items()
    }


def test_its_arguments_agree_with_zookeeper(cluster: Sandbox) -> None:
    """Before the release the owner nodes are still ours; the assignment is the later owners'."""
    topic, group = fresh_name("told"), fresh_name("group")
    cluster.create_topic(topic, partitions=3)
    tree = ZkTree(cluster)
    seen: list[dict[int, tuple[str, int]]] = []
    listener = RecordingListener(lambda _share: seen.append(tree.owners(group, topic)))
    with Member(cluster, group, {topic: 1}, listener=listener, consumer_id="a") as member:
        ours = (f"{group}_a-0", member.session_id)
        assert plainly(listener.assigned[-1]) == {topic: dict.fromkeys(range(3), ours[0])}
        with Member(cluster, group, {topic: 1}, consumer_id="b"):
            wait_until(lambda: len(listener.assigned) == 2, what="the second rebalance")
            assert listener.released == [{topic: frozenset({2})}]
            assert seen == [dict.fromkeys(range(3), ours)]
            owners = {number: text for number, (text, _) in tree.owners(group, topic).items()}
            assert plainly(listener.assigned[-1]) == {topic: owners}
        wait_until(lambda: len(listener.assigned) == 3, what="the third rebalance")
        assert plainly(listener.assigned[-1]) == {topic: dict.fromkeys(range(3), ours[0])}
    assert listener.released[1:] == [{topic: frozenset({0, 1, 2})}]
    assert listener.consumer_ids == {f"{group}_a"}


def test_the_next_owner_starts_at_offsets_committed_in_it(cluster: Sandbox) -> None:
    """Messages that were delivered but not finished come again, and only those."""
    topic, group = fresh_name("unfinished"), fresh_name("group")
    first, second = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    for tp in (first, second):
        write(cluster, tp, TEN)

    def finish(share: Share) -> None:
        counts.append(
            member.connector.commit_offsets({tp: OffsetAndMetadata(6) for tp in tps(share)})
        )

    counts: list[int] = []
    listener = RecordingListener(finish)
    settings = {"consumer_id": "a", **MANUAL_COMMITS}
    with Member(cluster, group, {topic: 1}, listener=listener, **settings) as member:
        wait_until(lambda: len(member.deliveries) == 20, what="everything")
        with Member(cluster, group, {topic: 1}, consumer_id="b", **MANUAL_COMMITS) as successor:
            wait_until(lambda: successor.got(second) == [6, 7, 8, 9], what="the unfinished rest")
            assert counts == [1]
            assert ZkTree(cluster).offsets(group) == {second: 6}
    assert counts == [1, 2]


def test_a_shutdown_in_it_leaves_everything_to_the_others(cluster: Sandbox) -> None:
    """The rebalance finishes first; then the streams end, and the other member reads everything."""
    topic, group = fresh_name("leaving"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    for tp in partitions:
        write(cluster, tp, TEN)
    tree = ZkTree(cluster)
    listener = RecordingListener(lambda _share: member.connector.shutdown())
    with Member(cluster, group, {topic: 1}, listener=listener, consumer_id="a") as member:
        wait_until(lambda: len(member.deliveries) == 20, what="everything")
        with Member(cluster, group, {topic: 1}, consumer_id="b") as other:
            wait_until(lambda: len(other.claims()) == 2, what="all of it")
            assert tree.members(group) == [f"{group}_b"]
            for tp in partitions:
                write(cluster, tp, [b"more"])
            wait_until(lambda: len(other.deliveries) >= 2, what="what is new")
            assert duplicates([member, other], {tp: {10: b"more"} for tp in partitions}) == {}
            assert {delivery.claim.active for delivery in member.deliveries} == {False}


def test_a_listener_that_always_fails_blocks_nobody(cluster: Sandbox) -> None:
    """Everything is delivered, but partitions that moved were not committed before."""
    topic, group = fresh_name("failing"), fresh_name("group")
    partitions = partitions_of(topic, 4)
    cluster.create_topic(topic, partitions=4)

    def fail(_reported: object) -> None:
        raise ZeroDivisionError("a bug of the caller")

    with (
        Traffic(cluster, partitions) as traffic,
        Member(cluster, group, {topic: 1}, listener=RecordingListener(fail, fail)) as member,
    ):
        wait_until(lambda: len(traffic.ends()) == 4, what="traffic")
        await_ends([member], traffic.ends, "alone")
        listener = RecordingListener(fail, fail)
        with Member(cluster, group, {topic: 1}, listener=listener) as other:
            wait_until(lambda: len(other.claims()) == 2, what="its share")
            moved = set(other.claims())
            assert not moved & set(ZkTree(cluster).offsets(group))
            await_ends([member, other], traffic.ends, "shared")
        wait_until(lambda: len(member.claims()) == 4, what="all of it back")
        await_ends([member], traffic.ends, "alone again")
        twice = duplicates([member, other], traffic.stop())
        assert set(twice) == moved
        assert {str(error_seen.error) for error_seen in member.observed.of(ErrorSeen)} == {
            "a bug of the caller"
        }
        assert member.errors == other.errors == []
