"""Reads a few groups again, over one connection per server; every second for open pages.

ZooKeeper and the brokers are queried at the same time. The connections to brokers are not those of
full reads, so that neither waits for the other.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from zkconsumer.error_codes import explained
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.scope import ThreadScope
from zkconsumer.status.model import GroupKey, GroupKind, GroupStatus
from zkconsumer.status.reading.broker_round import BrokerQuery, BrokerRound
from zkconsumer.status.reading.coordinators import CoordinatorReader
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.kept import Kept, offset_requests
from zkconsumer.status.reading.logs import LogReader
from zkconsumer.status.reading.part import Part
from zkconsumer.status.reading.round_clock import RoundClock
from zkconsumer.status.reading.values import SelectedGroupsRead, Unanswered
from zkconsumer.status.reading.zookeeper_groups import ZookeeperGroups
from zkconsumer.zk.store import ZkStore


@dataclass(slots=True)
class BrokerTask:
    """The requests to one broker.

    Attributes:
        describe: the groups to describe, which it coordinates.
        offsets: the groups whose offsets it stores, and the partitions to request.
        logs: the partitions that it leads.
    """

    describe: list[str] = field(default_factory=list)
    offsets: Mapping[str, Collection[TopicPartition]] = field(default_factory=dict)
    logs: list[TopicPartition] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """The queries of one partial read, by server.

    Attributes:
        in_zookeeper: the groups to read from ZooKeeper.
        tasks: the tasks of the brokers.
        topics: the partitions of every topic, to expand subscriptions.
    """

    in_zookeeper: tuple[str, ...]
    tasks: Mapping[Broker, BrokerTask]
    topics: Mapping[str, tuple[int, ...]]


_InZookeeper: TypeAlias = Mapping[str, GroupStatus | None]
"""The groups that were requested from ZooKeeper, by id; None: it is gone."""


def plan_group_reads(
    kept: Kept, keys: Collection[GroupKey], answering: Mapping[int, Broker]
) -> ReadPlan:
    """Plan the queries for some groups, from what is known of the cluster (pure).

    A ZooKeeper group's offsets are requested from Kafka only if it was known to have some.

    Args:
        kept: what is known of the cluster.
        keys: of the groups.
        answering: the brokers that responded lately, by id; others are not waited for.
    """
    topics = kept.partition_ids() or {}
    tasks: dict[Broker, BrokerTask] = {}
    known = [group for key in keys if (group := kept.group(key)) is not None]
    for group in known:
        if group.coordinator is None or group.only_listed or group.kind is GroupKind.ZOOKEEPER:
            continue
        tasks.setdefault(group.coordinator, BrokerTask()).describe.append(group.group_id)
    keeping = {
        group.group_id
        for group in known
        if group.kind is GroupKind.COORDINATOR or kept.offsets.get(group.group_id)
    }
    for broker, groups in offset_requests(kept, sorted(keeping), topics).items():
        tasks.setdefault(broker, BrokerTask()).offsets = groups
    leaders = kept.leaders(answering)
    read = {partition.topic_partition for group in known for partition in group.partitions}
    # Some partitions are known only by their offsets in Kafka.
    read |= {tp for group in known for tp in kept.offsets.get(group.group_id, ())}
    for tp in sorted(read):
        if tp in leaders:
            tasks.setdefault(leaders[tp], BrokerTask()).logs.append(tp)
    return ReadPlan(
        in_zookeeper=tuple(key.group_id for key in keys if key.kind is GroupKind.ZOOKEEPER),
        tasks={broker: task for broker, task in tasks.items() if broker.id in answering},
        topics=topics,
    )


class SelectedGroupsReader:
    """Reads selected groups again. Thread: one at a time, except ``close``.

    Args:
        store: the connection to ZooKeeper; None: no ZooKeeper groups are read.
        dialer: connects to the brokers.
        clock: for deadlines and ages.
        limit_ms: the time limit of one call of ``read``.
    """

    def __init__(
        self, store: ZkStore | None, dialer: BrokerDialer, clock: RoundClock, limit_ms: int
    ) -> None:
        self._clock = clock
        self._limit_ms = limit_ms
        self._scope = ThreadScope("status-read", clock=clock)
        # These groups are read in full, so that no write goes unnoticed.
        self._groups = None if store is None else ZookeeperGroups(store, clock, owners_max_age_ms=0)
        self._part: Part[_InZookeeper] = Part("groups", self._scope, clock)
        self._brokers = BrokerRound(dialer, clock)
        self._logs = LogReader(self._brokers, clock)
        self._coordinators = CoordinatorReader(self._brokers, clock)

    def read(self, plan: ReadPlan) -> SelectedGroupsRead:
        """Send all requests of a plan; return what was read in time."""
        groups, deadline = self._groups, Deadline(self._clock, self._limit_ms)
        if plan.in_zookeeper and groups is not None:
            self._part.start(lambda: groups.read_some(plan.in_zookeeper, plan.topics, deadline))
        responses = self._brokers.request(
            {broker: self._lookup(task, deadline) for broker, task in plan.tasks.items()},
            deadline,
        )
        found = SelectedGroupsRead()
        for broker, response in responses.items():
            _take(found, plan.tasks[broker], response)
        if plan.in_zookeeper and groups is not None:
            _take_zookeeper(found, plan.in_zookeeper, self._part.result(deadline))
        return found

    def close(self, timeout_ms: int) -> None:
        """Interrupt running queries. Idempotent. Thread: any."""
        self._brokers.close(timeout_ms)
        self._scope.close(timeout_ms)

    def _lookup(self, task: BrokerTask, deadline: Deadline) -> BrokerQuery[SelectedGroupsRead]:
        def request(connection: NegotiatedConnection) -> SelectedGroupsRead:
            found = SelectedGroupsRead()
            if task.describe:
                describe = self._coordinators.describe_request(task.describe, deadline)
                for name, group in describe(connection).items():
                    if isinstance(group, str):
                        found.failures[name] = group
                    else:
                        found.groups[GroupKey(GroupKind.COORDINATOR, name)] = group
            if task.offsets:
                fetch = self._coordinators.offsets_request(task.offsets, deadline)
                for name, offsets in fetch(connection).items():
                    if isinstance(offsets, int):
                        found.failures[name] = explained(offsets)
                    else:
                        found.offsets[name] = offsets
            # The last request, so that no commit seems to be beyond the log end.
            if task.logs:
                found.logs = self._logs.lookup(task.logs, deadline)(connection)
            return found

        return request


def _take(
    found: SelectedGroupsRead, task: BrokerTask, response: SelectedGroupsRead | Unanswered
) -> None:
    """Record the response of a broker, or its absence."""
    if isinstance(response, Unanswered):
        found.failures |= dict.fromkeys((*task.describe, *task.offsets), response.reason)
        found.logs |= dict.fromkeys(task.logs, response.reason)
        return
    found.groups |= response.groups
    found.offsets |= response.offsets
    found.logs |= response.logs
    found.failures |= response.failures


def _take_zookeeper(
    found: SelectedGroupsRead, names: Collection[str], response: _InZookeeper | Unanswered
) -> None:
    """Record ZooKeeper's response, which may be a late one to an earlier request, or why not."""
    if isinstance(response, Unanswered):
        found.failures |= dict.fromkeys(names, response.reason)
        return
    for name in names:
        if name in response:
            found.groups[GroupKey(GroupKind.ZOOKEEPER, name)] = response[name]
        else:
            found.failures[name] = "ZooKeeper has only now responded to the previous request"
