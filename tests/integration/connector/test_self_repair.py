"""What a member repairs by itself on a real ZooKeeper: owner nodes, offsets, garbage nodes."""

import pytest

from tests.support.clusters import fresh_name
from tests.support.members import Member, all_delivered, await_ends, duplicates
from tests.support.strangers import stranger
from tests.support.traffic import Traffic, partitions_of, write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree, offset_path, owner_path
from zkconsumer import OffsetCommitFailed, PartitionFailed, RebalanceFailed
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.observe import PartitionsBlocked, PartitionsLost, RebalanceStarted
from zkconsumer.sandbox import Sandbox
from zkconsumer.zk.store import CreateOp, DeleteOp

pytestmark = pytest.mark.sandbox

AUDITED = {"owner_audit_interval_ms": 500}
UNAUDITED = {"owner_audit_interval_ms": 0}
TEN = [b"value"] * 10


def owned_by(member: Member) -> tuple[str, int]:
    """Return the value and the session of the owner nodes of a member's first stream."""
    return f"{member.connector.consumer_id}-0", member.session_id


def test_deleted_owner_nodes_come_back_within_the_audits_interval(cluster: Sandbox) -> None:
    """Nothing is lost under traffic; at most the message being processed comes twice."""
    topic, group = fresh_name("disowned"), fresh_name("group")
    partitions = partitions_of(topic, 3)
    cluster.create_topic(topic, partitions=3)
    tree = ZkTree(cluster)
    with (
        Member(cluster, group, {topic: 1}, **AUDITED) as member,
        Traffic(cluster, partitions) as traffic,
    ):
        wait_until(lambda: len(traffic.ends()) == 3, what="traffic")
        await_ends([member], traffic.ends, "before")
        claims, owner = member.claims(), owned_by(member)
        for tp in partitions[:2]:
            assert tree.delete(owner_path(group, tp))
        wait_until(
            lambda: tree.owners(group, topic) == dict.fromkeys(range(3), owner),
            timeout_s=5,
            what="the owner nodes",
        )
        wait_until(
            lambda: all(member.claims().get(tp) not in {None, claims[tp]} for tp in partitions[:2]),
            what="the new claims",
        )
        await_ends([member], traffic.ends, "after")
        assert member.claims()[partitions[2]] is claims[partitions[2]]
        twice = duplicates([member], traffic.stop())
        assert all(twice.get(tp, 0) <= 1 for tp in partitions)
        assert partitions[2] not in twice
        lost = {
            tp
            for partitions_lost in member.observed.of(PartitionsLost)
            for tp in partitions_lost.partitions
        }
        assert lost == set(partitions[:2])
        assert member.errors == []


def test_a_partition_that_another_session_took_is_stopped(cluster: Sandbox) -> None:
    """The audit stops it, its commits are refused, the other partition is read on."""
    topic, group = fresh_name("taken"), fresh_name("group")
    taken, kept = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    tree = ZkTree(cluster)
    settings = {**AUDITED, "auto_commit_enable": False}
    with (
        stranger(cluster) as other,
        Member(cluster, group, {topic: 1}, **settings) as member,
    ):
        write(cluster, taken, TEN)
        wait_until(lambda: len(member.deliveries) == 10, what="everything")
        claims, path = member.claims(), owner_path(group, taken)
        [result] = other.multi_many(
            [[DeleteOp(path), CreateOp(path, b"stranger-0", ephemeral=True)]],
            session_id=other.session_id,
        )
        assert result.ok
        # The member has not noticed yet.
        with pytest.raises(OffsetCommitFailed, match="stranger-0"):
            member.connector.commit_offsets({taken: OffsetAndMetadata(10)})
        wait_until(lambda: not claims[taken].active, timeout_s=5, what="the audit")
        write(cluster, taken, TEN)
        write(cluster, kept, TEN)
        wait_until(lambda: len(member.got(kept)) == 10, what="the other partition")
        assert member.claims() == {kept: claims[kept]}
        with pytest.raises(OffsetCommitFailed, match=f"{taken}"):
            member.connector.commit_offsets({taken: OffsetAndMetadata(10)})
        assert len(member.got(taken)) == 10
        tree.put(offset_path(group, taken), b"15")
    # Both sessions are over; the next member continues at the stored offset.
    with Member(cluster, group, {topic: 1}, **AUDITED) as member:
        wait_until(lambda: member.got(taken) == list(range(15, 20)), what="what is left")


def test_a_taken_partition_is_read_again_when_the_other_session_ends(cluster: Sandbox) -> None:
    """Reading continues at the offset that the other session committed."""
    topic, group = fresh_name("returned"), fresh_name("group")
    cluster.create_topic(topic)
    [tp] = partitions_of(topic, 1)
    write(cluster, tp, TEN)
    tree, path = ZkTree(cluster), owner_path(group, tp)
    with Member(cluster, group, {topic: 1}, rebalance_backoff_ms=60_000, **AUDITED) as member:
        wait_until(lambda: len(member.got(tp)) == 10, what="everything")
        [claim] = member.claims().values()
        with stranger(cluster) as other:
            [result] = other.multi_many(
                [[DeleteOp(path), CreateOp(path, b"stranger-0", ephemeral=True)]],
                session_id=other.session_id,
            )
            assert result.ok
            wait_until(lambda: not claim.active, timeout_s=5, what="the audit")
            tree.put(offset_path(group, tp), b"7")
        wait_until(lambda: member.got(tp)[10:] == [7, 8, 9], timeout_s=5, what="the last three")
        assert tree.owners(group, topic) == {0: owned_by(member)}


def test_a_garbage_owner_node_blocks_its_own_partition_only(cluster: Sandbox) -> None:
    """The stream raises once with its path; a watch resumes the partition when it is deleted."""
    topic, group = fresh_name("blocked"), fresh_name("group")
    partitions = partitions_of(topic, 3)
    blocked = partitions[1]
    cluster.create_topic(topic, partitions=3)
    for tp in partitions:
        write(cluster, tp, TEN)
    tree, path = ZkTree(cluster), owner_path(group, blocked)
    tree.put(path, b"garbage")
    with Member(cluster, group, {topic: 1}, **UNAUDITED) as member:
        wait_until(lambda: len(member.deliveries) == 20, what="the other two")
        wait_until(lambda: member.errors, what="the error in the stream")
        [error] = member.errors
        assert isinstance(error, PartitionFailed)
        assert error.topic_partition == blocked
        assert f"delete {path}" in str(error)
        claims = member.claims()
        assert set(claims) == set(partitions) - {blocked}
        with Member(cluster, group, {}):
            rounds = len(member.observed.of(RebalanceStarted))
            assert tree.get(path) is not None
        wait_until(lambda: len(member.observed.of(RebalanceStarted)) > rounds, what="another round")
        assert tree.delete(path)
        wait_until(lambda: len(member.got(blocked)) == 10, timeout_s=5, what="the freed one")
        assert len(member.errors) == 1
        assert {tp: member.claims()[tp] for tp in claims} == claims
        [reported] = member.observed.of(PartitionsBlocked)
        assert set(reported.reasons) == {blocked}
    assert tree.offsets(group) == dict.fromkeys(partitions, 10)


def test_an_unusable_offset_is_read_once_an_operator_corrected_it(cluster: Sandbox) -> None:
    """The next audit finds it; until then the other partition is read, and the node is kept."""
    topic, group = fresh_name("unusable"), fresh_name("group")
    broken, sound = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    for tp in (broken, sound):
        write(cluster, tp, TEN)
    tree, path = ZkTree(cluster), offset_path(group, broken)
    tree.put(path, b"ten")
    with Member(cluster, group, {topic: 1}, auto_commit_interval_ms=50, **AUDITED) as member:
        wait_until(lambda: len(member.got(sound)) == 10, what="the other partition")
        audits = len(member.observed.of(RebalanceStarted)) + 2
        wait_until(lambda: len(member.observed.of(RebalanceStarted)) > audits, what="two audits")
        node = tree.get(path)
        assert node is not None
        assert node.data == b"ten"
        assert member.got(broken) == []
        assert member.errors
        assert all(path in str(error) for error in member.errors)
        tree.put(path, b"4")
        wait_until(
            lambda: member.got(broken) == list(range(4, 10)), timeout_s=5, what="the rest of it"
        )
        wait_until(lambda: tree.offset(group, broken) == 10, what="an automatic commit")


def test_every_stream_raises_when_all_tries_failed_and_the_next_event_retries(
    cluster: Sandbox,
) -> None:
    """Another session keeps a new partition: owned partitions are read on meanwhile."""
    topic, group = fresh_name("stubborn"), fresh_name("group")
    old, new = partitions_of(topic, 2)
    cluster.create_topic(topic)
    impatient = {"rebalance_max_retries": 2, "rebalance_backoff_ms": 200, **AUDITED}
    with Member(cluster, group, {topic: 3}, **impatient) as member:
        with stranger(cluster) as other:
            assert other.create(owner_path(group, new), b"stranger-0", ephemeral=True)
            cluster.add_partitions(topic, 2)
            wait_until(lambda: len(member.errors) == 3, timeout_s=10, what="an error a stream")
            assert all(isinstance(error, RebalanceFailed) for error in member.errors)
            write(cluster, old, TEN)
            wait_until(lambda: len(member.got(old)) == 10, what="the old partition")
        write(cluster, new, TEN)
        wait_until(lambda: len(member.got(new)) == 10, timeout_s=5, what="the new partition")
        assert member.got(old) == list(range(10))
        assert len(member.errors) == 3


def test_deleting_everything_of_a_group_loses_nothing(cluster: Sandbox) -> None:
    """Registrations and owner nodes of two live members come back, and all is delivered."""
    topic, group = fresh_name("reset"), fresh_name("group")
    partitions = partitions_of(topic, 4)
    cluster.create_topic(topic, partitions=4)
    tree = ZkTree(cluster)
    with (
        Member(cluster, group, {topic: 1}, consumer_id="a", **AUDITED) as one,
        Member(cluster, group, {topic: 1}, consumer_id="b", **AUDITED) as two,
        Traffic(cluster, partitions) as traffic,
    ):
        wait_until(lambda: len(traffic.ends()) == 4, what="traffic")
        await_ends([one, two], traffic.ends, "before")
        for name in tree.members(group):
            tree.delete(f"/consumers/{group}/ids/{name}")
        for tp in partitions:
            tree.delete(owner_path(group, tp))

        def settled() -> bool:
            owners = {text for text, _ in tree.owners(group, topic).values()}
            both = {f"{group}_a-0", f"{group}_b-0"}
            return owners == both and len(tree.owners(group, topic)) == 4

        wait_until(settled, timeout_s=15, what="two members that share again")
        await_ends([one, two], traffic.ends, "after")
        acknowledged = traffic.stop()
        wait_until(lambda: all_delivered([one, two], acknowledged), what="everything")
        assert isinstance(one.claims(), dict)
        assert one.errors == two.errors == []
        assert TopicPartition(topic, 0) in {*one.claims(), *two.claims()}
