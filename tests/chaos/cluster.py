"""The cluster, the group and the load of a chaos run, and waits for their state."""

import json
import random
import struct
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.chaos.cast import MemberProcess, Operation, OurMember, ScalaMember
from tests.chaos.load import Load
from tests.chaos.read_logs import replica_ends
from tests.histories.recorder import Recorder
from tests.interop.group_peek import GroupPeek
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree, offset_path
from zkconsumer.clock import SystemClock
from zkconsumer.errors import SandboxError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.processes import SupervisedProcesses
from zkconsumer.scope import Mailbox, ThreadScope

GROUP = "chaos"
TOPICS = {"orders": 6, "clicks": 3}
BROKERS = 3
SESSION_MS = 4_000
OURS = ("a", "b", "d")
ORIGINAL = "c"
EFFECT_S = 45

BROKER_PROPERTIES = {
    # With these an acknowledged message survives whatever happens to one broker at a time.
    "unclean.leader.election.enable": "false",
    "min.insync.replicas": "2",
    "default.replication.factor": "3",
    "replica.lag.time.max.ms": "4000",
}
_SETTINGS = {
    "group.id": GROUP,
    "zookeeper.session.timeout.ms": str(SESSION_MS),
    "rebalance.backoff.ms": "500",
    "auto.commit.interval.ms": "1000",
    "refresh.leader.backoff.ms": "200",
}
_OUR_SETTINGS = {
    **_SETTINGS,
    "zookeeper.connection.timeout.ms": "10000",
    "auto.offset.reset": "smallest",
    "rebalance.max.retries": "20",
    "fetch.wait.max.ms": "100",
}
_ORIGINAL_SETTINGS = {**_SETTINGS, "rebalance.max.retries": "200"}
_COLLECT_MS = 50
_JOIN_MS = 10_000
_SUPER_SECRET = 0xB3415C00


class ChaosCluster:
    """Everything that runs, as a context manager that ends all of it.

    Args:
        folder: for all files; an empty one.
        messages_per_second: the rate of the producers.
        over_tls: whether our members connect to brokers over TLS, which 0.9 was the first to have.
            The original in the group, and the producers, connect without it.

    Attributes:
        sandbox: ZooKeeper and the brokers.
        tree: ZooKeeper's nodes.
        running: the current members, by the letter of their slot.
        all_members: all members that were ever started.
        recorder: has the operations of producers and faults.
        read: the operations that members have recorded so far.
        down: the brokers that were ended, and not started yet.
    """

    def __init__(self, folder: Path, *, messages_per_second: int, over_tls: bool = False) -> None:
        self.folder = folder
        self.clock = SystemClock()
        self.sandbox = Sandbox(
            kafka="0.9.0.1" if over_tls else "0.8.2.2",
            security="tls" if over_tls else None,
            brokers=BROKERS,
            broker_properties=BROKER_PROPERTIES,
            work_dir=folder / "cluster",
        )
        self.running: dict[str, MemberProcess] = {}
        self.all_members: list[MemberProcess] = []
        self.recorder = Recorder(self.clock.wall_ms)
        self.read: list[Operation] = []
        self.down: set[int] = set()
        self._rate = messages_per_second
        self._over_tls = over_tls
        self._values: set[str] = set()
        self._births = 0
        self._processes = SupervisedProcesses()
        self._reading = ThreadScope("accounts")
        self._stopped: Mailbox[None] = Mailbox()
        self._stopping = False

    def __enter__(self) -> Self:
        try:
            self.sandbox.start()
            self.tree = ZkTree(self.sandbox)
            self.peek = GroupPeek(self.sandbox, GROUP)
            for topic, count in TOPICS.items():
                self.start_offsets(topic, range(count))
                self.sandbox.create_topic(topic, count, replication=BROKERS)
            self.load = Load(self.sandbox, self.partitions(), self._rate, self.recorder)
            self._reading.spawn("collect", self._collect_repeatedly, stop=self._stop_collecting)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def _end(self) -> None:
        self._reading.close(_JOIN_MS)
        self._processes.close()
        self.sandbox.close()

    # --- members ------------------------------------------------------------------------------

    def enter(self, slot: str) -> MemberProcess:
        """Start a new member in this slot, without waiting until it has joined."""
        self._births += 1
        name = f"{slot}-{self._births}"
        member = self._original(name) if slot == ORIGINAL else self._ours(slot, name)
        self.running[slot] = member
        self.all_members = [*self.all_members, member]
        return member

    def _ours(self, slot: str, name: str) -> OurMember:
        access = self.sandbox.access.settings if self._over_tls else {}
        settings = {
            **_OUR_SETTINGS,
            **{key.replace("_", "."): value for key, value in access.items()},
            "consumer.id": name,
            "zookeeper.connect": self.sandbox.zookeeper_connect,
        }
        by_filter = slot == OURS[0]
        topics: Mapping[str, int] | str = (
            "|".join(TOPICS) if by_filter else dict.fromkeys(TOPICS, 1)
        )
        return OurMember(self._processes, self.folder / "members" / name, settings, topics)

    def _original(self, name: str) -> ScalaMember:
        config = self.folder / f"{name}.properties"
        props = {**_ORIGINAL_SETTINGS, "consumer.id": name}
        config.write_text("".join(f"{key}={value}\n" for key, value in props.items()))
        tool = self.sandbox.scala_tool(
            "kafka.tools.ConsoleConsumer",
            *("--zookeeper", self.sandbox.zookeeper_connect),
            *("--whitelist", "|".join(TOPICS), "--consumer.config", str(config)),
        )
        return ScalaMember(tool, f"{GROUP}_{name}")

    def collect(self) -> None:
        """Read what every member has recorded."""
        for member in self.all_members:
            fresh = member.take()
            self.read.extend(fresh)
            for entry in fresh:
                self._values.update(message[3] for message in entry.get("messages", ()))

    def _collect_repeatedly(self) -> None:
        while not self._stopping:
            self.collect()
            self._stopped.get(_COLLECT_MS)

    def _stop_collecting(self) -> None:
        self._stopping = True
        self._stopped.put(None)

    def note_fault(self, kind: str, member: str | None, began_ms: int) -> None:
        """Record a fault that lasted until now, and the member that it affected."""
        until_ms = self.clock.wall_ms()
        self.recorder.add(
            "nemesis", "info", "fault", kind=kind, member=member, time=began_ms, until=until_ms
        )

    # --- topics and nodes ---------------------------------------------------------------------

    def partitions(self) -> list[TopicPartition]:
        """Return all partitions of the topics."""
        return [
            TopicPartition(topic, number)
            for topic in TOPICS
            for number in sorted(self.peek.partitions(topic))
        ]

    def start_offsets(self, topic: str, numbers: Iterable[int]) -> None:
        """Commit offset 0 for new partitions, so that they are read from their beginning.

        The original would start at the end of a partition without a committed offset.
        """
        for number in numbers:
            self.tree.put(offset_path(GROUP, TopicPartition(topic, number)), b"0")

    def session_of(self, member: MemberProcess) -> int | None:
        """Return the session that a member is registered with, or None."""
        node = self.tree.get(f"/consumers/{GROUP}/ids/{member.consumer_id}")
        return None if node is None else node.ephemeral_owner

    def expire(self, session_id: int) -> None:
        """Expire a client's session as if it had timed out."""
        self.sandbox.expire_session(session_id, session_password(session_id))

    # --- waiting ------------------------------------------------------------------------------

    def wait(self, probe: Callable[[], object], *, timeout_s: float, what: str) -> None:
        """Wait until the probe returns true; a ZooKeeper that does not respond counts as false.

        Raises:
            AssertionError: it took too long, or a member ended without a fault.
        """

        def request() -> bool:
            self.check_alive()
            try:
                return bool(probe())
            except SandboxError:
                return False

        wait_until(request, timeout_s=timeout_s, what=what)

    def check_alive(self) -> None:
        """Fail if a member or a broker has ended that no fault has ended."""
        for member in self.running.values():
            if member.poll() is not None:
                output = member.stderr_tail() if isinstance(member, OurMember) else ""
                raise AssertionError(f"{member.consumer_id} ended by itself: {output}")
        for number, server in self.sandbox._cluster.brokers.items():
            if number not in self.down and not server.running:
                raise AssertionError(f"broker {number} ended by itself: {server._last_lines()}")

    def pause(self, duration_ms: int) -> None:
        """Let the processes go on for a while: the duration is part of the fault."""
        Mailbox[None]().get(duration_ms)

    def unsettled(self) -> str:
        """Return how the group differs from the assignor's result; empty if it doesn't."""
        snapshot = self.peek.snapshot(list(TOPICS))
        members = sorted(member.consumer_id for member in self.running.values())
        if snapshot.members != members:
            return f"members are {snapshot.members}, not {members}"
        wrong = {
            tp: (snapshot.owners.get(tp), owner)
            for tp, owner in snapshot.assigned.items()
            if snapshot.owners.get(tp) != owner
        }
        return f"owners (and who should be): {wrong}" if wrong else ""

    def excuse(self, values: Iterable[str]) -> None:
        """Stop waiting for these values: a killed original had fetched them."""
        self._values.update(values)

    def delivered(self) -> int:
        """Return the number of deliveries so far."""
        return sum(len(entry.get("messages", ())) for entry in list(self.read))

    def missing(self, values: Iterable[str]) -> list[str]:
        """Return the values that nobody has delivered yet."""
        return [value for value in values if value not in self._values]

    def in_sync(self) -> bool:
        """Tell whether every replica is in sync, and has all messages acknowledged by now.

        The first does not imply the second: a replica that follows a new leader first truncates
        what it does not know to be committed, and fetches it again, and counts as in sync
        meanwhile. If the leader failed then, Kafka before 0.11 would lose acknowledged messages
        (KIP-101).
        """
        wanted = self.load.ends()
        all_brokers = set(range(BROKERS))
        return all(
            of_topic and all(replicas == all_brokers for replicas in of_topic.values())
            for of_topic in map(self.tree.in_sync, TOPICS)
        ) and all(self._holds(broker, wanted) for broker in self.sandbox.brokers)

    def _holds(self, broker: Broker, wanted: Mapping[TopicPartition, int]) -> bool:
        ends = replica_ends(broker, list(wanted))
        return all(ends.get(tp, -1) >= end for tp, end in wanted.items())

    def write_controller_request(self, path: str, request: Mapping[str, object]) -> None:
        """Write a request for the controller into its node."""
        self.tree.put(path, json.dumps({"version": 1, **request}).encode())


def session_password(session_id: int) -> bytes:
    """Return the password that ZooKeeper gave a client for its session; it depends only on the id.

    Source: ZooKeeper 3.4.6 ``ZooKeeperServer.generatePasswd`` and ``java.util.Random``.
    """
    seed = ((session_id ^ _SUPER_SECRET) ^ 0x5DEECE66D) & ((1 << 48) - 1)
    password = b""
    while len(password) < 16:
        seed = (seed * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        password += struct.pack("<I", seed >> 16 & 0xFFFFFFFF)
    return password


def pick(rng: random.Random, running: Mapping[str, MemberProcess], slots: Iterable[str]) -> str:
    """Return one of the slots that have a member."""
    return rng.choice([slot for slot in slots if slot in running])
