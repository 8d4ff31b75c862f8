"""A cluster whose nodes are an in-memory tree, which tests break, diagnose and repair.

The doctor's snapshot is read from the nodes by the code that reads real ones, so that a repair can
be applied to the tree, and diagnosed again.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from tests.fakes.memory_tree import MemoryTree
from zkconsumer.assignment.filtering import FilterBudget
from zkconsumer.assignment.strategy import Strategy
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity
from zkconsumer.status.doctor.examine import examine
from zkconsumer.status.doctor.fix import Fix
from zkconsumer.status.doctor.fixing import FixPlan, plan_fix
from zkconsumer.status.group_state import zookeeper_state
from zkconsumer.status.model import (
    BrokerStatus,
    ClusterSnapshot,
    GroupStatus,
    PartitionStatus,
    TopicStatus,
)
from zkconsumer.status.reading.group_nodes import GroupNodes, group_status
from zkconsumer.status.verify import expected_owners, group_view
from zkconsumer.zk.nodes import Registration, encode_registration
from zkconsumer.zk.paths import GroupPaths, ancestors_of, topic_path
from zkconsumer.zk.store import CreateOp, DeleteOp, ZNode

NOW_MS = 1_400_000_000_000
LONG_AGO_MS = NOW_MS - 3_600_000
LOG = (0, 100)
PAGE = Path(__file__).parents[2] / "docs" / "doctor.md"
GROUP = "g"


class DiagnosedCluster:
    """Topics, brokers 0 and 1, and groups in ZooKeeper.

    Args:
        topics: the number of partitions by topic.

    Attributes:
        clock_ms: the creation time of new nodes; at first an hour ago.
        logs: log start and end offset; logs without an entry have offsets 0 to 99.
        live: the live sessions according to ZooKeeper; None: unknown.
    """

    def __init__(self, **topics: int) -> None:
        self.clock_ms = LONG_AGO_MS
        self.tree = MemoryTree(lambda: self.clock_ms)
        self.topics = dict(topics)
        self.logs: dict[TopicPartition, tuple[int, int]] = {}
        self.live: frozenset[int] | None = None
        for topic in topics:
            self.create_node(topic_path(topic), b"{}")

    # --- making nodes --------------------------------------------------------------------

    def create_node(self, path: str, data: bytes, session_id: int = 0) -> None:
        """Create a node, with its parents."""
        for parent in ancestors_of(path):
            self.tree.apply([CreateOp(parent, None)], 0)
        result, _ = self.tree.apply([CreateOp(path, data, ephemeral=session_id != 0)], session_id)
        assert result.ok, path

    def remove(self, path: str) -> None:
        """Delete a node."""
        assert self.tree.apply([DeleteOp(path)], 0)[0].ok, path

    def register(self, consumer_id: str, session_id: int, **streams: int) -> None:
        """Register a member of the group as Scala does."""
        self.register_in(GROUP, consumer_id, session_id, **streams)

    def register_in(self, group_id: str, consumer_id: str, session_id: int, **streams: int) -> None:
        """Register a member of that group as Scala does."""
        message = Registration(subscription=streams, timestamp_ms=self.clock_ms)
        path = GroupPaths(group_id).member(consumer_id)
        self.create_node(path, encode_registration(message), session_id)

    def own(self, tp: TopicPartition, owner: str, session_id: int, group_id: str = GROUP) -> None:
        """Create an owner node."""
        self.create_node(GroupPaths(group_id).owner(tp), owner.encode(), session_id)

    def commit(self, tp: TopicPartition, offset: int, group_id: str = GROUP) -> None:
        """Set a committed offset in ZooKeeper."""
        path = GroupPaths(group_id).offset(tp)
        if self.tree.get(path) is not None:
            self.remove(path)
        self.create_node(path, str(offset).encode())

    def assign(self, strategy: Strategy = "range", group_id: str = GROUP) -> None:
        """Let all members own the partitions that the strategy assigns to them."""
        group = self.group(group_id)
        sessions = {member.member_id: member.session_id or 0 for member in group.members}
        owners = expected_owners(strategy, group_view(group, self.partition_ids))
        assert isinstance(owners, dict), owners
        for tp, thread in owners.items():
            self.own(tp, str(thread), sessions[thread.consumer_id], group_id)

    # --- reading -------------------------------------------------------------------------

    @property
    def partition_ids(self) -> dict[str, tuple[int, ...]]:
        """The partition numbers of every topic."""
        return {topic: tuple(range(count)) for topic, count in self.topics.items()}

    def group(self, group_id: str = GROUP) -> GroupStatus:
        """Read a group from its nodes."""
        paths = GroupPaths(group_id)
        nodes = GroupNodes(
            members=self._below(paths.ids),
            owners=self._by_topic(f"{paths.root}/owners"),
            offsets=self._by_topic(f"{paths.root}/offsets"),
        )
        seen = group_status(group_id, nodes, self.partition_ids, NOW_MS, FilterBudget())
        state = zookeeper_state(seen, self.partition_ids, self.live)
        with_logs = tuple(
            partition._replace(log_start=log[0], log_end=log[1], log_at_ms=NOW_MS)
            if (log := self.log_of(partition.topic_partition)) is not None
            else partition
            for partition in seen.partitions
        )
        return replace(seen, state=state, partitions=with_logs)

    def log_of(self, tp: TopicPartition) -> tuple[int, int] | None:
        """Return log start and end offset; None if the partition does not exist."""
        if tp.partition not in self.partition_ids.get(tp.topic, ()):
            return None
        return self.logs.get(tp, LOG)

    def snapshot(self, *others: GroupStatus, taken_ms: int = NOW_MS) -> ClusterSnapshot:
        """Take a snapshot with all groups in ZooKeeper, and ``others``."""
        ids = self.tree.children("/consumers") or []
        groups = [*(self.group(member_id) for member_id in ids), *others]
        return ClusterSnapshot(
            taken_ms=taken_ms,
            zookeeper_connect="zk:2181/kafka",
            brokers=tuple(
                BrokerStatus(
                    broker=Broker(number, "h", 9092 + number),
                    seen_ms=taken_ms,
                    is_controller=number == 0,
                )
                for number in range(2)
            ),
            topics=tuple(self._topic(topic) for topic in sorted(self.topics)),
            groups={group.key: group for group in groups},
            live_sessions=self.live,
        )

    def findings(self, around: Circumstances | None = None) -> tuple[Diagnosis, ...]:
        """Return the doctor's present findings."""
        return examine(self.snapshot(), around or Circumstances())

    def finding(self, code: Code, around: Circumstances | None = None) -> Diagnosis:
        """Return the only finding with this code."""
        (diagnosis,) = [finding for finding in self.findings(around) if finding.code is code]
        return diagnosis

    # --- repairing -----------------------------------------------------------------------

    def plan(self, fix: Fix) -> FixPlan:
        """Plan a fix for the present nodes."""
        nodes = {path: self.tree.get(path) for path in fix.paths}
        return plan_fix(fix, nodes, {path: self.tree.children(path) for path in fix.childless})

    def repair(self, fix: Fix) -> FixPlan:
        """Plan a fix, and apply it."""
        plan = self.plan(fix)
        for write in plan.writes:
            assert self.tree.apply([write.op], 0)[0].ok, write.op
        return plan

    def contents(self) -> dict[str, tuple[bytes, int]]:
        """Return data and session of all nodes by path."""
        nodes: dict[str, tuple[bytes, int]] = {}
        waiting = ["/"]
        while waiting:
            path = waiting.pop()
            node = self.tree.get(path)
            assert node is not None
            nodes[path] = (node.data, node.ephemeral_owner)
            waiting += [f"{path.rstrip('/')}/{name}" for name in self.tree.children(path) or ()]
        return nodes

    def _below(self, path: str) -> dict[str, ZNode | None]:
        return {name: self.tree.get(f"{path}/{name}") for name in self.tree.children(path) or ()}

    def _by_topic(self, path: str) -> Mapping[str, dict[str, ZNode | None]]:
        topics = self.tree.children(path) or ()
        return {topic: self._below(f"{path}/{topic}") for topic in topics}

    def _topic(self, topic: str) -> TopicStatus:
        return TopicStatus(
            name=topic,
            seen_ms=NOW_MS,
            partitions=tuple(
                PartitionStatus(
                    topic_partition=TopicPartition(topic, number),
                    leader=0,
                    replicas=(0, 1),
                    in_sync=(0, 1),
                )
                for number in self.partition_ids[topic]
            ),
        )


def healthy() -> DiagnosedCluster:
    """Return a healthy group: two members, two topics with four partitions, all committed at 90."""
    world = DiagnosedCluster(t=4, u=4)
    world.register("g_a-1399996300000-0a0b0c0d", 1, t=2, u=2)
    world.register("g_b-1399996300000-0a0b0c0d", 2, t=2, u=2)
    world.assign()
    for topic in "tu":
        for number in range(4):
            world.commit(TopicPartition(topic, number), 90)
    return world


def codes(findings: Iterable[Diagnosis]) -> list[str]:
    """Return the codes of findings, in order."""
    return [finding.code.value for finding in findings]


def documented_severities(page: Path) -> dict[Code, set[Severity]]:
    """Return the possible severities of each finding according to the documentation."""
    rows = re.findall(r"^\| `([a-z-]+)` \| ([a-z, ]+) \|", page.read_text(), re.MULTILINE)
    return {
        Code(code): {Severity[part.upper()] for part in reported.split(", ")}
        for code, reported in rows
    }
