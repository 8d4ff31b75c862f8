"""Reads the timestamps of the groups' next records: the exact lag in time.

The timestamp of the record at an offset does not change: each is read once, and groups that don't
move cost nothing. If there are more than can be read at a time, the partitions that were read
longest ago come first; for the others the growth of the log gives an estimate.
"""

import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from zkconsumer.clock import Clock
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.status.model import (
    ClusterSnapshot,
    GroupKey,
    GroupKind,
    GroupPartition,
    GroupStatus,
)
from zkconsumer.status.reading.broker_round import BrokerRound
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.record_times import read_record_times

_AGAIN_MS: Final = 30_000
"""The pause before a log that returned no timestamp is queried again: most of these have none."""

Placed: TypeAlias = tuple[TopicPartition, int]
"""A partition and an offset in it."""


def partitions_of(group: GroupStatus) -> Iterator[Placed]:
    """Yield the next offsets of a group that the log still has (pure)."""
    for partition in group.partitions:
        offset = _next_offset(group.kind, partition)
        if offset is not None:
            yield partition.topic_partition, offset


def _next_offset(kind: GroupKind, partition: GroupPartition) -> int | None:
    committed = partition.effective(kind)
    if committed is None or partition.log_end is None or committed.offset >= partition.log_end:
        return None
    if committed.offset < (partition.log_start or 0):
        return None
    return committed.offset


class _LastRequest(NamedTuple):
    """When a partition was last queried, and whether a timestamp was returned."""

    at_ms: int
    reported: bool


class TimesMemory:
    """A cache of timestamps by offset. Thread: any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written_ms: dict[Placed, int] = {}
        self._requested: dict[TopicPartition, _LastRequest] = {}

    def unknown(self, all_placed: Collection[Placed], now_ms: int, most: int) -> list[Placed]:
        """Return up to ``most`` offsets to query; partitions that waited longest come first."""
        with self._lock:
            waiting = [
                placed
                for placed in all_placed
                if placed not in self._written_ms and self._due(placed, now_ms)
            ]
            waiting.sort(
                key=lambda placed: (
                    self._requested.get(placed[0], _LastRequest(-1, reported=True)).at_ms
                )
            )
            return waiting[:most]

    def learn(
        self, requested: Collection[Placed], reported: Mapping[Placed, int], now_ms: int
    ) -> None:
        """Record the requested offsets, and the timestamps that were found."""
        with self._lock:
            self._written_ms.update(reported)
            for placed in requested:
                self._requested[placed[0]] = _LastRequest(now_ms, placed in reported)

    def keep_only(self, all_placed: Collection[Placed]) -> None:
        """Drop all other offsets, since no group is at them any more."""
        partitions = {tp for tp, _ in all_placed}
        with self._lock:
            known = self._written_ms
            self._written_ms = {placed: known[placed] for placed in all_placed if placed in known}
            self._requested = {
                tp: request for tp, request in self._requested.items() if tp in partitions
            }

    def filled(
        self, snapshot: ClusterSnapshot, keys: Collection[GroupKey] | None = None
    ) -> ClusterSnapshot:
        """Return the snapshot with the known timestamps of these groups (None: all)."""
        with self._lock:
            known = self._written_ms
            if not known:
                return snapshot
            changed = {
                key: _with_times(group, known)
                for key, group in snapshot.groups.items()
                if keys is None or key in keys
            }
        return replace(snapshot, groups={**snapshot.groups, **changed})

    def _due(self, placed: Placed, now_ms: int) -> bool:
        requested = self._requested.get(placed[0])
        return (
            requested is None or requested.reported or not 0 <= now_ms - requested.at_ms < _AGAIN_MS
        )


def _with_times(group: GroupStatus, known: Mapping[Placed, int]) -> GroupStatus:
    found = {tp: at_ms for tp, offset in partitions_of(group) if (at_ms := known.get((tp, offset)))}
    if not found:
        return group
    return replace(
        group,
        partitions=tuple(
            partition._replace(next_written_ms=found[partition.topic_partition])
            if partition.topic_partition in found
            else partition
            for partition in group.partitions
        ),
    )


class NextRecords:
    """Reads timestamps of next records. Thread: one for those of all groups, one for some.

    Args:
        dialer: connects to the brokers; the caller stops it.
        clock: for deadlines.
        limit_ms: the time limit of one call of ``request``.
        most: the maximum number of offsets to read in one call; 0: none.

    Attributes:
        memory: caches the results.
    """

    def __init__(self, dialer: BrokerDialer, clock: Clock, limit_ms: int, *, most: int) -> None:
        self._of_all, self._of_some = BrokerRound(dialer, clock), BrokerRound(dialer, clock)
        self._clock = clock
        self._limit_ms = limit_ms
        self._most = most
        self.memory = TimesMemory()

    def request(
        self,
        snapshot: ClusterSnapshot,
        leaders: Mapping[TopicPartition, Broker],
        keys: Collection[GroupKey] | None = None,
    ) -> None:
        """Read the timestamps of these groups' next records (None: all, and drop other offsets)."""
        if not self._most:
            return
        deadline = Deadline(self._clock, self._limit_ms)
        all_placed = {
            placed
            for key, group in snapshot.groups.items()
            if keys is None or key in keys
            for placed in partitions_of(group)
        }
        if keys is None:
            self.memory.keep_only(all_placed)
        brokers = self._of_all if keys is None else self._of_some
        waiting = set(self.memory.unknown(all_placed, self._clock.now_ms(), self._most))
        while waiting and not deadline.is_over:
            # Different offsets of one partition are requested one after the other.
            wanted = dict(waiting)
            reported = read_record_times(brokers, wanted, leaders, deadline)
            requested = set(wanted.items())
            self.memory.learn(
                requested,
                {(tp, wanted[tp]): at for tp, at in reported.items()},
                self._clock.now_ms(),
            )
            waiting -= requested

    def close(self, timeout_ms: int) -> None:
        """Interrupt running queries. Idempotent. Thread: any."""
        self._of_all.close(timeout_ms)
        self._of_some.close(timeout_ms)
