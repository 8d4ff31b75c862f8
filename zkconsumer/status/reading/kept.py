"""What is known of a cluster: the last good value of each part, and what fails since when. Pure.

A part that could not be read leaves what was known of it as it was: every value says itself when
it was seen. What is surely gone (a topic, a group, by the word of who lists them) goes.
"""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from zkconsumer.model import Broker, TopicPartition
from zkconsumer.status.model import (
    BrokerStatus,
    CommittedOffset,
    GroupKey,
    GroupKind,
    GroupStatus,
    PartFailure,
    TopicStatus,
)
from zkconsumer.status.reading.coordinator_responses import read_partitions
from zkconsumer.status.reading.values import (
    ClusterRead,
    CoordinatorsRead,
    GroupOffsets,
    GroupReads,
    GroupsRead,
    LogSpan,
    LogsRead,
    OffsetsRead,
)
from zkconsumer.zk.absence import NoBrokers

CLUSTER_PART: Final = "brokers and topics in ZooKeeper"
CLUSTER_PART_ALONE: Final = "brokers and topics"
CLUSTER_PARTS: Final = frozenset({CLUSTER_PART, CLUSTER_PART_ALONE})
"""What fails where not even the brokers are known: by ZooKeeper's word, or by their own."""
GROUPS_PART: Final = "groups in ZooKeeper"
LOOK_PART: Final = "groups that were looked at again"

_ABSENT_MS: Final = 600_000
"""How long groups of a broker that went away are believed to be there still."""
_LOOK_MS: Final = 10_000
"""How long the failure of a look is shown that is not followed by another."""


class Failures:
    """What fails, and since when."""

    def __init__(self) -> None:
        self._by_kind: dict[str, dict[str, PartFailure]] = {}

    def note(
        self,
        kind: str,
        reasons: Mapping[str, str],
        now_ms: int,
        groups: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Replace what was known of one kind of parts.

        Args:
            kind: names them for us alone.
            reasons: why it failed, by part; whatever part is not among them does not fail.
            now_ms: the time.
            groups: by part the group that alone it is about.
        """
        before = self._by_kind.get(kind, {})
        found = {
            part: PartFailure(
                part=part,
                reason=reason,
                since_ms=before[part].since_ms if part in before else now_ms,
                group_id=groups.get(part),
            )
            for part, reason in reasons.items()
        }
        self._by_kind = {**self._by_kind, kind: found}

    def all(self) -> tuple[PartFailure, ...]:
        """Return all of them, those first that have lasted longest."""
        found = [one for of_kind in self._by_kind.values() for one in of_kind.values()]
        return tuple(sorted(found, key=lambda one: (one.since_ms, one.part)))


class Kept:
    """The last good values. What is here is replaced, never changed, but for ``keepers``.

    Args:
        cluster_part: what fails where brokers and topics can't be read.

    Attributes:
        brokers: that are registered.
        no_brokers: why none is.
        no_zookeeper: whether the cluster has no ZooKeeper; None where nobody told.
        topics: all of them; None while they were never read.
        zookeeper_groups: by id, their states aside.
        coordinator_groups: the same.
        offsets: what each group has committed to Kafka.
        keepers: who keeps those offsets.
        spans: of logs.
        log_problems: why the span of a partition was not read the last time.
        failures: what fails.
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
        self.keepers: dict[str, Broker] = {}
        self.spans: dict[TopicPartition, LogSpan] = {}
        self.log_problems: dict[TopicPartition, str] = {}
        self.failures = Failures()
        self._unmoved: dict[str, tuple[int, int]] = {}
        self._last_read_ms = 0

    def take_cluster(self, read: ClusterRead, now_ms: int) -> None:
        """Brokers and topics were read; or why there are no brokers."""
        self.brokers, self.topics = read.brokers, read.topics
        self.no_brokers, self.no_zookeeper = read.no_brokers, read.no_zookeeper
        there = {one.topic_partition for topic in read.topics for one in topic.partitions}
        # Who makes a topic again under the old name gets a new log: what is older is not its.
        self.spans = {tp: span for tp, span in self.spans.items() if tp in there}
        self.log_problems = {tp: why for tp, why in self.log_problems.items() if tp in there}
        self.failures.note(self._cluster_part, {}, now_ms)

    def lose_cluster(self, reason: str, now_ms: int) -> None:
        """They could not be read."""
        self.failures.note(self._cluster_part, {self._cluster_part: reason}, now_ms)

    def take_groups(self, read: GroupsRead, now_ms: int) -> None:
        """Groups of ZooKeeper were read, or some of them."""
        known = {**self.zookeeper_groups, **read.groups}
        self.zookeeper_groups = {name: one for name, one in known.items() if name in read.listed}
        self.failures.note(
            GROUPS_PART, {} if read.failure is None else {GROUPS_PART: read.failure}, now_ms
        )

    def lose_groups(self, reason: str, now_ms: int) -> None:
        """They could not be read."""
        self.failures.note(GROUPS_PART, {GROUPS_PART: reason}, now_ms)

    def take_logs(self, read: LogsRead, now_ms: int) -> None:
        """Leaders were asked for the ends of their logs."""
        known = self.spans
        self.spans = {
            **known,
            **{
                tp: span
                for tp, span in read.spans.items()
                if tp not in known or known[tp].at_ms <= span.at_ms
            },
        }
        self.log_problems = dict(read.problems)
        self.failures.note(
            "logs",
            {f"log ends of broker {one}": reason for one, reason in read.failures.items()},
            now_ms,
        )

    def take_coordinators(self, read: CoordinatorsRead, now_ms: int) -> None:
        """Brokers were asked for their groups.

        Those of one that did not answer stay, and for a while those of one that is not even
        registered any more: it may just be restarting; if not, others will coordinate them.
        """
        failures = dict(read.failures)
        silent: dict[str, GroupStatus] = {}
        for name, group in self.coordinator_groups.items():
            broker = group.coordinator
            if broker is None or broker.id in read.responding or name in read.groups:
                continue
            if broker.id not in read.failures:
                if not 0 <= now_ms - group.seen_ms < _ABSENT_MS:
                    continue
                failures[broker.id] = f"{broker} is not registered"
            silent[name] = group
        self.coordinator_groups = {**silent, **read.groups}
        self.failures.note(
            "coordinators",
            {f"groups of broker {one}": reason for one, reason in failures.items()},
            now_ms,
        )

    def take_offsets(self, read: OffsetsRead, now_ms: int) -> None:
        """Coordinators were asked for offsets; ``now_ms`` is when that began."""
        groups = self.zookeeper_groups.keys() | self.coordinator_groups.keys()
        known = {**self.offsets, **_newer_offsets(read.offsets, self.offsets, now_ms)}
        self.offsets = {name: one for name, one in known.items() if name in groups}
        self._unmoved = {name: one for name, one in self._unmoved.items() if name in groups}
        self._note_unmoved(read.offsets, now_ms)
        self.keepers = {
            name: one
            for name, one in self.keepers.items()
            if name in groups and name not in read.moved
        }
        parts = {f"offsets of group {name} in Kafka": name for name in read.failures}
        reasons = {part: read.failures[name] for part, name in parts.items()}
        self.failures.note("offsets", reasons, now_ms, parts)

    def take_look(self, read: GroupReads, now_ms: int) -> None:
        """Some groups were read again."""
        groups = (self.zookeeper_groups, self.coordinator_groups)
        self.zookeeper_groups, self.coordinator_groups = (
            _covered(known, read.groups, kind)
            for known, kind in zip(groups, GroupKind, strict=True)
        )
        self.offsets = {**self.offsets, **read.offsets}
        self._note_unmoved(read.offsets, now_ms)
        self.spans = {
            **self.spans,
            **{tp: one for tp, one in read.logs.items() if isinstance(one, LogSpan)},
        }
        problems = {tp: why for tp, why in self.log_problems.items() if tp not in read.logs}
        problems |= {tp: one for tp, one in read.logs.items() if isinstance(one, str)}
        self.log_problems = problems
        parts = {f"group {name}, looked at again": name for name in read.failures}
        reasons = {part: read.failures[name] for part, name in parts.items()}
        self.failures.note(LOOK_PART, reasons, now_ms, parts)
        self._last_read_ms = now_ms

    def unmoved_since_ms(self, name: str) -> int | None:
        """Since when a group's offsets in Kafka were seen as they are, while it has no members."""
        found = self._unmoved.get(name)
        return None if found is None else found[1]

    def _note_unmoved(self, read: Mapping[str, GroupOffsets], now_ms: int) -> None:
        for name, offsets in read.items():
            found = [self.zookeeper_groups.get(name), self.coordinator_groups.get(name)]
            if not offsets or any(group.members for group in found if group is not None):
                self._unmoved.pop(name, None)
                continue
            places = (
                (tp, one.offset) for tp, one in offsets.items() if isinstance(one, CommittedOffset)
            )
            mark = hash(frozenset(places))
            known = self._unmoved.get(name)
            if known is None or known[0] != mark:
                self._unmoved[name] = (mark, now_ms)

    def forget_look(self, now_ms: int) -> None:
        """What a look failed at fails no more when nobody looks any more."""
        if not 0 <= now_ms - self._last_read_ms < _LOOK_MS:
            self.failures.note(LOOK_PART, {}, now_ms)

    def group(self, key: GroupKey) -> GroupStatus | None:
        """Return what is known of a group."""
        kinds = {
            GroupKind.ZOOKEEPER: self.zookeeper_groups,
            GroupKind.COORDINATOR: self.coordinator_groups,
        }
        return kinds[key.kind].get(key.group_id)

    def partition_ids(self) -> dict[str, tuple[int, ...]] | None:
        """The partition numbers of every topic, as ZooKeeper lists them; None: never read."""
        if self.topics is None:
            return None
        return {
            topic.name: tuple(one.topic_partition.partition for one in topic.partitions)
            for topic in self.topics
        }

    def leaders(self, addresses: Mapping[int, Broker]) -> dict[TopicPartition, Broker]:
        """Return who leads each partition that has a leader whose address is known."""
        return {
            one.topic_partition: addresses[one.leader]
            for topic in self.topics or ()
            for one in topic.partitions
            if one.leader is not None and one.leader in addresses
        }

    def unasked(self, addresses: Mapping[int, Broker]) -> dict[TopicPartition, str]:
        """Return why the leader of a partition that has one can't be asked, of the others."""
        problems = {one.broker.id: one.problem for one in self.brokers}
        return {
            one.topic_partition: (
                f"its leader, broker {one.leader}, can't be reached: {problems[one.leader]}"
                if one.leader in problems
                else f"its leader, broker {one.leader}, is not registered"
            )
            for topic in self.topics or ()
            for one in topic.partitions
            if one.leader is not None and one.leader not in addresses
        }


def _newer_offsets(
    read: Mapping[str, GroupOffsets], known: Mapping[str, GroupOffsets], began_ms: int
) -> dict[str, GroupOffsets]:
    """Return what was read, but for groups whose offsets were looked at since that began.

    An offset that seemed to go back would be taken for a rewind.
    """
    return {
        name: known[name] if _seen_ms(known.get(name, {})) > began_ms else one
        for name, one in read.items()
    }


def _seen_ms(offsets: GroupOffsets) -> int:
    return max(
        (one.seen_ms for one in offsets.values() if isinstance(one, CommittedOffset)), default=0
    )


def _covered(
    known: Mapping[str, GroupStatus],
    on_snapshot: Mapping[GroupKey, GroupStatus | None],
    kind: GroupKind,
) -> dict[str, GroupStatus]:
    changed = {key.group_id: group for key, group in on_snapshot.items() if key.kind is kind}
    found = {**known, **changed}
    return {name: group for name, group in found.items() if group is not None}


def registered_addresses(brokers: Sequence[BrokerStatus]) -> dict[int, Broker]:
    """The addresses that brokers registered, of those that did so in a way that can be used."""
    return {one.broker.id: one.broker for one in brokers if one.broker.port > 0}


def offset_requests(
    kept: Kept, groups: Collection[str], partition_ids: Mapping[str, Sequence[int]]
) -> dict[Broker, dict[str, Collection[TopicPartition]]]:
    """Whom to ask for which group's offsets, and of which partitions where that has to be said.

    That is about all partitions of the topics that it is known to read or to have read, since it
    may keep the offsets of some in ZooKeeper; or about all that there are, where none is known.
    """
    requested: dict[Broker, dict[str, Collection[TopicPartition]]] = {}
    everything = [TopicPartition(topic, one) for topic, ids in partition_ids.items() for one in ids]
    for name in groups:
        found = [kept.zookeeper_groups.get(name), kept.coordinator_groups.get(name)]
        known = [group for group in found if group is not None]
        coordinator = next((group.coordinator for group in known if group.coordinator), None)
        metadata = kept.keepers.get(name) or coordinator
        if metadata is None:
            continue
        partitions = {tp for group in known for tp in read_partitions(group, partition_ids)}
        topics = {tp.topic for tp in partitions}
        partitions |= {
            TopicPartition(topic, one) for topic in topics for one in partition_ids.get(topic, ())
        }
        requested.setdefault(metadata, {})[name] = sorted(partitions) or everything
    return requested
