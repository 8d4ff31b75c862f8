"""Groups that are broken on purpose, on a real cluster, by real members and by leftover nodes."""

import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from tests.interop.members import OurMember, OurProcess
from tests.support.kafka_offsets import KafkaOffsets
from tests.support.strangers import stranger
from tests.support.traffic import write
from tests.support.waiting import wait_until
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.sandbox import Sandbox, ScalaTool
from zkconsumer.zk.nodes import Registration, encode_registration
from zkconsumer.zk.paths import GroupPaths
from zkconsumer.zk.store import ZkStore

RECORDS = 5
FULL, MORE, LOST, SHORT, READ, DROPPED = "full", "more", "lost", "short", "read", "dropped"
FULL_PARTITIONS = [TopicPartition(FULL, number) for number in range(2)]
MEMBER = "member"
HOUR_MS = 3_600_000
GHOST = "ghost"
PYKAFKA = f"host:{uuid.uuid4()}"
"""A consumer id in pykafka's form; pykafka registers the bare name of its topic."""


class Ward:
    """Two brokers, and their sick groups.

    Attributes:
        cluster: the brokers; only number 1 has the topics ``lost`` and ``short``.
        store: an operator's client, whose session lasts as long as this object.
        other: another such client.
        tools: the original's console consumers, by group.
    """

    def __init__(self, cluster: Sandbox, store: ZkStore, other: ZkStore, folder: Path) -> None:
        self.cluster = cluster
        self.store = store
        self.other = other
        self.tools: dict[str, ScalaTool] = {}
        self._folder = folder
        self._leaving = ExitStack()

    # --- nodes -----------------------------------------------------------------------------------

    def register(
        self,
        group: str,
        member: str,
        streams: Mapping[str, int],
        *,
        store: ZkStore | None = None,
        ahead_ms: int = 0,
    ) -> None:
        """Register a member, whose clock may be ahead."""
        now_ms = self.cluster_ms() + ahead_ms
        message = Registration(subscription=dict(streams), timestamp_ms=now_ms)
        self.register_as(group, member, encode_registration(message), store=store)

    def register_as(
        self, group: str, member: str, data: bytes, *, store: ZkStore | None = None
    ) -> None:
        """Register a member with any bytes."""
        path = GroupPaths(group).member(member)
        assert (store or self.store).create(path, data, ephemeral=True)

    def leave(self, path: str, data: bytes) -> None:
        """Create a persistent node, which belongs to no session."""
        assert self.store.create(path, data, ephemeral=False)

    def own(
        self, group: str, tp: TopicPartition, owner: str, *, store: ZkStore | None = None
    ) -> None:
        """Create an owner node."""
        path = GroupPaths(group).owner(tp)
        assert (store or self.store).create(path, owner.encode(), ephemeral=True)

    def commit(self, group: str, tp: TopicPartition, offset: int | str) -> None:
        """Write an offset."""
        self.store.set_or_create_many({GroupPaths(group).offset(tp): str(offset).encode()})

    def settle(self, group: str, *, ahead_ms: int = 0) -> None:
        """Create a member that owns both partitions of ``full``, and has read them."""
        self.register(group, MEMBER, {FULL: 1}, ahead_ms=ahead_ms)
        for tp in FULL_PARTITIONS:
            self.own(group, tp, f"{MEMBER}-0")
            self.commit(group, tp, RECORDS)

    def cluster_ms(self) -> int:
        """Return ZooKeeper's time."""
        self.store.set_or_create_many({"/time": b""})
        (node,) = self.store.get_many(["/time"])
        assert node is not None
        return node.mtime_ms

    def node(self, path: str) -> bytes | None:
        """Return a node's data; None: there is no node."""
        (found,) = self.store.get_many([path])
        return None if found is None else found.data

    # --- real members ----------------------------------------------------------------------------

    def join(self, group: str, topic: str = FULL) -> OurMember:
        """Let a member of ours join."""
        member = OurMember(self.cluster, group, {topic: 1})
        self._leaving.callback(member.leave)
        return member

    def kill(self, group: str) -> None:
        """Kill a member that read and committed everything; its session lasts for a while."""
        settings = {
            "zookeeper.connect": self.cluster.zookeeper_connect,
            "zookeeper.session.timeout.ms": "30000",
            "group.id": group,
            "consumer.id": MEMBER,
            "auto.offset.reset": "smallest",
            "auto.commit.interval.ms": "100",
        }
        process = OurProcess(READ, settings, self._folder / group)
        try:
            path = GroupPaths(group).offset(TopicPartition(READ, 0))
            wait_until(
                lambda: self.node(path) == str(RECORDS).encode(), what="the last commit of it"
            )
        finally:
            process.kill()
        write(self.cluster, TopicPartition(READ, 0), [b"never read"])

    def scala(self, group: str, *options: str) -> ScalaTool:
        """Start the original's console consumer in a group, with few rebalance tries."""
        config = self._folder / f"{group}.properties"
        config.write_text(
            f"group.id={group}\nauto.commit.interval.ms=100\n"
            "rebalance.max.retries=2\nrebalance.backoff.ms=100\n"
        )
        tool = self.cluster.scala_tool(
            "kafka.tools.ConsoleConsumer",
            *("--zookeeper", self.cluster.zookeeper_connect, "--topic", FULL, "--from-beginning"),
            *("--consumer.config", str(config), *options),
        )
        self._leaving.callback(tool.kill)
        self.tools[group] = tool
        return tool

    def await_owners(self, group: str, count: int) -> None:
        """Wait until ``count`` partitions of ``full`` have an owner."""
        owners = [GroupPaths(group).owner(tp) for tp in FULL_PARTITIONS]
        wait_until(
            lambda: len([owner for owner in owners if self.node(owner)]) == count,
            what=f"{group} to have {count} partitions",
        )

    def close(self) -> None:
        """Let real members leave."""
        self._leaving.close()


@contextmanager
def opened_ward(folder: Path) -> Iterator[Ward]:
    """Open a ward whose groups are all sick, while broker 1 is down."""
    with ExitStack() as stack:
        cluster = stack.enter_context(Sandbox(brokers=2, work_dir=folder / "cluster"))
        store = stack.enter_context(stranger(cluster))
        other = stack.enter_context(stranger(cluster))
        ward = Ward(cluster, store, other, folder)
        stack.enter_context(closing(ward))
        _make_topics(cluster)
        ward.scala("foreign")
        _left_behind(ward)
        _members(ward)
        _offsets(ward)
        ward.kill("killed")
        ward.join("haunted")
        ward.await_owners("haunted", 2)
        message = Registration(subscription={FULL: 1}, timestamp_ms=ward.cluster_ms())
        ward.leave(GroupPaths("haunted").member(GHOST), encode_registration(message))
        ward.await_owners("foreign", 2)
        ward.register_as("foreign", PYKAFKA, FULL.encode(), store=other)
        cluster.delete_topic(DROPPED)
        _take_broker_away(cluster, folder)
        ward.await_owners("haunted", 1)
        ward.await_owners("foreign", 0)
        yield ward


def _make_topics(cluster: Sandbox) -> None:
    cluster.create_topic("__consumer_offsets", assignment={number: [0] for number in range(8)})
    cluster.create_topic(FULL, assignment={0: [0], 1: [0]})
    for topic in (MORE, READ, DROPPED):
        cluster.create_topic(topic, assignment={0: [0]})
    cluster.create_topic(LOST, assignment={0: [1]})
    cluster.create_topic(SHORT, assignment={0: [1]}, config={"segment.bytes": "1000"})
    for tp in (*FULL_PARTITIONS, TopicPartition(READ, 0)):
        write(cluster, tp, [b"value"] * RECORDS)
    for _ in range(40):
        write(cluster, TopicPartition(SHORT, 0), [b"x" * 100])


def _left_behind(ward: Ward) -> None:
    """Create owner nodes of nobody or of other sessions, and an unreadable registration."""
    ward.leave(GroupPaths("claimed").owner(FULL_PARTITIONS[1]), b"claimed_old-0")
    ward.register("taken", MEMBER, {FULL: 1})
    ward.own("taken", FULL_PARTITIONS[0], "somebody-0", store=ward.other)
    ward.own("taken", FULL_PARTITIONS[1], f"{MEMBER}-0")
    for tp in FULL_PARTITIONS:
        ward.commit("taken", tp, RECORDS)
    ward.register_as("garbled", MEMBER, b"\x00garbage")


def _members(ward: Ward) -> None:
    """Create members with unusual registrations."""
    ward.settle("ahead", ahead_ms=HOUR_MS)
    ward.register("unequal", "a", {FULL: 1})
    ward.register("unequal", "b", {FULL: 1, MORE: 1}, store=ward.other)
    ward.register("spare", MEMBER, {FULL: 3})
    for tp in FULL_PARTITIONS:
        ward.own("spare", tp, f"{MEMBER}-{tp.partition}")
        ward.commit("spare", tp, RECORDS)
    ward.register("astray", MEMBER, {"nowhere": 1})
    wildcard = {"version": 1, "subscription": {"(": 1}, "pattern": "white_list", "timestamp": "1"}
    wildcard["timestamp"] = str(ward.cluster_ms())
    ward.register_as("wild", MEMBER, json.dumps(wildcard).encode())
    ward.register("leaderless", MEMBER, {LOST: 1})
    ward.own("leaderless", TopicPartition(LOST, 0), f"{MEMBER}-0")


def _offsets(ward: Ward) -> None:
    """Write offsets that are wrong in different ways."""
    ward.commit("beyond", FULL_PARTITIONS[0], 1000)
    ward.commit("numberless", FULL_PARTITIONS[0], "seven")
    ward.commit("behind", TopicPartition(SHORT, 0), 3)
    ward.commit("late", TopicPartition(DROPPED, 0), 2)
    ward.commit("split", FULL_PARTITIONS[0], RECORDS)
    KafkaOffsets(ward.cluster, "split").put({FULL_PARTITIONS[1]: OffsetAndMetadata(RECORDS, "")})


def _take_broker_away(cluster: Sandbox, folder: Path) -> None:
    """Stop broker 1 and delete the first segments of its log, as retention does."""
    cluster.stop_broker(1)
    tp = TopicPartition(SHORT, 0)
    segments = sorted((folder / "cluster").glob(f"broker-1/**/{tp}/*.log"))
    assert len(segments) > 3
    for segment in segments[:2]:
        segment.unlink()
        segment.with_suffix(".index").unlink()
