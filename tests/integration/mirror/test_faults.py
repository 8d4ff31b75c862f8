"""Mirrors that are killed, and clusters that break: nothing is lost, and copies are counted."""

import signal
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.clusters import BrokerOf, fresh_name, unclean_election
from tests.support.killed_mirror import POINTS
from tests.support.mirrors import (
    MirrorProcess,
    accounts,
    acknowledged,
    await_acknowledged,
    copies_in,
    mirror_settings,
    numbered,
    proof_of,
    read_topic,
    running,
    write_all,
)
from tests.support.traffic import Traffic, partitions_of, write
from tests.support.waiting import PROMPT_MS, wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer.clock import SystemClock
from zkconsumer.mirror.mirror import Mirror
from zkconsumer.model import TopicPartition
from zkconsumer.produce.outgoing import parts_of
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

COUNT = 2_000
BATCH = 200


@dataclass
class Victim:
    """A mirror of a topic of its own that is killed at one point, and started again."""

    point: str
    topic: str
    group: str
    folder: Path

    @property
    def offsets_file(self) -> Path:
        """The offsets file that it writes."""
        return self.folder / "offsets"

    def start(self, cluster: Sandbox, target: str, *, armed: bool) -> MirrorProcess:
        """Start it, to be killed (``armed``) or to finish."""
        module = ("tests.support.killed_mirror", self.point, "4") if armed else ("zkconsumer",)
        return MirrorProcess(
            cluster,
            self.group,
            *("--whitelist", self.topic, "--target-bootstrap-servers", target),
            *("--offsets-file", str(self.offsets_file), "--queue.size", str(BATCH)),
            *("--stop-at-end", "--offset.commit.interval.ms", "1"),
            folder=self.folder,
            module=module,
        )


@pytest.mark.long
def test_killed_at_every_point_it_loses_nothing(
    cluster: Sandbox, broker_of: BrokerOf, tmp_path: Path
) -> None:
    """At most the unconfirmed messages are written twice, and the proof counts all copies."""
    target = broker_of("0.8.2.2")
    victims = [
        Victim(point, fresh_name(f"killed-{point}"), fresh_name("group"), tmp_path / point)
        for point in POINTS
    ]
    wanted: dict[str, set[bytes]] = {}
    for victim in victims:
        for where in (cluster, target):
            where.create_topic(victim.topic)
        tp = TopicPartition(victim.topic, 0)
        records = numbered(tp, COUNT)
        write_all(cluster.brokers, {tp: records})
        wanted[victim.topic] = {value for record in records if (value := parts_of(record)[0].value)}
    servers = target.bootstrap_servers
    killed = [victim.start(cluster, servers, armed=True) for victim in victims]
    for process in killed:
        assert process.wait() == -signal.SIGKILL, process.errors
    again = [victim.start(cluster, servers, armed=False) for victim in victims]
    for process in again:
        assert process.wait() == 0, process.errors
    tree = ZkTree(cluster)
    copies: dict[str, int] = {}
    for victim in victims:
        found = read_topic(servers, victim.topic)
        copies_in(found, wanted[victim.topic])
        copies[victim.point] = len(found[0]) - COUNT
        proof = proof_of(cluster, victim.group, servers, victim.offsets_file)
        (partition,) = proof.partitions
        assert proof.is_proven
        assert (partition.messages, partition.mirrored) == (COUNT, COUNT)
        # A message that is there twice has two lines in the offsets file, or none.
        assert partition.copies + sum(proof.offsets_without_line.values()) == copies[victim.point]
        assert tree.offsets(victim.group) == {TopicPartition(victim.topic, 0): COUNT}
    # One batch pending, one written during the last commit, one within the interval.
    assert max(copies.values()) <= 3 * BATCH
    assert copies["before-write"] <= BATCH
    assert copies["behind-commit"] <= BATCH  # what was written during the commit
    assert copies["behind-write"] > 0


def test_brokers_and_zookeeper_are_killed_under_it(
    cluster: Sandbox, broker_of: BrokerOf, tmp_path: Path
) -> None:
    """When the target's broker, the source's or ZooKeeper restarts, it continues by itself."""
    target = broker_of("0.8.2.2")
    topic, group, file = fresh_name("broken"), fresh_name("group"), tmp_path / "offsets"
    partitions = partitions_of(topic, 2)
    for where in (cluster, target):
        where.create_topic(topic, partitions=2)
    servers = target.bootstrap_servers
    settings = mirror_settings(cluster, group, topic, servers, offsets_file=file)
    with Traffic(cluster, partitions) as traffic:
        with running(settings) as mirror:
            await_acknowledged(mirror, 50)
            target.kill_broker(target.brokers[0].id)
            before = acknowledged(mirror)
            target.start_broker(target.brokers[0].id)
            await_acknowledged(mirror, before + 100)
            cluster.kill_broker(cluster.brokers[0].id)
            cluster.start_broker(cluster.brokers[0].id)
            await_acknowledged(mirror, acknowledged(mirror) + 100)
            cluster.kill_zookeeper()
            cluster.start_zookeeper()
            await_acknowledged(mirror, acknowledged(mirror) + 100)
        sent = traffic.stop()
    end = Mirror(
        mirror_settings(cluster, group, topic, servers, offsets_file=file, stop_at_end=True)
    ).run()
    assert set(accounts(end)) == set(partitions)
    proof = proof_of(cluster, group, servers, file)
    assert proof.is_proven
    found = read_topic(servers, topic)
    for partition in proof.partitions:
        assert partition.messages == partition.mirrored >= len(sent[partition.source])
        assert partition.until == max(sent[partition.source]) + 1
        extra = len(found[partition.source.partition]) - partition.messages
        assert extra == partition.copies + proof.offsets_without_line[partition.source]


def test_mirrors_that_join_and_leave_make_no_copies(cluster: Sandbox, broker_of: BrokerOf) -> None:
    """Acknowledged messages are committed before a partition moves, so none is lost or copied."""
    target = broker_of("0.8.2.2")
    topic, group = fresh_name("shared"), fresh_name("group")
    partitions = partitions_of(topic, 4)
    for where in (cluster, target):
        where.create_topic(topic, partitions=4)
    settings = mirror_settings(
        cluster, group, topic, target.bootstrap_servers, commit_interval_ms=60_000
    )
    tree = ZkTree(cluster)

    def shares() -> list[int]:
        owners = [text for text, _ in tree.owners(group, topic).values()]
        return sorted(owners.count(owner) for owner in set(owners))

    with Traffic(cluster, partitions) as traffic, ExitStack() as first:
        mirror = first.enter_context(running(settings))
        await_acknowledged(mirror, 100)
        for _ in range(2):
            with running(settings) as second:
                wait_until(lambda: shares() == [2, 2], what="two shares")
                await_acknowledged(second, 50)
            await_acknowledged(mirror, acknowledged(mirror) + 50)
        third = first.enter_context(running(settings))
        wait_until(lambda: shares() == [2, 2], what="two shares")
        await_acknowledged(third, 50)
        sent = traffic.stop()
        ends = {tp: max(of_tp) + 1 for tp, of_tp in sent.items()}

        def reached() -> bool:
            positions: dict[TopicPartition, int] = {}
            for process in (mirror, third):
                for tp, account in accounts(process.progress()).items():
                    positions[tp] = max(positions.get(tp, 0), account.position or 0)
            return positions == ends

        wait_until(reached, what="all that was sent")
    found = read_topic(target.bootstrap_servers, topic)
    values = {value for of_tp in sent.values() for value in of_tp.values()}
    assert copies_in(found, values) == 0
    for tp in partitions:
        assert [record.value for record in found[tp.partition]] == [
            sent[tp][offset] for offset in sorted(sent[tp])
        ]
    assert tree.offsets(group) == ends


def test_a_target_that_hangs_does_not_delay_the_end(cluster: Sandbox, broker_of: BrokerOf) -> None:
    """Unconfirmed messages are given up after the grace period, and not committed."""
    target = broker_of("0.8.2.2")
    topic, group = fresh_name("hanging"), fresh_name("group")
    tp = TopicPartition(topic, 0)
    for where in (cluster, target):
        where.create_topic(topic)
    write_all(cluster.brokers, {tp: numbered(tp, 50)})
    settings = mirror_settings(cluster, group, topic, target.bootstrap_servers)
    try:
        with running(settings, grace_ms=300) as mirror:
            await_acknowledged(mirror, 50)
            target.pause_broker(target.brokers[0].id)
            write_all(cluster.brokers, {tp: numbered(tp, 50, start=50)})
            read = accounts(mirror.progress())
            wait_until(
                lambda: accounts(mirror.progress())[tp].read == 100, what=f"more than {read}"
            )
            began_ms = SystemClock().now_ms()
            mirror.stop()
        assert SystemClock().now_ms() - began_ms < PROMPT_MS
    finally:
        target.resume_broker(target.brokers[0].id)
    assert accounts(mirror.progress())[tp].position == 50
    assert ZkTree(cluster).offsets(group) == {tp: 50}


def test_a_mirror_that_was_frozen_cant_move_the_group_back(
    cluster: Sandbox, broker_of: BrokerOf, tmp_path: Path
) -> None:
    """Another mirror continued meanwhile, and its commits stay."""
    target = broker_of("0.8.2.2")
    topic, group = fresh_name("frozen"), fresh_name("group")
    tp = TopicPartition(topic, 0)
    for where in (cluster, target):
        where.create_topic(topic)
    servers = target.bootstrap_servers
    tree = ZkTree(cluster)
    settings = mirror_settings(cluster, group, topic, servers)
    with Traffic(cluster, [tp]) as traffic:
        frozen = MirrorProcess(
            cluster,
            group,
            *("--whitelist", topic, "--target-bootstrap-servers", servers),
            *("--offset.commit.interval.ms", "60000"),
            folder=tmp_path,
        )
        wait_until(lambda: read_topic(servers, topic), what="its first messages")
        with running(settings) as other:
            # The first mirror keeps the only partition; the other member waits.
            wait_until(lambda: len(tree.members(group)) == 2, what="both members")
            frozen.pause()
            await_acknowledged(other, 100)
            frozen.resume()
            wait_until(lambda: len(tree.members(group)) == 2, what="both members again")
            frozen.terminate()
            assert frozen.wait() == 0, frozen.errors
            sent = traffic.stop()[tp]
            end = max(sent) + 1
            wait_until(lambda: tree.offsets(group) == {tp: end}, what="all committed")
    copies_in(read_topic(servers, topic), set(sent.values()))
    assert tree.offsets(group) == {tp: end}


@pytest.mark.parametrize("runs_on", [True, False], ids=["while it runs", "while it rests"])
def test_a_log_truncated_by_an_unclean_election(
    modern3: Sandbox, broker_of: BrokerOf, tmp_path: Path, *, runs_on: bool
) -> None:
    """A running mirror continues at the truncation; a proof names the replaced messages."""
    target, topic, group = broker_of("3.9.1"), fresh_name("unclean"), fresh_name("group")
    servers, file = target.bootstrap_servers, tmp_path / "offsets"
    modern3.create_topic(topic, assignment={0: [0, 1]})
    tp = TopicPartition(topic, 0)
    settings = mirror_settings(modern3, group, topic, servers, offsets_file=file)
    write(modern3, tp, [b"both"] * 10)
    with ExitStack() as stack:
        mirror = stack.enter_context(running(settings))

        def copy_more() -> None:
            write(modern3, tp, [b"one"] * 5)
            await_acknowledged(mirror, 15)
            if not runs_on:
                stack.close()

        with unclean_election(modern3, topic, copy_more):
            if not runs_on:
                write(modern3, tp, [b"anew"] * 20)
                mirror = stack.enter_context(running(settings))
                await_acknowledged(mirror, 15)
            else:
                write(modern3, tp, [b"anew"] * 7)
                await_acknowledged(mirror, 22)
            stack.close()
            proof = proof_of(modern3, group, servers, file)
    values = [record.value for record in read_topic(servers, topic)[0]]
    assert values[:15] == [b"both"] * 10 + [b"one"] * 5
    assert values[15:] == [b"anew"] * (7 if runs_on else 15)
    (partition,) = proof.partitions
    assert (partition.different, partition.missing, partition.unproven) == (5, 0, 0)
    why = "mirrored again" if runs_on else "another message is there"
    assert all(
        why in example and "an unclean election" in example for example in partition.examples
    )
