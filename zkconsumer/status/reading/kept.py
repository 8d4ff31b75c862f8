"""The last known state of a cluster's parts, and their failures. Pure.

A part that could not be read keeps its last state; every value has the time when it was read.
Topics and groups that are no longer listed are dropped.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from zkconsumer.model import Broker, TopicPartition
from zkconsumer.status.model import (
    BrokerStatus,
    CommittedOffset,
    GroupKey,
    GroupKind,
    GroupStatus,
    PartFailure,
    TopicStatus,
    ids_of_partitions,
)
from zkconsumer.status.reading.coordinator_responses import read_partitions
from zkconsumer.status.reading.values import (
    ClusterRead,
    CoordinatorsRead,
    GroupOffsets,
    GroupsRead,
    LogSpan,
    LogsRead,
    OffsetRead,
    OffsetsRead,
    SelectedGroupsRead,
    Unanswered,
    UnreadOffset,
)
from zkconsumer.status.set_back import shift_times_back
from zkconsumer.zk.absence import NoBrokers

CLUSTER_PART: Final = "brokers and topics in ZooKeeper"
CLUSTER_PART_ALONE: Final = "brokers and topics"
CLUSTER_PARTS: Final = frozenset({CLUSTER_PART, CLUSTER_PART_ALONE})
"""The parts that fail if the brokers are unknown: read from ZooKeeper, or from brokers."""
GROUPS_PART: Final = "groups in ZooKeeper"
SELECTED_PART: Final = "groups that were read again"

_ABSENT_MS: Final = 600_000
"""How long groups of a broker that is no longer registered are kept."""
_REPORTED_MS: Final = 10_000
"""How long a failure of a partial read is shown if no other read follows."""


class Failures:
    """The current failures, and since when."""

    def __init__(self) -> None:
        self._by_kind: dict[str, dict[str, PartFailure]] = {}

    def note(
        self,
        kind: str,
        reasons: Mapping[int, str] | Mapping[str, str],
        now_ms: int,
        form: str = "{}",
        *,
        of_groups: bool = False,
    ) -> None:
        """Replace the failures of one kind of parts.

        Args:
            kind: an internal name.
            reasons: the current failures, by broker, group or part; others do not fail.
            now_ms: the time.
            form: the name of a part, for that of its broker or group.
            of_groups: whether they are of groups.
        """
        before = self._by_kind.get(kind, {})
        found: dict[str, PartFailure] = {}
        for name, reason in reasons.items():
            part = form.format(name)
            found[part] = PartFailure(
                part=part,
                reason=reason,
                since_ms=before[part].since_ms if part in before else now_ms,
                group_id=str(name) if of_groups else None,
            )
        self._by_kind = {**self._by_kind, kind: found}

    def set_back(self, by_ms: int) -> None:
        """Move the times of the failures back with the local clock."""
        self._by_kind = shift_times_back(self._by_kind, by_ms)

    def all(self) -> tuple[PartFailure, ...]:
        """Return all failures, the oldest first."""
        found = [failure for of_kind in self._by_kind.values() for failure in of_kind.values()]
        return tuple(sorted(found, key=lambda failure: (failure.since_ms, failure.part)))


class _Unmoved(NamedTuple):
    """The offsets of a group without members, and since when they are unchanged."""

    mark: int
    since_ms: int


class Kept:
    """The last known values of all parts; each value is replaced, never changed in place.

    Args:
        cluster_part: the part that fails if brokers and topics can't be read.

    Attributes:
        brokers: the registered brokers.
        no_brokers: why there are none.
        no_zookeeper: whether the cluster has no ZooKeeper; None if unknown.
        topics: all of them; None before the first read.
        zookeeper_groups: by id, without their states.
        coordinator_groups: likewise.
        offsets: the offsets in Kafka of each group.
        offset_coordinators: the coordinators of those offsets, as far as they were looked up.
        spans: start and end of logs.
        log_problems: why the last read of a partition's span failed.
        failures: the current failures.
    """

    def __init__(self, cluster_part: str = CLUSTER_PART) -> None:
        self._cluster_part = cluster_part
        self.brokers: tuple[BrokerStatus, ...] = ()
        self.no_brokers: NoBrokers | None = None
        self.no_zookeeper: bool | None = None
        self.topics: tuple[TopicStatus, ...] | None = None
        self.zookeeper_groups: dict[str, GroupStatus] = {}
        self.coordinator_groups: dict[str, GroupStatus] = {}
        self.offsets: dict[str, GroupOffsets] = {}
        self.offset_coordinators: dict[str, Broker] = {}
        self.spans: dict[TopicPartition, LogSpan] = {}
        self.log_problems: dict[TopicPartition, str] = {}
        self.failures = Failures()
        self._unmoved: dict[str, _Unmoved] = {}
        self._last_read_ms = 0

    def set_back(self, by_ms: int) -> None:
        """Move all times back with the local clock, so that all values keep their ages."""
        self.brokers = shift_times_back(self.brokers, by_ms)
        self.topics = shift_times_back(self.topics, by_ms)
        self.zookeeper_groups = shift_times_back(self.zookeeper_groups, by_ms)
        self.coordinator_groups = shift_times_back(self.coordinator_groups, by_ms)
        self.offsets = shift_times_back(self.offsets, by_ms)
        self.spans = shift_times_back(self.spans, by_ms)
        self.failures.set_back(by_ms)
        self._unmoved = shift_times_back(self._unmoved, by_ms)
        self._last_read_ms -= by_ms

    def take_cluster(self, read: ClusterRead | Unanswered, now_ms: int) -> None:
        """Record brokers and topics, or why they could not be read."""
        if isinstance(read, Unanswered):
            self.failures.note(self._cluster_part, {self._cluster_part: read.reason}, now_ms)
            return
        self.brokers, self.topics = read.brokers, read.topics
        self.no_brokers, self.no_zookeeper = read.no_brokers, read.no_zookeeper
        there = {
            partition.topic_partition for topic in read.topics for partition in topic.partitions
        }
        # Drop the spans of deleted topics: a topic created under an old name has a new log.
        self.spans = {tp: span for tp, span in self.spans.items() if tp in there}
        self.log_problems = {tp: why for tp, why in self.log_problems.items() if tp in there}
        self.failures.note(self._cluster_part, {}, now_ms)

    def take_groups(self, read: GroupsRead | Unanswered, now_ms: int) -> None:
        """Record ZooKeeper groups, or why they could not be read."""
        if isinstance(read, Unanswered):
            self.failures.note(GROUPS_PART, {GROUPS_PART: read.reason}, now_ms)
            return
        known = {**self.zookeeper_groups, **read.groups}
        self.zookeeper_groups = {
            name: group for name, group in known.items() if name in read.listed
        }
        self.failures.note(
            GROUPS_PART, {} if read.failure is None else {GROUPS_PART: read.failure}, now_ms
        )

    def take_logs(self, read: LogsRead, now_ms: int) -> None:
        """Record the ends of logs."""
        self.log_problems = self._take_spans(read.logs)
        self.failures.note("logs", read.failures, now_ms, "log ends of broker {}")

    def take_coordinators(self, read: CoordinatorsRead, now_ms: int) -> None:
        """Record the coordinators' groups.

        Groups of a broker that did not respond are kept. Those of a broker that is no longer
        registered are kept for a while: it may just be restarting, or others take its groups over.
        """
        failures = dict(read.failures)
        silent: dict[str, GroupStatus] = {}
        for name, group in self.coordinator_groups.items():
            broker = group.coordinator
            if broker is None or broker.id in read.responding or name in read.groups:
                continue
            if broker.id not in read.failures:
                if now_ms - group.seen_ms >= _ABSENT_MS:
                    continue
                failures[broker.id] = f"{broker} is not registered"
            silent[name] = group
        self.coordinator_groups = {**silent, **read.groups}
        self.failures.note("coordinators", failures, now_ms, "groups of broker {}")

    def take_offsets(self, read: OffsetsRead, began_ms: int, now_ms: int) -> None:
        """Record offsets in Kafka.

        Args:
            read: what was read.
            began_ms: when reading them began.
            now_ms: the time.
        """
        groups = self.zookeeper_groups.keys() | self.coordinator_groups.keys()
        known = {**self.offsets, **_newer_offsets(read.offsets, self.offsets, began_ms)}
        self.offsets = {name: offsets for name, offsets in known.items() if name in groups}
        self._unmoved = {name: unmoved for name, unmoved in self._unmoved.items() if name in groups}
        self._note_unmoved(read.offsets, now_ms)
        self.offset_coordinators = {
            name: broker
            for name, broker in self.offset_coordinators.items()
            if name in groups and name not in read.moved
        }
        form = "offsets of group {} in Kafka"
        self.failures.note("offsets", read.failures, now_ms, form, of_groups=True)

    def take_group_reads(self, read: SelectedGroupsRead, now_ms: int) -> None:
        """Record groups that were read again."""
        groups = (self.zookeeper_groups, self.coordinator_groups)
        self.zookeeper_groups, self.coordinator_groups = (
            _covered(known, read.groups, kind)
            for known, kind in zip(groups, GroupKind, strict=True)
        )
        older = {
            name
            for name, offsets in read.offsets.items()
            if 0 < _seen_ms(offsets) < _seen_ms(self.offsets.get(name, {}))
        }
        offsets = {name: some for name, some in read.offsets.items() if name not in older}
        self.offsets = {**self.offsets, **_with_last_known(offsets, self.offsets)}
        self._note_unmoved(offsets, now_ms)
        others = {tp: why for tp, why in self.log_problems.items() if tp not in read.logs}
        self.log_problems = others | self._take_spans(read.logs)
        form = "group {}, read again"
        self.failures.note(SELECTED_PART, read.failures, now_ms, form, of_groups=True)
        self._last_read_ms = now_ms

    def offsets_unchanged_since_ms(self, name: str) -> int | None:
        """Return since when a group without members has had the same offsets in Kafka."""
        found = self._unmoved.get(name)
        return None if found is None else found.since_ms

    def _take_spans(
        self, logs: Mapping[TopicPartition, LogSpan | str]
    ) -> dict[TopicPartition, str]:
        """Record spans that are not older than the known ones; return why others are unknown."""
        spans = dict(self.spans)
        problems: dict[TopicPartition, str] = {}
        for tp, log in logs.items():
            if isinstance(log, str):
                problems[tp] = log
            elif tp not in spans or log.at_ms >= spans[tp].at_ms:
                spans[tp] = log
        self.spans = spans
        return problems

    def _note_unmoved(self, read: Collection[str], now_ms: int) -> None:
        for name in read:
            offsets = self.offsets.get(name, {})
            found = [self.zookeeper_groups.get(name), self.coordinator_groups.get(name)]
            if not offsets or any(group.members for group in found if group is not None):
                self._unmoved.pop(name, None)
                continue
            places = (
                (tp, committed.offset)
                for tp, offset in offsets.items()
                if (committed := _committed(offset)) is not None
            )
            mark = hash(frozenset(places))
            known = self._unmoved.get(name)
            if known is None or known.mark != mark:
                self._unmoved[name] = _Unmoved(mark, now_ms)

    def forget_group_reads(self, now_ms: int) -> None:
        """Drop the failures of the last partial read if that was a while ago."""
        if now_ms - self._last_read_ms >= _REPORTED_MS:
            self.failures.note(SELECTED_PART, {}, now_ms)

    def group(self, key: GroupKey) -> GroupStatus | None:
        """Return the last known status of a group."""
        kinds = {
            GroupKind.ZOOKEEPER: self.zookeeper_groups,
            GroupKind.COORDINATOR: self.coordinator_groups,
        }
        return kinds[key.kind].get(key.group_id)

    def coordinator_of_offsets(self, name: str) -> Broker | None:
        """Return the coordinator of a group's offsets in Kafka; None if unknown."""
        listed = self.coordinator_groups.get(name)
        known = self.offset_coordinators.get(name)
        return known or (None if listed is None else listed.coordinator)

    def partition_ids(self) -> dict[str, tuple[int, ...]] | None:
        """Return the partition numbers of every topic, in the source's order; None: never read."""
        return None if self.topics is None else ids_of_partitions(self.topics)

    def leaders(self, addresses: Mapping[int, Broker]) -> dict[TopicPartition, Broker]:
        """Return the leader of each partition, if its address is known."""
        return {
            partition.topic_partition: addresses[partition.leader]
            for topic in self.topics or ()
            for partition in topic.partitions
            if partition.leader is not None and partition.leader in addresses
        }

    def unasked(self, addresses: Mapping[int, Broker]) -> dict[TopicPartition, str]:
        """Return why the leader can't be queried, for each partition where that is so."""
        problems = {broker.broker.id: broker.problem for broker in self.brokers}
        return {
            partition.topic_partition: (
                f"its leader, broker {partition.leader}, can't be reached: "
                f"{problems[partition.leader]}"
                if partition.leader in problems
                else f"its leader, broker {partition.leader}, is not registered"
            )
            for topic in self.topics or ()
            for partition in topic.partitions
            if partition.leader is not None and partition.leader not in addresses
        }


def _newer_offsets(
    read: Mapping[str, GroupOffsets],
    known: Mapping[str, GroupOffsets],
    began_ms: int,
) -> dict[str, GroupOffsets]:
    """Return the offsets that were read, without groups that a partial read has updated meanwhile.

    Otherwise an offset could seem to go back, which would count as a rewind.
    """
    newer = {
        name: offsets for name, offsets in read.items() if began_ms >= _seen_ms(known.get(name, {}))
    }
    return _with_last_known(newer, known)


def _with_last_known(
    read: Mapping[str, GroupOffsets], known: Mapping[str, GroupOffsets]
) -> dict[str, GroupOffsets]:
    """Return the offsets that were read; an unread offset is given its last known value."""
    return {
        name: {
            tp: UnreadOffset(offset.problem, _committed(known.get(name, {}).get(tp)))
            if isinstance(offset, UnreadOffset)
            else offset
            for tp, offset in offsets.items()
        }
        for name, offsets in read.items()
    }


def _committed(offset: OffsetRead | None) -> CommittedOffset | None:
    """Return the last known offset; None if there is none."""
    if isinstance(offset, UnreadOffset):
        return offset.last
    return offset if isinstance(offset, CommittedOffset) else None


def _seen_ms(offsets: GroupOffsets) -> int:
    """Return when the latest read of a group's offsets was; 0: never."""
    times = (
        committed.seen_ms
        for offset in offsets.values()
        if (committed := _committed(offset)) is not None
    )
    return max(times, default=0)


def _covered(
    known: Mapping[str, GroupStatus],
    on_snapshot: Mapping[GroupKey, GroupStatus | None],
    kind: GroupKind,
) -> dict[str, GroupStatus]:
    changed = {
        key.group_id: group
        for key, group in on_snapshot.items()
        if key.kind is kind
        and (
            group is None
            or key.group_id not in known
            or group.seen_ms >= known[key.group_id].seen_ms
        )
    }
    found = {**known, **changed}
    return {name: group for name, group in found.items() if group is not None}


def registered_addresses(brokers: Sequence[BrokerStatus]) -> dict[int, Broker]:
    """Return the registered addresses of brokers, where they are usable."""
    return {broker.broker.id: broker.broker for broker in brokers if broker.broker.port > 0}


def offset_requests(
    kept: Kept, groups: Collection[str], partition_ids: Mapping[str, Sequence[int]]
) -> dict[Broker, dict[str, Collection[TopicPartition]]]:
    """Return the groups and partitions whose offsets to request, by coordinator.

    These are all partitions of the topics that the group is known to read or to have read, since
    it may have some of their offsets in ZooKeeper; if no topic is known, those of the cluster.
    """
    requested: dict[Broker, dict[str, Collection[TopicPartition]]] = {}
    everything = [
        TopicPartition(topic, group_id) for topic, ids in partition_ids.items() for group_id in ids
    ]
    for name in groups:
        coordinator = kept.coordinator_of_offsets(name)
        if coordinator is None:
            continue
        found = [kept.zookeeper_groups.get(name), kept.coordinator_groups.get(name)]
        known = [group for group in found if group is not None]
        partitions = {tp for group in known for tp in read_partitions(group, partition_ids)}
        topics = {tp.topic for tp in partitions}
        partitions |= {
            TopicPartition(topic, number)
            for topic in topics
            for number in partition_ids.get(topic, ())
        }
        requested.setdefault(coordinator, {})[name] = sorted(partitions) or everything
    return requested
