"""Values derived from a snapshot and its history, computed once for each state."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, wraps
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar

from zkconsumer.status.burrow import BurrowGroupStatus, evaluate_group
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import Diagnosis
from zkconsumer.status.doctor.examine import examine_cluster_and_ids, examine_group
from zkconsumer.status.doctor.group_context import GroupContext
from zkconsumer.status.doctor.sightings import SightingsByGroup
from zkconsumer.status.grid import Grid, grid_of
from zkconsumer.status.lag import GroupLag, group_lag
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupStatus, TopicStatus
from zkconsumer.status.rates import GroupRates, RateHistory
from zkconsumer.status.series import History
from zkconsumer.status.timeline import Rebalance, Timelines
from zkconsumer.status.verify import PartitionIds, Verification, verify

K = TypeVar("K", GroupKey, GroupKey | None)
T = TypeVar("T")

_STALE_MS: Final = 60_000

_Place: TypeAlias = tuple[str, GroupKey | None]
"""The kind of a derived value, and its group."""


class Memory:
    """Keeps the series of log ends, commits and rates, and the rebalances, since the start.

    Thread: any; guarded by its lock.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.history = History()
        self.rates = RateHistory()
        self.timelines = Timelines()

    def record(self, snapshot: ClusterSnapshot) -> tuple[Rebalance, ...]:
        """Record a new snapshot; return the rebalances that have begun, continued or ended."""
        with self.lock:
            self.history.record(snapshot)
            self.rates.record(snapshot)
            return self.timelines.record(snapshot)


def _once(compute: "Callable[[Judgements, K], T]") -> "Callable[[Judgements, K], T]":
    """Return the method with each of its values computed on first use."""
    kind = compute.__name__

    @wraps(compute)
    def method(self: "Judgements", key: K) -> T:
        found = self._found.get((kind, key))
        if found is None:
            with self._lock:
                found = self._found.get((kind, key))
                if found is None:
                    found = self._found[kind, key] = compute(self, key)
        value: T = found
        return value

    return method


class Judgements:
    """Computes values from a snapshot, by group, each on first use. Thread: any.

    Methods with a group raise KeyError if the snapshot has no such group.

    Args:
        snapshot: the cluster.
        before: an earlier snapshot, if there is one.
        memory: the series, which already include the snapshot.
        long_before: a much earlier snapshot, if there is one, to detect offsets that do not move.
        sightings: the offsets seen beyond the ends of logs, in this and earlier snapshots.
    """

    def __init__(
        self,
        snapshot: ClusterSnapshot,
        before: ClusterSnapshot | None,
        memory: Memory,
        *,
        long_before: ClusterSnapshot | None = None,
        sightings: SightingsByGroup = MappingProxyType({}),
    ) -> None:
        self._snapshot = snapshot
        self._around = Circumstances(earlier=before, long_before=long_before, sightings=sightings)
        self._memory = memory
        self._lock = threading.RLock()
        self._found: dict[_Place, Any] = {}

    def adopt(self, earlier: "Judgements") -> None:
        """Copy the lag and status of groups unchanged since ``earlier``; for partial reads."""
        known, found = earlier.listed()
        same = {key for key, group in self._snapshot.groups.items() if known.get(key) == group}
        self._found |= {place: response for place, response in found.items() if place[1] in same}

    def listed(self) -> "tuple[Mapping[GroupKey, GroupStatus], dict[_Place, Any]]":
        """Return the groups, and those of their lags and statuses that are computed already."""
        with self._lock:
            found = {at: value for at, value in self._found.items() if at[0] in {"lag", "outcome"}}
        return self._snapshot.groups, found

    def prepare(self) -> None:
        """Compute the values of every group that lists show."""
        for key in self._snapshot.groups:
            self.lag(key)
            self.outcome(key)
            self.rates(key)

    @cached_property
    def topics(self) -> Mapping[str, TopicStatus]:
        """The topics by name."""
        return {topic.name: topic for topic in self._snapshot.topics}

    @cached_property
    def readers(self) -> Mapping[str, tuple[GroupKey, ...]]:
        """The groups that read, own or have offsets of each topic, sorted."""
        found: dict[str, set[GroupKey]] = {}
        for key, group in self._snapshot.groups.items():
            topics = {partition.topic_partition.topic for partition in group.partitions}
            for topic in topics | group.topics_read:
                found.setdefault(topic, set()).add(key)
        return {topic: tuple(sorted(keys)) for topic, keys in found.items()}

    @cached_property
    def lacks_parts(self) -> bool:
        """Whether some part, or some log, could not be read."""
        return bool(self._snapshot.failures) or any(
            partition.problem or partition.leader is None
            for topic in self._snapshot.topics
            for partition in topic.partitions
        )

    @_once
    def age_ms(self, key: GroupKey) -> int:
        """Return the age of the oldest value that was read of a group, in ms.

        If no read failed, this is the age of its members, without comparing all values: a large
        cluster has half a million.
        """
        group = self._snapshot.groups[key]
        oldest_ms = group.oldest_ms if self.lacks_parts else group.seen_ms
        return max(0, self._snapshot.taken_ms - oldest_ms)

    @_once
    def lag(self, key: GroupKey) -> GroupLag:
        """Return the group's lag, in records and time; computed before the state is published."""
        group = self._snapshot.groups[key]
        with self._memory.lock:
            return group_lag(group, self._memory.history, self._snapshot.taken_ms)

    @_once
    def outcome(self, key: GroupKey) -> BurrowGroupStatus:
        """Return Burrow's status of the group; computed before the state is published."""
        group = self._snapshot.groups[key]
        with self._memory.lock:
            return evaluate_group(group, self._memory.history, self._snapshot.taken_ms)

    @_once
    def rates(self, key: GroupKey | None) -> GroupRates:
        """Return the rates of reading and writing of a group, or (None) of the whole cluster."""
        groups = self._snapshot.groups
        with self._memory.lock:
            if key is not None:
                return self._memory.rates.rates(groups[key].key)
            found = {key: self._memory.rates.rates(key) for key in groups}
            return self._memory.rates.cluster(found)

    @_once
    def verification(self, key: GroupKey) -> Verification:
        """Return whether everything that the group should read is owned correctly."""
        group = self._snapshot.groups[key]
        return verify(group, self._partition_ids, self._snapshot.live_sessions)

    @_once
    def grid(self, key: GroupKey) -> Grid:
        """Return the group's grid: a row for each partition, a column for each owner."""
        return grid_of(self._snapshot.groups[key], self.verification(key))

    @_once
    def findings(self, key: GroupKey | None) -> tuple[Diagnosis, ...]:
        """Return the diagnoses of a group, or (None) of the cluster itself, the worst first.

        An id that two groups share is reported for both and the cluster; ``each_once`` joins these.
        """
        if key is None:
            found = examine_cluster_and_ids(self._snapshot, self._around)
        else:
            group, around = self._snapshot.groups[key], self._around_of(key)
            found = examine_group(GroupContext(group, self._snapshot, around, self._partition_ids))
        return tuple(sorted(found, key=lambda diagnosis: -diagnosis.severity))

    @_once
    def rebalances(self, key: GroupKey) -> tuple[Rebalance, ...]:
        """Return the rebalances since watching began, the oldest first."""
        with self._memory.lock:
            return self._memory.timelines.rebalances(self._snapshot.groups[key].key)

    def _around_of(self, key: GroupKey) -> Circumstances:
        """Return a group's circumstances, as of its last read if it could not be read since.

        So its findings from then remain, and the time without reads does not count as silence.
        """
        before, now_ms = self._around.long_before, self._snapshot.taken_ms
        then = None if before is None else before.groups.get(key)
        read_ms = self._snapshot.groups[key].read_ms
        if before is None or then is None or now_ms - read_ms <= _STALE_MS:
            return self._around
        watched_ms = max(0, read_ms - then.read_ms)
        return replace(self._around, long_before=replace(before, taken_ms=now_ms - watched_ms))

    @cached_property
    def _partition_ids(self) -> PartitionIds:
        return self._snapshot.partition_ids()
