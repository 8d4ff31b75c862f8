"""The cluster, the group and the load of a chaos run, and what can be waited for there."""

import json
import random
import struct
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.chaos.cast import Actor, Operation, OurActor, ScalaActor
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
_LOOK_MS = 50
_JOIN_MS = 10_000
_SUPER_SECRET = 0xB3415C00


class Stage:
    """Everything that runs; use it as a context manager, nothing outlives it.

    Attributes:
        cluster: ZooKeeper and the brokers.
        tree: ZooKeeper's nodes.
        actors: the members that are there now, by the letter of their place.
        everybody: all that ever were.
        recorder: of what producers and faults did.
        read: what members wrote down so far.
        down: the brokers that were ended, and not started yet.
    """

    def __init__(self, folder: Path, *, messages_per_second: int) -> None:
        self.folder = folder
        self.clock = SystemClock()
        self.cluster = Sandbox(
            kafka="0.8.2.2",
            brokers=BROKERS,
            broker_properties=BROKER_PROPERTIES,
            work_dir=folder / "cluster",
        )
        self.actors: dict[str, Actor] = {}
        self.everybody: list[Actor] = []
        self.recorder = Recorder(self.clock.wall_ms)
        self.read: list[Operation] = []
        self.down: set[int] = set()
        self._rate = messages_per_second
        self._values: set[str] = set()
        self._births = 0
        self._processes = SupervisedProcesses()
        self._reading = ThreadScope("accounts")
        self._stopped: Mailbox[None] = Mailbox()
        self._stopping = False

    def __enter__(self) -> Self:
        try:
            self.cluster.start()
            self.tree = ZkTree(self.cluster)
            self.peek = GroupPeek(self.cluster, GROUP)
            for topic, count in TOPICS.items():
                self.start_offsets(topic, range(count))
                self.cluster.create_topic(topic, count, replication=BROKERS)
            self.load = Load(self.cluster, self.partitions(), self._rate, self.recorder)
            self._reading.spawn("look", self._look_often, stop=self._stop_looking)
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
        self.cluster.close()

    # --- members ------------------------------------------------------------------------------

    def enter(self, place: str) -> Actor:
        """Start a new member in this place; does not wait until it has joined."""
        self._births += 1
        name = f"{place}-{self._births}"
        actor = self._original(name) if place == ORIGINAL else self._ours(place, name)
        self.actors[place] = actor
        self.everybody = [*self.everybody, actor]
        return actor

    def _ours(self, place: str, name: str) -> OurActor:
        settings = {
            **_OUR_SETTINGS,
            "consumer.id": name,
            "zookeeper.connect": self.cluster.zookeeper_connect,
        }
        by_filter = place == OURS[0]
        topics: Mapping[str, int] | str = (
            "|".join(TOPICS) if by_filter else dict.fromkeys(TOPICS, 1)
        )
        return OurActor(self._processes, self.folder / "members" / name, settings, topics)

    def _original(self, name: str) -> ScalaActor:
        config = self.folder / f"{name}.properties"
        props = {**_ORIGINAL_SETTINGS, "consumer.id": name}
        config.write_text("".join(f"{key}={value}\n" for key, value in props.items()))
        tool = self.cluster.scala_tool(
            "kafka.tools.ConsoleConsumer",
            *("--zookeeper", self.cluster.zookeeper_connect),
            *("--whitelist", "|".join(TOPICS), "--consumer.config", str(config)),
        )
        return ScalaActor(tool, f"{GROUP}_{name}")

    def look(self) -> None:
        """Take in what every member has written down."""
        for actor in self.everybody:
            fresh = actor.take()
            self.read.extend(fresh)
            for entry in fresh:
                self._values.update(message[3] for message in entry.get("messages", ()))

    def _look_often(self) -> None:
        while not self._stopping:
            self.look()
            self._stopped.get(_LOOK_MS)

    def _stop_looking(self) -> None:
        self._stopping = True
        self._stopped.put(None)

    def note_fault(self, kind: str, member: str | None, began_ms: int) -> None:
        """Write down what was done from then until now, and to which member."""
        until_ms = self.clock.wall_ms()
        self.recorder.add(
            "nemesis", "info", "fault", kind=kind, member=member, time=began_ms, until=until_ms
        )

    # --- topics and nodes ---------------------------------------------------------------------

    def partitions(self) -> list[TopicPartition]:
        """All partitions of the topics."""
        return [
            TopicPartition(topic, number)
            for topic in TOPICS
            for number in sorted(self.peek.partitions(topic))
        ]

    def start_offsets(self, topic: str, numbers: Iterable[int]) -> None:
        """Have new partitions read from their beginning.

        The original would begin at the end of a partition of which it finds no offset.
        """
        for number in numbers:
            self.tree.put(offset_path(GROUP, TopicPartition(topic, number)), b"0")

    def session_of(self, actor: Actor) -> int | None:
        """The session that a member is registered under; None where it is not."""
        node = self.tree.get(f"/consumers/{GROUP}/ids/{actor.consumer_id}")
        return None if node is None else node.ephemeral_owner

    def expire(self, session_id: int) -> None:
        """End a client's session as if it had timed out."""
        self.cluster.expire_session(session_id, session_password(session_id))

    # --- waiting ------------------------------------------------------------------------------

    def wait(self, probe: Callable[[], object], *, timeout_s: float, what: str) -> None:
        """Wait until it is so; a ZooKeeper that does not answer means not yet.

        Raises:
            AssertionError: it took too long, or a member ended by itself.
        """

        def request() -> bool:
            self.check_alive()
            try:
                return bool(probe())
            except SandboxError:
                return False

        wait_until(request, timeout_s=timeout_s, what=what)

    def check_alive(self) -> None:
        """Fail where a member or a broker has ended that nobody ended."""
        for actor in self.actors.values():
            if actor.poll() is not None:
                words = actor.last_words() if isinstance(actor, OurActor) else ""
                raise AssertionError(f"{actor.consumer_id} ended by itself: {words}")
        for number, server in self.cluster._cluster.brokers.items():
            if number not in self.down and not server.running:
                raise AssertionError(f"broker {number} ended by itself: {server._last_lines()}")

    def pause(self, duration_ms: int) -> None:
        """Let the others go on for a while: how long a fault lasts is part of the fault."""
        Mailbox[None]().get(duration_ms)

    def unsettled(self) -> str:
        """What keeps the group from rest; empty where it rests as the assignor says."""
        look = self.peek.look(list(TOPICS))
        members = sorted(actor.consumer_id for actor in self.actors.values())
        if look.members != members:
            return f"members are {look.members}, not {members}"
        wrong = {
            tp: (look.owners.get(tp), owner)
            for tp, owner in look.assigned.items()
            if look.owners.get(tp) != owner
        }
        return f"owners (and who should be): {wrong}" if wrong else ""

    def excuse(self, values: Iterable[str]) -> None:
        """Wait for these no longer: the original took them with it."""
        self._values.update(values)

    def delivered(self) -> int:
        """How many deliveries there were so far."""
        return sum(len(entry.get("messages", ())) for entry in list(self.read))

    def missing(self, values: Iterable[str]) -> list[str]:
        """Those that nobody has delivered yet."""
        return [value for value in values if value not in self._values]

    def in_sync(self) -> bool:
        """Whether every replica is in sync, and really holds what is acknowledged by now.

        The second is not implied: a replica that follows a new leader first drops what it does not
        know to be committed, and fetches it again, all the while counted as in sync. Were the
        leader to die meanwhile, Kafka before 0.11 would lose acknowledged messages (KIP-101).
        """
        wanted = self.load.ends()
        everyone = set(range(BROKERS))
        return all(
            of_topic and all(replicas == everyone for replicas in of_topic.values())
            for of_topic in map(self.tree.in_sync, TOPICS)
        ) and all(self._holds(broker, wanted) for broker in self.cluster.brokers)

    def _holds(self, broker: Broker, wanted: Mapping[TopicPartition, int]) -> bool:
        ends = replica_ends(broker, list(wanted))
        return all(ends.get(tp, -1) >= end for tp, end in wanted.items())

    def write_controller_request(self, path: str, request: Mapping[str, object]) -> None:
        """Put a request for the controller into its node."""
        self.tree.put(path, json.dumps({"version": 1, **request}).encode())


def session_password(session_id: int) -> bytes:
    """What ZooKeeper gave a client as the password of its session: it only depends on the id.

    Source: ZooKeeper 3.4.6 ``ZooKeeperServer.generatePasswd`` and ``java.util.Random``.
    """
    seed = ((session_id ^ _SUPER_SECRET) ^ 0x5DEECE66D) & ((1 << 48) - 1)
    password = b""
    while len(password) < 16:
        seed = (seed * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        password += struct.pack("<I", seed >> 16 & 0xFFFFFFFF)
    return password


def pick(chance: random.Random, actors: Mapping[str, Actor], places: Iterable[str]) -> str:
    """One of these places in which there is a member."""
    return chance.choice([place for place in places if place in actors])
