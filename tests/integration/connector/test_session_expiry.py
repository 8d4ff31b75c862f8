"""A session that expires under a live member: it stops, joins again, and partitions settle."""

import pytest

from tests.support.clusters import fresh_name
from tests.support.members import Member, await_ends, duplicates, settings_for
from tests.support.tcp_gate import TcpGate
from tests.support.traffic import Traffic, partitions_of, write
from tests.support.waiting import wait_until
from tests.support.zk_credentials import credentials_of
from tests.support.zk_tree import ZkTree
from zkconsumer import OffsetCommitFailed, ZookeeperConsumerConnector
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.scope import ThreadScope
from zkconsumer.zk.session import SessionEvent, SessionState

pytestmark = pytest.mark.sandbox


class SessionEnd:
    """Records how much a member had delivered under its claims when its session ended."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._claims = set(member.claims().values())
        self.delivered: int | None = None
        member.store.on_session(self._on_notice)

    def under_old_claims(self) -> int:
        """Return how many messages have been delivered under the claims of that session."""
        return sum(delivery.claim in self._claims for delivery in list(self._member.deliveries))

    def _on_notice(self, event: SessionEvent) -> None:
        if event.state is SessionState.LOST:
            self.delivered = self.under_old_claims()


def await_shared(tree: ZkTree, group: str, topic: str, members: tuple[Member, Member]) -> None:
    """Wait until each of two members owns two of the four partitions, in its current session."""

    def shared() -> bool:
        owners = tree.owners(group, topic)
        expected = sorted(member.session_id for member in members for _ in range(2))
        reading = [set(member.claims()) for member in members]
        return (
            sorted(session for _, session in owners.values()) == expected
            and len(reading[0]) == len(reading[1]) == 2
            and not reading[0] & reading[1]
        )

    wait_until(shared, what="two partitions for each of two members")


def test_an_expired_member_stops_at_once_and_comes_back(cluster: Sandbox) -> None:
    """Only messages after its last commit come twice, and only in its new session."""
    topic, group = fresh_name("expired"), fresh_name("group")
    partitions = partitions_of(topic, 4)
    cluster.create_topic(topic, partitions=4)
    tree = ZkTree(cluster)
    by_hand = {"auto_commit_enable": False}
    with (
        Member(cluster, group, {topic: 1}, consumer_id="a", **by_hand) as expired,
        Member(cluster, group, {topic: 1}, consumer_id="b", **by_hand) as other,
        Traffic(cluster, partitions) as traffic,
    ):
        await_shared(tree, group, topic, (expired, other))
        wait_until(lambda: len(traffic.ends()) == 4, what="traffic")
        await_ends([expired, other], traffic.ends, "before")
        old_session, others_claims = expired.session_id, other.claims()
        assert expired.connector.commit_offsets() == 2
        assert other.connector.commit_offsets() == 2
        committed = tree.offsets(group)
        await_ends([expired, other], traffic.ends, "after the commit")
        ending, old_claims = SessionEnd(expired), expired.claims()
        cluster.expire_session(*credentials_of(expired.store))
        wait_until(lambda: ending.delivered, what="the member to hear of it")
        wait_until(lambda: expired.session_id != old_session, what="its new session")
        await_shared(tree, group, topic, (expired, other))
        acknowledged = traffic.stop()
        twice = duplicates([expired, other], acknowledged)
        # At once: at most the message that its stream was delivering at that moment still came.
        assert ending.delivered is not None
        assert ending.under_old_claims() - ending.delivered <= 1
        # The other member's partitions never moved. Whoever read the expired member's partitions
        # next, the other member for a moment or the expired one again, began at the commit.
        assert other.claims() == others_claims
        assert set(twice) == set(old_claims)
        for tp, old in old_claims.items():
            assert first_offsets([expired, other], tp, but=old) == {committed[tp]}
        assert tree.members(group) == [f"{group}_a", f"{group}_b"]
        assert expired.errors == other.errors == []


def first_offsets(members: list[Member], tp: TopicPartition, *, but: PartitionClaim) -> set[int]:
    """Return the first delivered offset of each claim of a partition, except for one claim."""
    firsts: dict[PartitionClaim, int] = {}
    for member in members:
        for delivery in member.deliveries:
            if delivery.tp == tp and delivery.claim is not but:
                firsts.setdefault(delivery.claim, delivery.offset)
    return set(firsts.values())


def test_a_commit_that_arrives_after_the_end_of_the_session_is_refused(
    cluster: Sandbox,
) -> None:
    """It would overwrite what the partition's next owner has committed meanwhile."""
    topic, group = fresh_name("late"), fresh_name("group")
    tp = TopicPartition(topic, 0)
    cluster.create_topic(topic)
    write(cluster, tp, [b"value"] * 10)
    tree, scope, failures = ZkTree(cluster), ThreadScope("committing"), []
    short = {"zookeeper_session_timeout_ms": 1500, "auto_commit_enable": False}
    with TcpGate(tree.host, tree.port) as gate:
        connect = f"127.0.0.1:{gate.port}{tree.chroot}"
        config = settings_for(connect, group, consumer_timeout_ms=10_000, **short)
        with ZookeeperConsumerConnector(config) as cut_off:
            [stream] = cut_off.create_message_streams({topic: 1})[topic]
            assert [next(stream).offset for _ in range(3)] == [0, 1, 2]
            gate.shut()

            def commit() -> None:
                with pytest.raises(OffsetCommitFailed) as caught:
                    cut_off.commit_offsets()
                failures.append(caught.value)

            scope.spawn("commit", commit, stop=lambda: None)
            with Member(cluster, group, {topic: 1}) as successor:
                wait_until(lambda: successor.got(tp) == list(range(10)), what="everything")
                successor.connector.commit_offsets()
                assert tree.offset(group, tp) == 10
                gate.open()
                assert scope.close(10_000) == []
                assert scope.first_error() is None
                assert failures[0].failed.keys() == {tp}
                assert tree.offset(group, tp) == 10
