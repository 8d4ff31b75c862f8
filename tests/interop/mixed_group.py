"""A group of both kinds of members on a real cluster, and waits for it."""

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tests.histories.checker import check_operations
from tests.histories.operations import of_topics, write_file
from tests.histories.recorder import Recorder
from tests.histories.registry import group_operations
from tests.histories.rules import CheckResult
from tests.histories.zookeeper_log import read_history
from tests.interop.group_peek import GroupPeek, NodesSnapshot
from tests.interop.members import (
    TIMINGS,
    Member,
    OurMember,
    OurProcess,
    ScalaMember,
    Subscription,
)
from tests.interop.traffic import Traffic, Writer
from tests.support.clusters import fresh_name
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer.assignment.strategy import Strategy
from zkconsumer.clock import SystemClock
from zkconsumer.model import TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox

CONSOLE_CONSUMER = "kafka.tools.ConsoleConsumer"


class DeliveringMember(Protocol):
    """A member of any kind that delivers messages."""

    @property
    def values(self) -> list[str]:
        """The values delivered so far."""
        ...


def zookeeper_history(cluster: Sandbox, group: str) -> Iterator[dict[str, Any]]:
    """Return what happened to a group's nodes, from ZooKeeper's own transaction log."""
    writes = read_history(cluster._cluster.zookeeper._folder / "data")
    return group_operations(writes, f"{ZkTree(cluster).chroot}/consumers/{group}")


class MixedGroup:
    """A fresh group; ``close`` ends its members.

    Attributes:
        fresh: whether nobody has joined it yet.
        recorder: of messages written and read, and of faults.
    """

    def __init__(self, cluster: Sandbox, folder: Path, name: str = "mixed") -> None:
        self.cluster = cluster
        self.name = fresh_name(name)
        self.peek = GroupPeek(cluster, self.name)
        self.recorder = Recorder(SystemClock().wall_ms)
        self.writer = Writer(cluster, self.recorder)
        self.fresh = True
        self.checks_own_topics_only = False
        """For filters that match other tests' topics, whose values are not unique."""
        self._folder = folder / self.name
        self._folder.mkdir(parents=True)
        self._numbers = itertools.count(1)
        self._members: list[Member] = []

    # --- topics -----------------------------------------------------------------------------------

    def topic(self, partitions: int, prefix: str = "orders") -> str:
        """Create a fresh topic."""
        name = fresh_name(prefix)
        self.cluster.create_topic(name, partitions=partitions)
        return name

    def traffic(self, *topics: str) -> Traffic:
        """Write messages to all partitions of the topics while the context is open."""
        return Traffic(self.writer, self.partitions(*topics))

    def partitions(self, *topics: str) -> Sequence[TopicPartition]:
        """Return all partitions of the topics."""
        return [
            TopicPartition(topic, partition)
            for topic in topics
            for partition in sorted(self.peek.partitions(topic))
        ]

    def write(self, count: int, *topics: str, codec: Codec = Codec.NONE) -> list[str]:
        """Write ``count`` messages to each partition of the topics; return their values."""
        return [
            value
            for tp in self.partitions(*topics)
            for value in self.writer.write(tp, count, codec)
        ]

    # --- members ----------------------------------------------------------------------------------

    def ours(
        self,
        subscription: Subscription,
        consumer_id: str | None = None,
        *,
        streams: int = 1,
        settings: Mapping[str, str] | None = None,
    ) -> OurMember:
        """Let a member of ours join; return when it owns its share."""
        own = {} if consumer_id is None else {"consumer.id": consumer_id}
        member = OurMember(
            self.cluster,
            self.name,
            subscription,
            streams=streams,
            settings={**own, **(settings or {})},
            recorder=self.recorder,
        )
        self._add(member)
        return member

    def our_process(
        self, topic: str, consumer_id: str, *, settings: Mapping[str, str] | None = None
    ) -> OurProcess:
        """Start a member of ours as a process; does not wait until it has joined."""
        all_settings = {
            **TIMINGS,
            "zookeeper.connect": self.cluster.zookeeper_connect,
            "group.id": self.name,
            "consumer.id": consumer_id,
            "auto.offset.reset": "smallest",
            **(settings or {}),
        }
        folder = self._folder / f"process-{next(self._numbers)}"
        member = OurProcess(topic, all_settings, folder, self.recorder)
        self._add(member)
        return member

    def scala(
        self,
        topics: str,
        consumer_id: str | None = None,
        *,
        settings: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
        by: str = "--whitelist",
    ) -> ScalaMember:
        """Start the original's console consumer; does not wait until it has joined.

        Where no offset is stored, the group's first member starts at the beginning. A later one
        starts at the end: the original refuses to start elsewhere once the group has any offset.

        Args:
            topics: the filter.
            consumer_id: its ``consumer.id``.
            settings: on top of ``TIMINGS``.
            options: further command-line options.
            by: the kind of filter.
        """
        own = {} if consumer_id is None else {"consumer.id": consumer_id}
        earliest = self.fresh
        config = self._folder / f"consumer-{next(self._numbers)}.properties"
        props = {**TIMINGS, "group.id": self.name, **own, **(settings or {})}
        config.write_text("".join(f"{key}={value}\n" for key, value in props.items()))
        tool = self.cluster.scala_tool(
            CONSOLE_CONSUMER,
            *("--zookeeper", self.cluster.zookeeper_connect, by, topics),
            *("--consumer.config", str(config)),
            *(["--from-beginning"] if earliest else []),
            *options,
        )
        member = ScalaMember(tool, self.name, consumer_id, self.recorder, earliest=earliest)
        self._add(member)
        return member

    def _add(self, member: Member) -> None:
        self._members.append(member)
        self.fresh = False

    def close(self) -> None:
        """End the members that are left, and disconnect."""
        self.writer.close()
        for member in self._members:
            if isinstance(member, OurMember):
                member.leave()
            else:
                member.kill()

    def check_history(self) -> CheckResult:
        """Check the group's history, which is written to its folder, to be checked again by hand.

        Members that tests start by themselves are not part of it.
        """
        for member in self._members:
            if not isinstance(member, OurMember):
                self.recorder.extend(member.history)
        history = [*self.recorder.operations(), *zookeeper_history(self.cluster, self.name)]
        write_file(self._folder / "history.ndjson", history)
        if self.checks_own_topics_only:
            history = list(of_topics(history, {tp.topic for tp in self.writer.ends}))
        return check_operations(history)

    # --- waiting ----------------------------------------------------------------------------------

    def await_settled(
        self,
        topics: Collection[str],
        members: int | Collection[str],
        *,
        strategy: Strategy = "range",
        timeout_s: float = 30,
    ) -> NodesSnapshot:
        """Wait until exactly these members are registered and every partition has its right owner.

        Args:
            topics: all topics that the group reads.
            members: how many, or the ``consumer.id`` of each.
            strategy: chooses the right owners.
            timeout_s: how long that may take.
        """
        wanted = members if isinstance(members, int) else sorted(map(self.id_of, members))

        def settled() -> NodesSnapshot | None:
            found = self.peek.snapshot(topics, strategy)
            there = len(found.members) if isinstance(wanted, int) else found.members
            return found if there == wanted and found.owners == found.assigned else None

        try:
            snapshot = wait_until(settled, timeout_s=timeout_s, what=f"{members} to share {topics}")
        except AssertionError as error:
            raise AssertionError(f"{error}; now {self.peek.snapshot(topics, strategy)}") from None
        assert snapshot is not None
        return snapshot

    def await_values(
        self, wanted: Collection[str], *members: DeliveringMember, timeout_s: float = 30
    ) -> None:
        """Wait until these members together have delivered all of ``wanted``."""

        def missing() -> set[str]:
            return set(wanted).difference(*(member.values for member in members))

        try:
            wait_until(lambda: not missing(), timeout_s=timeout_s, what=f"{len(wanted)} messages")
        except AssertionError as error:
            by_partition = Counter(value.rpartition(":")[0] for value in missing())
            raise AssertionError(f"{error}; missing by partition: {by_partition}") from None

    def await_offsets(self, topic: str) -> None:
        """Wait until each of the topic's partitions has a committed offset."""
        partitions = set(self.peek.partitions(topic))
        wait_until(lambda: set(self.peek.offsets(topic)) == partitions, what=f"offsets of {topic}")

    def await_committed(self, topic: str) -> None:
        """Wait until the committed offsets are the ends of all that was written to the topic."""
        ends = {tp.partition: str(end) for tp, end in self.writer.ends.items() if tp.topic == topic}
        wait_until(lambda: self.peek.offsets(topic) == ends, what=f"{ends} to be committed")

    def id_of(self, consumer_id: str) -> str:
        """Return a member's id in the group."""
        return f"{self.name}_{consumer_id}"
