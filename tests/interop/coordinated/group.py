"""A coordinator's group with several kinds of members on a real broker, and waits for it."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from tests.histories.checker import check_operations
from tests.histories.operations import write_file
from tests.histories.recorder import Recorder
from tests.histories.rules import CheckResult
from tests.interop.coordinated.members import (
    ClientMember,
    JavaMember,
    Library,
    PollMember,
    all_values,
)
from tests.interop.coordinated.peek import CoordinatorPeek, GroupDescription
from tests.interop.traffic import Writer
from tests.support.clusters import fresh_name
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

JAVA_ASSIGNORS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "roundrobin": "org.apache.kafka.clients.consumer.RoundRobinAssignor",
    "sticky": "org.apache.kafka.clients.consumer.StickyAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}
CONSOLE_CONSUMERS = {"3.9.1": "org.apache.kafka.tools.consumer.ConsoleConsumer"}
GROUP_COMMANDS = {"3.9.1": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"}
WITH_TWO_CONSUMERS = {"0.9.0.1", "0.10.2.2"}
"""Their tools need a flag for the new consumer."""
API_VERSIONS = {"0.9.0.1": [0, 9]}
"""The versions that kafka-python must be given: it can't detect brokers that old."""
SHORT_TIMEOUTS: Mapping[str, Mapping[str, object]] = {"0.9.0.1": {"request_timeout_ms": 10_000}}
"""Brokers of 0.9 occasionally leave a request without a response, and tests wait only 30 s."""

TIMINGS_MS = {
    "session_timeout_ms": 6000,
    "heartbeat_interval_ms": 300,
    "auto_commit_interval_ms": 200,
    "retry_backoff_ms": 100,
    "fetch_max_wait_ms": 100,
}
JAVA_TIMINGS = {key.replace("_", "."): str(value) for key, value in TIMINGS_MS.items()}


class CoordinatorGroup:
    """A fresh group; ``close`` ends its members.

    Args:
        cluster: the cluster.
        folder: for the members' output.
        strategy: of all members; None: their defaults, which have range in common.
    """

    def __init__(self, cluster: Sandbox, folder: Path, strategy: str | None = "range") -> None:
        self.cluster = cluster
        self.name = fresh_name("poll")
        self.peek = CoordinatorPeek(cluster, self.name)
        self.recorder = Recorder(SystemClock().wall_ms)
        self.writer = Writer(cluster, self.recorder)
        self.strategy = strategy
        self.members: list[PollMember] = []
        self._folder = folder / self.name
        self._numbers = itertools.count(1)
        self._folder.mkdir(parents=True)

    # --- topics -----------------------------------------------------------------------------------

    def topic(self, partitions: int, *, replication: int = 1) -> str:
        """Create a fresh topic."""
        name = fresh_name("orders")
        self.cluster.create_topic(name, partitions=partitions, replication=replication)
        return name

    def partitions(self, topic: str, count: int) -> list[TopicPartition]:
        """Return the topic's first partitions."""
        return [TopicPartition(topic, partition) for partition in range(count)]

    def write(self, partitions: Collection[TopicPartition], count: int) -> list[str]:
        """Write ``count`` messages to each partition; return their values."""
        return [value for tp in partitions for value in self.writer.write(tp, count)]

    # --- members ----------------------------------------------------------------------------------

    def ours(self, *topics: str, **settings: object) -> ClientMember:
        """Start a member of ours; does not wait until it has joined."""
        return self._client("zkconsumer", {"topics": topics}, settings)

    def kafka_python(self, *topics: str, **settings: object) -> ClientMember:
        """Start a member of kafka-python's after another member; does not wait until it has joined.

        If 3.0.12 joins first, it leads before it knows the topic, and sometimes hangs at its second
        assignment. It may lead after the members before it have left.
        """
        wait_until(lambda: any(self.peek.describe().shares.values()), what="another member")
        own: dict[str, object] = {}
        if self.cluster.kafka in API_VERSIONS:
            own["api_version"] = API_VERSIONS[self.cluster.kafka]
        return self._client("kafka", {"topics": topics}, {**own, **settings})

    def java(self, topic: str, **settings: str) -> JavaMember:
        """Start the version's console consumer; does not wait until it has joined.

        Args:
            topic: the topic it reads.
            settings: of Java's consumer, with ``_`` for each dot.
        """
        kafka = self.cluster.kafka
        config = self._folder / f"java-{next(self._numbers)}.properties"
        properties = {
            **JAVA_TIMINGS,
            "group.id": self.name,
            "client.id": "java",
            "auto.offset.reset": "earliest",
            **(
                {"partition.assignment.strategy": JAVA_ASSIGNORS[self.strategy]}
                if self.strategy is not None
                else {}
            ),
            **{key.replace("_", "."): value for key, value in settings.items()},
        }
        config.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        tool = self.cluster.scala_tool(
            CONSOLE_CONSUMERS.get(kafka, "kafka.tools.ConsoleConsumer"),
            *(["--new-consumer"] if kafka in WITH_TWO_CONSUMERS else []),
            *("--bootstrap-server", self.cluster.bootstrap_servers, "--topic", topic),
            *("--consumer.config", str(config)),
        )
        member = JavaMember(tool)
        self.members.append(member)
        return member

    def _client(
        self, library: Library, subscription: Mapping[str, object], settings: Mapping[str, object]
    ) -> ClientMember:
        all_settings = {
            **TIMINGS_MS,
            **SHORT_TIMEOUTS.get(self.cluster.kafka, {}),
            "bootstrap_servers": self.cluster.bootstrap_servers.split(","),
            "group_id": self.name,
            "client_id": library,
            "auto_offset_reset": "earliest",
            **(
                {"partition_assignment_strategy": [self.strategy]}
                if self.strategy is not None
                else {}
            ),
            **settings,
        }
        folder = self._folder / f"{library}-{next(self._numbers)}"
        member = ClientMember(library, subscription, all_settings, folder)
        self.members.append(member)
        return member

    def close(self) -> None:
        """End the members that are left, and disconnect."""
        self.writer.close()
        for member in self.members:
            member.kill()

    def check_history(self) -> CheckResult:
        """Check the group's history, which is written to its folder; commits are not in it."""
        members = [fact for member in self.members for fact in member.history]
        history = [*self.recorder.operations(), *members]
        write_file(self._folder / "history.ndjson", history)
        return check_operations(history)

    # --- waiting ----------------------------------------------------------------------------------

    def await_shared(
        self, partitions: Collection[TopicPartition], count: int, *, timeout_s: float = 30
    ) -> GroupDescription:
        """Wait until ``count`` members own all partitions between them, each at least one."""

        def shared() -> GroupDescription | None:
            self._check_members()
            described = self.peek.describe()
            shares = list(described.shares.values())
            whole = sorted(itertools.chain(*shares)) == sorted(partitions)
            return described if len(shares) == count and all(shares) and whole else None

        try:
            found = wait_until(shared, timeout_s=timeout_s, what=f"{count} to share {self.name}")
        except AssertionError as error:
            raise AssertionError(
                f"{error}; now {self.peek.describe()}; {self._reported()}"
            ) from None
        assert found is not None
        assert found.protocol == (self.strategy or "range")
        return found

    def await_all(self, wanted: Sequence[str], *, timeout_s: float = 30) -> None:
        """Wait until the members have delivered all of these values.

        Duplicates are the test's concern: some faults allow them.
        """

        def missing() -> set[str]:
            self._check_members()
            return set(wanted) - set(all_values(self.members))

        try:
            wait_until(lambda: not missing(), timeout_s=timeout_s, what=f"{len(wanted)} messages")
        except AssertionError as error:
            what = f"missing {sorted(missing())[:10]}; {self._reported()}"
            raise AssertionError(f"{error}; {what}") from None

    def await_committed(self, timeout_s: float = 30) -> None:
        """Wait until the group's offsets are the ends of all that was written."""
        wait_until(
            lambda: self.peek.offsets.offsets(self.writer.ends) == self.writer.ends,
            timeout_s=timeout_s,
            what=f"{self.writer.ends} to be committed",
        )

    def _check_members(self) -> None:
        for member in self.members:
            member.check()

    def _reported(self) -> str:
        return " | ".join(
            member._end() if isinstance(member, ClientMember) else member.tool.errors[-500:]
            for member in self.members
        )
