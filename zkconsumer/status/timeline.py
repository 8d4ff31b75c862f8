"""The rebalances of a group, inferred from successive snapshots. Pure.

No event announces a rebalance; snapshots show that members came or went, or that owners changed. A
rebalance begins with the first snapshot that shows any of this, and ends with the first one that
shows the group at rest again. So its times are only as exact as snapshots are frequent, and changes
that are undone between two snapshots go unnoticed.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from zkconsumer.model import TopicPartition
from zkconsumer.status.causes import ObservedGroup, Reason, reasons_between
from zkconsumer.status.model import (
    ClusterSnapshot,
    GroupKey,
    GroupPartition,
    GroupState,
    GroupStatus,
)
from zkconsumer.status.set_back import was_set_back
from zkconsumer.status.verify import PartitionIds

REBALANCES_KEPT = 100
LINGER_MS = 30_000


@dataclass(frozen=True, slots=True)
class Moved:
    """A partition that changed owners, with the old and the new one; None: no owner."""

    topic_partition: TopicPartition
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalance:
    """One rebalance.

    Attributes:
        key: the group.
        began_ms: when it was first seen; if it was in progress at the first snapshot, when the last
            member or owner appeared.
        not_before_ms: the time of the last snapshot before it; None if it was in progress at the
            first snapshot.
        ended_ms: when the group was first seen at rest again; None while it is in progress.
        reasons: the observed reasons, in order.
        moved: the partitions whose owners differ between its beginning and its end, ascending.
        reclaimed: the number of owner nodes that their former owners created again: the original
            releases all partitions in every rebalance.
    """

    key: GroupKey
    began_ms: int
    not_before_ms: int | None
    ended_ms: int | None
    reasons: tuple[Reason, ...] = ()
    moved: tuple[Moved, ...] = ()
    reclaimed: int = 0

    def lasted_ms(self, now_ms: int) -> int:
        """Return its observed duration so far."""
        return (now_ms if self.ended_ms is None else self.ended_ms) - self.began_ms


@dataclass(frozen=True, slots=True)
class _Difference:
    reasons: tuple[Reason, ...] = ()
    moved: Mapping[TopicPartition, Moved] = field(default_factory=dict)
    reclaimed: int = 0

    def __bool__(self) -> bool:
        return bool(self.reasons or self.moved or self.reclaimed)


class GroupTimeline:
    """The rebalances of one group.

    Args:
        key: the group.
        limit: the maximum number of rebalances to keep.
        linger_ms: changes of owners without a reason within this time after a rebalance count as
            part of it: a member that has just joined owns nothing yet, and the group seems at rest.
    """

    def __init__(
        self, key: GroupKey, *, limit: int = REBALANCES_KEPT, linger_ms: int = LINGER_MS
    ) -> None:
        self._key = key
        self._linger_ms = linger_ms
        self._rebalances: deque[Rebalance] = deque(maxlen=limit)
        self._last: ObservedGroup | None = None

    @property
    def rebalances(self) -> tuple[Rebalance, ...]:
        """The rebalances, the oldest first; the last may be in progress."""
        return tuple(self._rebalances)

    def receive(
        self, group: GroupStatus, partition_ids: PartitionIds, skew_ms: int = 0
    ) -> Rebalance | None:
        """Record the next status of the group.

        A status that is not newer than the last is dropped, and so is one that is not complete:
        absence proves nothing then.

        Args:
            group: its status.
            partition_ids: of all topics of the cluster.
            skew_ms: how far ZooKeeper's clock is ahead of the local one.

        Returns:
            The rebalance that has begun, continued or ended by this; None without a change.
        """
        before, at_ms = self._last, group.seen_ms
        if not group.is_complete or (before is not None and at_ms <= before.group.seen_ms):
            return None
        self._last = after = ObservedGroup(group, partition_ids)
        found = _Difference()
        if before is not None:
            found = _difference(before, after)
        running = self._continued(found, at_ms)
        if running is None:
            if not found and group.state is not GroupState.REBALANCING:
                return None
            running = Rebalance(
                key=self._key,
                began_ms=at_ms if before else _last_change_ms(group, at_ms, skew_ms),
                not_before_ms=None if before is None else before.group.seen_ms,
                ended_ms=None,
            )
        else:
            self._rebalances.pop()
        grown = _grown(running, found, _ended_ms(running, group))
        self._rebalances.append(grown)
        return grown if grown != running else None

    def _continued(self, found: _Difference, at_ms: int) -> Rebalance | None:
        """Return the rebalance that this difference continues, or None."""
        last = self._rebalances[-1] if self._rebalances else None
        if last is None or last.ended_ms is None:
            return last
        soon = at_ms - last.ended_ms <= self._linger_ms
        if found and not found.reasons and soon:
            return replace(last, ended_ms=None)
        return None


class Timelines:
    """The rebalances of all groups of a cluster."""

    def __init__(self) -> None:
        self._timelines: dict[GroupKey, GroupTimeline] = {}
        self._clock_ahead_ms = 0

    def record(self, snapshot: ClusterSnapshot) -> tuple[Rebalance, ...]:
        """Record a snapshot; groups that it lacks are dropped.

        If the clock was set back since the last one, all timelines start over with it.

        Returns:
            The rebalances that have begun, continued or ended by it.
        """
        partition_ids = snapshot.partition_ids()
        if was_set_back(self._clock_ahead_ms, snapshot.clock_ahead_ms):
            self._timelines = {}
        self._clock_ahead_ms = snapshot.clock_ahead_ms
        kept = {key: self._timelines.get(key) or GroupTimeline(key) for key in snapshot.groups}
        self._timelines = kept
        events = (
            kept[key].receive(group, partition_ids, snapshot.skew_ms)
            for key, group in snapshot.groups.items()
        )
        return tuple(rebalance for rebalance in events if rebalance is not None)

    def rebalances(self, key: GroupKey) -> tuple[Rebalance, ...]:
        """Return the rebalances of a group, the oldest first; none if there is no such group."""
        timeline = self._timelines.get(key)
        return () if timeline is None else timeline.rebalances


def _last_change_ms(group: GroupStatus, at_ms: int, skew_ms: int) -> int:
    """Return when the last member or owner appeared, by the local clock; else ``at_ms``."""
    changed_ms = group.last_change_ms
    return at_ms if changed_ms is None else min(at_ms, changed_ms - skew_ms)


def _ended_ms(running: Rebalance, group: GroupStatus) -> int | None:
    match group.state:
        case GroupState.REBALANCING:
            return None
        case GroupState.UNKNOWN:
            # A group of unknown state does not end an earlier rebalance; a new one ends at once.
            return group.seen_ms if running.began_ms == group.seen_ms else None
        case _:
            return group.seen_ms


def _grown(running: Rebalance, found: _Difference, ended_ms: int | None) -> Rebalance:
    reasons = (
        *running.reasons,
        *(reason for reason in found.reasons if reason not in running.reasons),
    )
    moved = {move.topic_partition: move for move in running.moved}
    for tp, move in found.moved.items():
        first = moved.get(tp)
        moved[tp] = move if first is None else Moved(tp, first.before, move.after)
    if ended_ms is not None:
        moved = {tp: move for tp, move in moved.items() if move.before != move.after}
    return replace(
        running,
        ended_ms=ended_ms,
        reasons=reasons,
        moved=tuple(moved[tp] for tp in sorted(moved)),
        reclaimed=running.reclaimed + found.reclaimed,
    )


def _difference(before: ObservedGroup, after: ObservedGroup) -> _Difference:
    """Return the changes that concern assignment."""
    moved: dict[TopicPartition, Moved] = {}
    reclaimed = 0
    was, now = before.group.by_partition, after.group.by_partition
    for tp in was.keys() | now.keys():
        old, new = was.get(tp) or GroupPartition(tp), now.get(tp) or GroupPartition(tp)
        if old.owner != new.owner:
            moved[tp] = Moved(tp, old.owner, new.owner)
        elif None not in {old.owner_since_ms, new.owner_since_ms}:
            reclaimed += old.owner_since_ms != new.owner_since_ms
    return _Difference(reasons_between(before, after), moved, reclaimed)
