"""Builds states from successive snapshots, and notifies subscribers."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, TypeAlias

from zkconsumer.clock import Clock
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.sightings import Sightings
from zkconsumer.status.lag import records_behind
from zkconsumer.status.model import BrokersAlone, ClusterSnapshot, GroupKey, GroupPartition
from zkconsumer.status.reading.assembly import assemble
from zkconsumer.status.reading.kept import CLUSTER_PARTS, Kept
from zkconsumer.status.set_back import was_set_back
from zkconsumer.status.timeline import Rebalance
from zkconsumer.web.judgements import Judgements, Memory
from zkconsumer.web.state import ClusterState

EARLIER_MS: Final = 30_000
"""The minimum age of the snapshot to compare with, to tell faults from rebalances."""
LONG_BEFORE_MS: Final = Circumstances().silence_ms
"""The same, to detect offsets that do not move: a working group has committed since then."""

_Merged: TypeAlias = Callable[
    [ClusterSnapshot, ClusterSnapshot, ClusterSnapshot | None], ClusterSnapshot
]

OnNews = Callable[[ClusterState, tuple[Rebalance, ...]], None]
"""Called with each state, and the rebalances that it shows as begun, continued or ended."""


class Publisher:
    """Builds and keeps the latest state, and notifies subscribers. Thread: any.

    Args:
        through: see ``WatchSettings``.
        interval_ms: the interval that states show.
        on_change: called with each state, in order, on the publishing thread; must not block.
        clock: for ages.
    """

    def __init__(
        self,
        through: str | BrokersAlone,
        interval_ms: int,
        on_change: OnNews,
        clock: Clock,
    ) -> None:
        self._clock = clock
        self._on_change = on_change
        self._memory = Memory()
        self._earlier = _Earlier(EARLIER_MS)
        self._long_before = _Earlier(LONG_BEFORE_MS, unfinished, unread_kept)
        self._sightings = Sightings()
        # Held while a state is built: each is based on the previous one.
        self._making = threading.Lock()
        self._lock = threading.Lock()
        self._listeners: list[Callable[[ClusterState], None]] = []
        self._current = self._nothing_yet(through, interval_ms)

    @property
    def current(self) -> ClusterState:
        """The latest state."""
        return self._current

    def publish(self, snapshot: ClusterSnapshot, *, read_ms: int) -> None:
        """Publish the result of a full read, which took ``read_ms``."""
        with self._making:
            self._make(snapshot, read_ms, None)

    def publish_groups(self, snapshot: ClusterSnapshot, keys: Iterable[GroupKey]) -> None:
        """Publish a partial read, unless a full read has overtaken it."""
        with self._making:
            if snapshot.monotonic_ms >= self._current.snapshot.monotonic_ms:
                self._make(snapshot, None, frozenset(keys))

    def publish_problem(self, problem: str) -> None:
        """Publish why nothing can be read at all."""
        with self._making:
            previous = self._current
            state = replace(
                previous,
                number=previous.number + 1,
                problem=problem,
                covered=None,
            )
            self._notify(state, ())

    def subscribe(self, listener: Callable[[ClusterState], None]) -> Callable[[], None]:
        """See ``StateSource``."""
        with self._lock:
            self._listeners = [*self._listeners, listener]

        def end() -> None:
            with self._lock:
                self._listeners = [notify for notify in self._listeners if notify is not listener]

        return end

    def _make(
        self,
        snapshot: ClusterSnapshot,
        read_ms: int | None,
        covered: frozenset[GroupKey] | None,
    ) -> None:
        previous = self._current
        failed = [failure for failure in snapshot.failures if failure.part in CLUSTER_PARTS]
        before, long_before = self._earlier.take(snapshot), self._long_before.take(snapshot)
        rebalances = self._memory.record(snapshot)
        judgements = Judgements(
            snapshot,
            before,
            self._memory,
            long_before=long_before,
            sightings=self._sightings.record(snapshot),
        )
        if covered is not None:
            judgements.adopt(previous.judgements)
        judgements.prepare()
        state = replace(
            previous,
            number=previous.number + 1,
            snapshot=snapshot,
            read_duration_ms=previous.read_duration_ms if read_ms is None else read_ms,
            problem=failed[0].reason if failed else None,
            ready=previous.ready or not failed,
            covered=covered,
            judgements=judgements,
        )
        self._notify(state, rebalances)

    def _notify(self, state: ClusterState, rebalances: tuple[Rebalance, ...]) -> None:
        with self._lock:
            self._current = state
            listeners = self._listeners
        self._on_change(state, rebalances)
        for listener in listeners:
            listener(state)

    def _nothing_yet(self, through: str | BrokersAlone, interval_ms: int) -> ClusterState:
        now_ms = self._clock.wall_ms()
        ahead_ms = now_ms - self._clock.now_ms()
        snapshot = assemble(Kept(), now_ms=now_ms, through=through, clock_ahead_ms=ahead_ms)
        return ClusterState(
            number=0,
            snapshot=snapshot,
            started_ms=now_ms,
            read_duration_ms=0,
            interval_ms=interval_ms,
            problem="the cluster is being read for the first time",
            ready=False,
            judgements=Judgements(snapshot, None, self._memory),
        )


def unfinished(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Return a snapshot without topics, and with only those partitions that may have a lag."""
    groups = {
        key: replace(
            group,
            partitions=tuple(
                partition for partition in group.partitions if _matters(key, partition)
            ),
        )
        for key, group in snapshot.groups.items()
    }
    return replace(snapshot, topics=(), groups=groups)


def unread_kept(
    snapshot: ClusterSnapshot, younger: ClusterSnapshot, old: ClusterSnapshot | None
) -> ClusterSnapshot:
    """Return the younger snapshot; groups hardly read since then are as in the old one.

    So findings from a comparison with the old one remain until such a group is read again.
    """
    if old is None:
        return younger
    kept = {
        key: old.groups[key]
        for key, then in younger.groups.items()
        if key in old.groups
        and key in snapshot.groups
        and snapshot.groups[key].read_ms - then.read_ms < LONG_BEFORE_MS
    }
    return replace(younger, groups={**younger.groups, **kept}) if kept else younger


def _matters(key: GroupKey, partition: GroupPartition) -> bool:
    if len(partition.committed) > 1:
        return True  # it may advance in either storage
    return partition.owner is not None and records_behind(key.kind, partition) != 0


class _Earlier:
    """Keeps an earlier snapshot of a minimum age.

    Args:
        least_ms: the minimum age; the maximum is twice that if snapshots are frequent.
        kept: reduces a snapshot before it is kept.
        merged: returns the new earlier snapshot, given the latest one, the one that has reached
            the minimum age, and the previous earlier one.
    """

    def __init__(
        self,
        least_ms: int,
        kept: Callable[[ClusterSnapshot], ClusterSnapshot] = lambda snapshot: snapshot,
        merged: _Merged = lambda _snapshot, younger, _old: younger,
    ) -> None:
        self._least_ms = least_ms
        self._kept = kept
        self._merged = merged
        self._old: ClusterSnapshot | None = None
        self._younger: ClusterSnapshot | None = None

    def take(self, snapshot: ClusterSnapshot) -> ClusterSnapshot | None:
        """Record the latest snapshot; return the earlier one to compare it with."""
        if self._younger is None or was_set_back(
            self._younger.clock_ahead_ms, snapshot.clock_ahead_ms
        ):
            self._old, self._younger = None, self._kept(snapshot)
        elif snapshot.taken_ms - self._younger.taken_ms >= self._least_ms:
            self._old = self._merged(snapshot, self._younger, self._old)
            self._younger = self._kept(snapshot)
        return self._old
