"""Finds out when the next record of each group was written: the exact lag in time.

That a record is at an offset, and when it was written, does not change: each place of a log is
asked about once, and groups that don't move cost nothing. Of more places than can be asked about at
a time those that were asked about longest ago come first; meanwhile the growth of the log tells.
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
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.record_times import RecordTimes

_AGAIN_MS: Final = 30_000
"""How soon a log is asked again that told no time: mostly it has none."""

Placed: TypeAlias = tuple[TopicPartition, int]
"""A partition and an offset in it."""


def partitions_of(group: GroupStatus) -> Iterator[Placed]:
    """Yield where a group has something to read next that the log still has (pure)."""
    for one in group.partitions:
        offset = _next_offset(group.kind, one)
        if offset is not None:
            yield one.topic_partition, offset


def _next_offset(kind: GroupKind, partition: GroupPartition) -> int | None:
    committed = partition.effective(kind)
    if committed is None or partition.log_end is None or committed.offset >= partition.log_end:
        return None
    if committed.offset < (partition.log_start or 0):
        return None
    return committed.offset


class _LastRequest(NamedTuple):
    """When a partition was asked last, and whether it told."""

    at_ms: int
    reported: bool


class TimesMemory:
    """What is known of places in logs. Thread: any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written_ms: dict[Placed, int] = {}
        self._requested: dict[TopicPartition, _LastRequest] = {}

    def unknown(self, all_placed: Collection[Placed], now_ms: int, most: int) -> list[Placed]:
        """Return what to ask about, at most so much, those first that were waited for longest."""
        with self._lock:
            waiting = [
                one for one in all_placed if one not in self._written_ms and self._due(one, now_ms)
            ]
            waiting.sort(
                key=lambda one: self._requested.get(one[0], _LastRequest(-1, reported=True)).at_ms
            )
            return waiting[:most]

    def learn(
        self, requested: Collection[Placed], reported: Mapping[Placed, int], now_ms: int
    ) -> None:
        """Note what was requested about, and what came of it: when each record was written."""
        with self._lock:
            self._written_ms.update(reported)
            for placed in requested:
                self._requested[placed[0]] = _LastRequest(now_ms, placed in reported)

    def keep_only(self, all_placed: Collection[Placed]) -> None:
        """Forget all other places: nobody is there any more."""
        partitions = {tp for tp, _ in all_placed}
        with self._lock:
            known = self._written_ms
            self._written_ms = {one: known[one] for one in all_placed if one in known}
            self._requested = {tp: one for tp, one in self._requested.items() if tp in partitions}

    def filled(
        self, snapshot: ClusterSnapshot, keys: Collection[GroupKey] | None = None
    ) -> ClusterSnapshot:
        """Return the snapshot with what is known of these groups (None: all)."""
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
            one._replace(next_written_ms=found[one.topic_partition])
            if one.topic_partition in found
            else one
            for one in group.partitions
        ),
    )


class NextRecords:
    """Asks. Thread: one at a time, but for ``close``.

    Args:
        dialer: the way to the brokers; whoever made it stops it.
        clock: for deadlines.
        memory: keeps what was told.
        most: how many places to ask about at a time; 0: none.
    """

    def __init__(
        self, dialer: BrokerDialer, clock: Clock, memory: TimesMemory, *, most: int
    ) -> None:
        self._times = RecordTimes(dialer, clock)
        self._clock = clock
        self._memory = memory
        self._most = most

    def request(
        self,
        snapshot: ClusterSnapshot,
        leaders: Mapping[TopicPartition, Broker],
        deadline: Deadline,
        keys: Collection[GroupKey] | None = None,
    ) -> None:
        """Ask about the next records of these groups (None: all, and forget all other places).

        Args:
            snapshot: with where groups are.
            leaders: whom to ask.
            deadline: for all of it.
            keys: of groups.
        """
        if not self._most:
            return
        all_placed = {
            placed
            for key, group in snapshot.groups.items()
            if keys is None or key in keys
            for placed in partitions_of(group)
        }
        if keys is None:
            self._memory.keep_only(all_placed)
        waiting = set(self._memory.unknown(all_placed, self._clock.now_ms(), self._most))
        while waiting and not deadline.is_over:
            # Groups at different offsets of one partition are asked for one after the other.
            wanted = dict(waiting)
            reported = self._times.read(wanted, leaders, timeout_ms=max(1, deadline.left_ms))
            requested = set(wanted.items())
            self._memory.learn(
                requested,
                {(tp, wanted[tp]): at for tp, at in reported.items()},
                self._clock.now_ms(),
            )
            waiting -= requested

    def close(self, timeout_ms: int) -> None:
        """Break off what is under way. Idempotent. Thread: any."""
        self._times.close(timeout_ms)
