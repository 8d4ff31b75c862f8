"""Reads a few groups again, each server once: what pages that are open want every second.

ZooKeeper and the brokers are asked at the same time. A broker gets all its questions one after the
other over one connection of its own, so that a look does not wait for a reading of everything.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from zkconsumer.clock import Clock
from zkconsumer.error_codes import explained
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.scope import ThreadScope
from zkconsumer.status.model import GroupKey, GroupKind, GroupStatus
from zkconsumer.status.reading.broker_round import BrokerRound, Question, Unanswered
from zkconsumer.status.reading.coordinators import CoordinatorReader
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.kept import Kept, offset_requests
from zkconsumer.status.reading.logs import LogReader
from zkconsumer.status.reading.part import Part
from zkconsumer.status.reading.values import GroupOffsets, GroupReads, GroupsRead, LogSpan
from zkconsumer.status.reading.zookeeper_groups import ZookeeperGroups
from zkconsumer.zk.store import ZkStore


@dataclass(slots=True)
class BrokerTask:
    """What to ask of one broker.

    Attributes:
        describe: the groups that it coordinates.
        offsets: the groups whose offsets it keeps, and the partitions to ask for.
        logs: the partitions that it leads.
    """

    describe: list[str] = field(default_factory=list)
    offsets: Mapping[str, Collection[TopicPartition]] = field(default_factory=dict)
    logs: list[TopicPartition] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """What to ask whom.

    Attributes:
        in_zookeeper: the groups to read there.
        errands: of the brokers.
        topics: the partitions of every topic, for what members subscribe to.
    """

    in_zookeeper: tuple[str, ...]
    errands: Mapping[Broker, BrokerTask]
    topics: Mapping[str, tuple[int, ...]]


@dataclass(slots=True)
class _BrokerReport:
    """What a broker said."""

    groups: Mapping[str, GroupStatus | str | None] = field(default_factory=dict)
    offsets: Mapping[str, GroupOffsets | int] = field(default_factory=dict)
    logs: Mapping[TopicPartition, LogSpan | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _InZookeeper:
    """What ZooKeeper said, and of which groups."""

    names: frozenset[str]
    read: GroupsRead


def plan_look(kept: Kept, keys: Collection[GroupKey], answering: Mapping[int, Broker]) -> ReadPlan:
    """Whom to ask about some groups, by what is known of the cluster (pure).

    Kafka is asked for offsets of a ZooKeeper group only if it was known to have some.

    Args:
        kept: what is known.
        keys: of the groups.
        answering: the brokers that answered lately, by id; the others are not waited for.
    """
    topics = kept.partition_ids() or {}
    errands: dict[Broker, BrokerTask] = {}
    known = [group for key in keys if (group := kept.group(key)) is not None]
    for group in known:
        if group.coordinator is None or group.only_listed or group.kind is GroupKind.ZOOKEEPER:
            continue
        errands.setdefault(group.coordinator, BrokerTask()).describe.append(group.group_id)
    keeping = {
        one.group_id
        for one in known
        if one.kind is GroupKind.COORDINATOR or kept.offsets.get(one.group_id)
    }
    for broker, groups in offset_requests(kept, sorted(keeping), topics).items():
        errands.setdefault(broker, BrokerTask()).offsets = groups
    leaders = kept.leaders(answering)
    read = {one.topic_partition for group in known for one in group.partitions}
    # What nobody owns is known by its offsets alone.
    read |= {tp for group in known for tp in kept.offsets.get(group.group_id, ())}
    for tp in sorted(read):
        if tp in leaders:
            errands.setdefault(leaders[tp], BrokerTask()).logs.append(tp)
    return ReadPlan(
        in_zookeeper=tuple(one.group_id for one in keys if one.kind is GroupKind.ZOOKEEPER),
        errands={one: it for one, it in errands.items() if one.id in answering},
        topics=topics,
    )


class CoordinatorGroupReader:
    """Thread: one at a time, but for ``close``.

    Args:
        store: the way to ZooKeeper; None: no group of it is looked at.
        dialer: the way to the brokers.
        clock: for deadlines and ages.
    """

    def __init__(self, store: ZkStore | None, dialer: BrokerDialer, clock: Clock) -> None:
        self._clock = clock
        self._scope = ThreadScope("status-look", clock=clock)
        # Groups that somebody looks at are read whole, so that no write goes unnoticed.
        self._groups = None if store is None else ZookeeperGroups(store, clock, owners_max_age_ms=0)
        self._part: Part[_InZookeeper] = Part("groups", self._scope)
        self._brokers = BrokerRound(dialer, clock)
        self._logs = LogReader(self._brokers, clock)
        self._coordinators = CoordinatorReader(self._brokers, clock)

    def look(self, plan: ReadPlan, deadline: Deadline) -> GroupReads:
        """Ask all of them."""
        groups = self._groups
        if plan.in_zookeeper and groups is not None:
            self._part.start(lambda: _read(groups, plan, deadline))
        responses = self._brokers.request(
            {broker: self._lookup(task, deadline) for broker, task in plan.errands.items()},
            deadline,
        )
        found = _CollectedGroups()
        for broker, response in responses.items():
            found.take(plan.errands[broker], response)
        if plan.in_zookeeper and groups is not None:
            found.take_zookeeper(plan.in_zookeeper, self._part.result(deadline))
        return found.on_snapshot()

    def close(self, timeout_ms: int) -> None:
        """Break off what is under way. Idempotent. Thread: any."""
        self._brokers.close(timeout_ms)
        self._scope.close(timeout_ms)

    def _lookup(self, task: BrokerTask, deadline: Deadline) -> Question[_BrokerReport]:
        def request(connection: NegotiatedConnection) -> _BrokerReport:
            message = _BrokerReport()
            if task.describe:
                describe = self._coordinators.describe_request(task.describe, deadline)
                message.groups = describe(connection)
            if task.offsets:
                fetch = self._coordinators.offsets_request(task.offsets, deadline)
                message.offsets = fetch(connection)
            # The last, so that no commit is seen that is beyond it.
            if task.logs:
                message.logs = self._logs.lookup(task.logs, deadline)(connection)
            return message

        return request


def _read(groups: ZookeeperGroups, plan: ReadPlan, deadline: Deadline) -> _InZookeeper:
    names = frozenset(plan.in_zookeeper)
    return _InZookeeper(names, groups.read_some(names, plan.topics, deadline))


class _CollectedGroups:
    """Collects what is told."""

    def __init__(self) -> None:
        self._groups: dict[GroupKey, GroupStatus | None] = {}
        self._offsets: dict[str, GroupOffsets] = {}
        self._logs: dict[TopicPartition, LogSpan | str] = {}
        self._failures: dict[str, str] = {}

    def take(self, task: BrokerTask, response: _BrokerReport | Unanswered) -> None:
        """A broker answered, or did not."""
        if isinstance(response, Unanswered):
            self._fail((*task.describe, *task.offsets), response.reason)
            self._logs |= dict.fromkeys(task.logs, response.reason)
            return
        for name, group in response.groups.items():
            if isinstance(group, str):
                self._fail([name], group)
            else:
                self._groups[GroupKey(GroupKind.COORDINATOR, name)] = group
        for name, offsets in response.offsets.items():
            if isinstance(offsets, int):
                self._fail([name], explained(offsets))
            else:
                self._offsets[name] = offsets
        self._logs |= response.logs

    def take_zookeeper(self, names: Collection[str], response: _InZookeeper | Unanswered) -> None:
        """ZooKeeper answered, or did not; a response can be to an earlier question."""
        if isinstance(response, Unanswered):
            self._fail(names, response.reason)
            return
        for name in response.names.intersection(names):
            self._groups[GroupKey(GroupKind.ZOOKEEPER, name)] = response.read.groups.get(name)
        late = [name for name in names if name not in response.names]
        self._fail(late, "ZooKeeper has only now answered the question before")

    def on_snapshot(self) -> GroupReads:
        """Return all of it."""
        return GroupReads(
            groups=self._groups, offsets=self._offsets, logs=self._logs, failures=self._failures
        )

    def _fail(self, names: Iterable[str], reason: str) -> None:
        self._failures |= dict.fromkeys(names, reason)
