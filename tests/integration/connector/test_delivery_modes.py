"""The guarantees of ``delivery`` on a real broker, with members that are killed."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.interop.members import OurProcess
from tests.support.clusters import fresh_name
from tests.support.members import Member, settings_for
from tests.support.traffic import Traffic, partitions_of, write
from tests.support.waiting import wait_until
from tests.support.zk_credentials import credentials_of
from tests.support.zk_tree import ZkTree
from zkconsumer import ZookeeperConsumerConnector
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

IN_CHUNKS_OF = 2_000
"""Bytes: a few dozen messages, so that a kill happens between two chunks, or within one."""


class MemberSequence:
    """Members of one group, each a process; all but the last are killed, one after the other.

    Attributes:
        printed: the values that each of them printed.
    """

    def __init__(self, cluster: Sandbox, topic: str, delivery: str, folder: Path) -> None:
        self.group = fresh_name(delivery.replace("_", "-"))
        self.delivery = delivery
        self.printed: list[list[str]] = []
        self._topic = topic
        self._folder = folder / delivery
        self._folder.mkdir()
        self._settings = {
            "zookeeper.connect": cluster.zookeeper_connect,
            "group.id": self.group,
            "auto.offset.reset": "smallest",
            "delivery": delivery,
            "auto.commit.interval.ms": "40",
            "fetch.message.max.bytes": str(IN_CHUNKS_OF),
            "queued.max.message.chunks": "2",
            "zookeeper.session.timeout.ms": "1500",
            "rebalance.backoff.ms": "100",
            "rebalance.max.retries": "100",
        }
        self.process: OurProcess | None = None

    def start(self) -> None:
        """Start the next member, while the former one's session still holds its nodes."""
        name = f"m{len(self.printed)}"
        settings = {**self._settings, "consumer.id": name}
        self.process = OurProcess(self._topic, settings, self._folder / name)

    def kill(self) -> None:
        """Kill the running member, if there is one."""
        if self.process is None:
            return
        self.process.kill()
        self.printed.append(self.process.values)
        self.process = None

    def await_some(self) -> None:
        """Wait until the running member has printed 100 messages."""
        process = self.process
        assert process is not None
        wait_until(lambda: len(process.values) >= 100, what=f"messages of {self.delivery}")

    def await_committed(self, tree: ZkTree, ends: Mapping[TopicPartition, int]) -> None:
        """Wait until everything is read and committed."""
        wait_until(lambda: tree.offsets(self.group) == ends, what=f"the end of {self.delivery}")

    def everything(self) -> list[str]:
        """All values that were printed, in order."""
        return [value for of_one in self.printed for value in of_one]


@pytest.fixture
def new_sequence(tmp_path: Path) -> Iterator[Callable[[Sandbox, str, str], MemberSequence]]:
    """Give a function that makes sequences of members; kill what still runs at the end."""
    made: list[MemberSequence] = []

    def make(cluster: Sandbox, topic: str, delivery: str) -> MemberSequence:
        made.append(MemberSequence(cluster, topic, delivery, tmp_path))
        return made[-1]

    yield make
    for members in made:
        members.kill()


def test_sigkill_loses_or_repeats_what_the_mode_allows(
    cluster: Sandbox, new_sequence: Callable[[Sandbox, str, str], MemberSequence]
) -> None:
    """At least once loses nothing; at most once repeats nothing; each mode has its own group."""
    topic = fresh_name("killed")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    tree = ZkTree(cluster)
    modes = [
        new_sequence(cluster, topic, delivery)
        for delivery in ("at_least_once", "at_most_once", "scala")
    ]
    with Traffic(cluster, partitions) as traffic:
        for _ in range(2):
            for mode in modes:
                mode.start()
            for mode in modes:
                mode.await_some()
                mode.kill()
        for mode in modes:
            mode.start()
        for mode in modes:
            mode.await_some()
        acknowledged = traffic.stop()
        ends = traffic.ends()
        for mode in modes:
            mode.await_committed(tree, ends)
    for mode in modes:
        mode.kill()
        assert len(mode.printed) == 3
    written = {value.decode() for of_tp in acknowledged.values() for value in of_tp.values()}
    least, most, scala = modes
    assert set(least.everything()) == written
    assert max(Counter(most.everything()).values()) == 1
    # Only the message that each killed member was processing may be lost.
    assert len(written - set(scala.everything())) <= 2


@pytest.mark.parametrize(
    ("delivery", "covered"), [("at_least_once", 2), ("scala", 3), ("at_most_once", 10)]
)
def test_the_commit_while_a_message_is_processed(
    cluster: Sandbox, delivery: str, covered: int
) -> None:
    """It excludes the message, includes it, or includes its whole chunk; so at a shutdown."""
    topic, group = fresh_name("in-hand"), fresh_name("group")
    cluster.create_topic(topic)
    [tp] = partitions_of(topic, 1)
    write(cluster, tp, [b"value"] * 10)
    tree = ZkTree(cluster)
    config = settings_for(
        cluster, group, delivery=delivery, auto_commit_interval_ms=50, consumer_timeout_ms=10_000
    )
    with ZookeeperConsumerConnector(config) as connector:
        [stream] = connector.create_message_streams({topic: 1})[topic]
        assert [next(stream).offset for _ in range(3)] == [0, 1, 2]
        wait_until(lambda: tree.offset(group, tp) == covered, timeout_s=5, what="the commit")
    assert tree.offset(group, tp) == covered
    with Member(cluster, group, {topic: 1}, delivery=delivery) as successor:
        write(cluster, tp, [b"last"])
        wait_until(lambda: successor.got(tp) == list(range(covered, 11)), what="the rest")


def test_at_most_once_repeats_nothing_after_a_rebalance_and_an_expired_session(
    cluster: Sandbox,
) -> None:
    """There are two members, and one session expires meanwhile: no message comes twice."""
    topic, group = fresh_name("once"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    for tp in partitions:
        for _ in range(20):
            write(cluster, tp, [b"value"] * 20)
    once = {"delivery": "at_most_once", "fetch_message_max_bytes": 500}
    with Member(cluster, group, {topic: 1}, consumer_id="a", **once) as first:
        wait_until(lambda: len(first.deliveries) > 50, what="a beginning")
        with Member(cluster, group, {topic: 1}, consumer_id="b", **once) as second:
            session = first.session_id
            cluster.expire_session(*credentials_of(first.store))
            wait_until(lambda: first.session_id != session, what="its new session")
            wait_until(
                lambda: len(first.claims()) == len(second.claims()) == 1, what="a share each"
            )
            for tp in partitions:
                write(cluster, tp, [b"end"])
            wait_until(
                lambda: all(400 in [*first.got(tp), *second.got(tp)] for tp in partitions),
                what="the end of both",
            )
            for tp in partitions:
                got = sorted(first.got(tp) + second.got(tp))
                assert got == sorted(set(got))
