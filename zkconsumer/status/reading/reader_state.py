"""The state of a reader between its reads."""

import threading
from collections.abc import Callable, Collection, Mapping
from copy import copy
from dataclasses import replace
from typing import TypeVar

from zkconsumer.model import Broker, TopicPartition
from zkconsumer.status.model import BrokersAlone, ClusterSnapshot, GroupKey, Seen
from zkconsumer.status.reading.assembly import assemble, reassemble
from zkconsumer.status.reading.clock_skew import ClockSkew
from zkconsumer.status.reading.group_reads import ReadPlan, plan_group_reads
from zkconsumer.status.reading.kept import Kept
from zkconsumer.status.reading.round_clock import RoundClock
from zkconsumer.status.reading.values import GroupsRead, SelectedGroupsRead, Unanswered
from zkconsumer.status.set_back import shift_times_back

T = TypeVar("T")


class ReaderState:
    """Keeps the last known values and the last snapshot. Thread: both readers.

    Args:
        clock: for the times of recording.
        kept: the last known values, which only the reading thread and this object change.
        through: the source of snapshots, see ``assemble``.
        abandoned_after_ms: the time without a commit after which a group without members is
            abandoned.

    Attributes:
        kept: the last known values.
        last: the last snapshot; empty before the first read.
    """

    def __init__(
        self, clock: RoundClock, kept: Kept, through: str | BrokersAlone, abandoned_after_ms: int
    ) -> None:
        self._clock = clock
        self._through = through
        self._abandoned_after_ms = abandoned_after_ms
        # Guards the state that both threads change.
        self._lock = threading.Lock()
        self.kept = kept
        self.last = assemble(kept, now_ms=0, through=through)
        self._answering: Mapping[int, Broker] = {}
        self._skew = ClockSkew()

    def follow_clock(self) -> None:
        """Follow the local clock; if it was set back, move all kept times back with it."""
        with self._lock:
            by_ms = self._clock.follow()
            if by_ms:
                self.kept.set_back(by_ms)
                self.last = shift_times_back(self.last, by_ms)
                self._skew = ClockSkew()
            self.last = replace(self.last, clock_ahead_ms=self._clock.ahead_ms)

    def record(self, take: Callable[[T, int], None], read: T) -> None:
        """Record what was read, by a method of ``kept``."""
        with self._lock:
            take(read, self._clock.wall_ms())

    def record_groups(self, read: GroupsRead | Unanswered) -> None:
        """Record the groups in ZooKeeper, and the bounds of its clock that their times give."""
        if isinstance(read, GroupsRead):
            self._skew.note(self.kept.zookeeper_groups, read.groups, self._clock.wall_ms())
        self.record(self.kept.take_groups, read)

    def assemble(
        self,
        answering: Mapping[int, Broker],
        sessions: Seen[frozenset[int]] | Unanswered | None,
    ) -> ClusterSnapshot:
        """Return the snapshot of what is known; ``answering``: the brokers that responded."""
        with self._lock:
            self._answering = answering
            self.kept.forget_group_reads(self._clock.wall_ms())
            kept = copy(self.kept)
        return assemble(
            kept,
            now_ms=self._clock.wall_ms(),
            through=self._through,
            sessions=sessions if isinstance(sessions, Seen) else None,
            clock_skew_ms=self._skew.seen(),
            clock_ahead_ms=self._clock.ahead_ms,
            abandoned_after_ms=self._abandoned_after_ms,
        )

    def update(self, change: Callable[[ClusterSnapshot], ClusterSnapshot]) -> ClusterSnapshot:
        """Change the last snapshot, which another thread may have replaced by now; return it."""
        with self._lock:
            self.last = change(self.last)
            return self.last

    def plan_group_reads(self, keys: Collection[GroupKey]) -> tuple[ReadPlan, int]:
        """Return the plan to read some groups again, and how often the clock was set back."""
        with self._lock:
            return plan_group_reads(self.kept, keys, self._answering), self._clock.set_backs

    def take_group_reads(
        self, found: SelectedGroupsRead, keys: Collection[GroupKey], set_backs: int
    ) -> ClusterSnapshot:
        """Record groups that were read again; return the last snapshot.

        They are dropped if the clock was set back meanwhile: their times are in the future.
        """
        with self._lock:
            if set_backs == self._clock.set_backs:
                now_ms = self._clock.wall_ms()
                self.kept.take_group_reads(found, now_ms)
                self.last = reassemble(
                    self.last,
                    self.kept,
                    keys,
                    now_ms=now_ms,
                    abandoned_after_ms=self._abandoned_after_ms,
                )
            return self.last

    def leaders(self) -> dict[TopicPartition, Broker]:
        """Return the leaders among the brokers that responded to the last read."""
        with self._lock:
            return self.kept.leaders(self._answering)
