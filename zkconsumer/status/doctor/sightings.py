"""Remembers offsets that were seen beyond the ends of logs, from one snapshot to the next. Pure.

Groups and logs are read side by side. An offset beyond the end proves nothing if it was read after
the log, which may have grown in between; but if the log is read again later and still ends before
that offset, the log has lost records. So an offset that one snapshot can't judge is remembered for
the next ones, even if the log can't be read for a while.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from zkconsumer.model import TopicPartition
from zkconsumer.status.model import (
    ClusterSnapshot,
    CommittedOffset,
    GroupKey,
    GroupPartition,
    GroupStatus,
)
from zkconsumer.status.set_back import shift_times_back, was_set_back


class Sighting(NamedTuple):
    """A committed offset, and when it was first seen."""

    offset: int
    seen_ms: int


SightingsOfGroup: TypeAlias = Mapping[TopicPartition, tuple[Sighting, ...]]
"""The sightings of a group by partition, where the offset is beyond the end of the log."""
SightingsByGroup: TypeAlias = Mapping[GroupKey, SightingsOfGroup]


def is_beyond(
    partition: GroupPartition, committed: CommittedOffset, sightings: tuple[Sighting, ...] = ()
) -> bool:
    """Return whether a log is known to have ended before an offset that was already committed.

    Args:
        partition: the partition, with its log.
        committed: the offset that the group would continue from.
        sightings: of this snapshot or earlier ones.
    """
    if not may_be_beyond(partition, committed):
        return False
    present = Sighting(committed.offset, committed.seen_ms)
    return any(_proves(sighting, partition) for sighting in (present, *sightings))


def may_be_beyond(partition: GroupPartition, committed: CommittedOffset) -> bool:
    """Return whether an offset is beyond the end of the log, as far as that was read."""
    return partition.log_end is not None and committed.offset > partition.log_end


class Sightings:
    """The sightings in successive snapshots. Thread: one at a time.

    Example:
        Of two snapshots of one cluster::

            sightings = Sightings()
            sightings.record(first)
            around = Circumstances(earlier=first, sightings=sightings.record(second))
    """

    def __init__(self) -> None:
        self._found: dict[GroupKey, SightingsOfGroup] = {}
        self._groups: Mapping[GroupKey, GroupStatus] = {}
        self._clock_ahead_ms = 0

    def record(self, snapshot: ClusterSnapshot) -> SightingsByGroup:
        """Record a snapshot; return its sightings, and earlier ones that still prove something."""
        if was_set_back(self._clock_ahead_ms, snapshot.clock_ahead_ms):
            by_ms = self._clock_ahead_ms - snapshot.clock_ahead_ms
            self._found = shift_times_back(self._found, by_ms)
        self._clock_ahead_ms = snapshot.clock_ahead_ms
        before, self._found = self._found, {}
        for key, group in snapshot.groups.items():
            known = before.get(key, {})
            # A partial read leaves most groups unchanged.
            is_same = self._groups.get(key) is group
            found = known if is_same else dict(_sightings(group, known))
            if found:
                self._found[key] = found
        self._groups = snapshot.groups
        return self._found


def _sightings(
    group: GroupStatus, before: SightingsOfGroup
) -> Iterator[tuple[TopicPartition, tuple[Sighting, ...]]]:
    for partition in group.partitions:
        committed = partition.effective(group.kind)
        if committed is not None and may_be_beyond(partition, committed):
            tp = partition.topic_partition
            yield tp, _with_present(partition, committed, before.get(tp, ()))


def _with_present(
    partition: GroupPartition, committed: CommittedOffset, before: tuple[Sighting, ...]
) -> tuple[Sighting, ...]:
    """Return the present sighting, preceded by one of another offset that still is a proof."""
    times = [sighting.seen_ms for sighting in before if sighting.offset == committed.offset]
    present = Sighting(committed.offset, min([committed.seen_ms, *times]))
    others = (sighting for sighting in before if sighting.offset != committed.offset)
    proof = next((sighting for sighting in others if _proves(sighting, partition)), None)
    return (present,) if proof is None else (proof, present)


def _proves(sighting: Sighting, partition: GroupPartition) -> bool:
    """Return whether the offset was seen before the log was read, and the log ended before it."""
    if partition.log_end is None or sighting.offset <= partition.log_end:
        return False
    return partition.log_at_ms is None or sighting.seen_ms <= partition.log_at_ms
