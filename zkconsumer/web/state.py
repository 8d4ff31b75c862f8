"""What pages, metrics and events show at one moment, and where they get it from.

A ``ClusterState`` never changes: whoever answers a request takes ``StateSource.current`` once, and
all of the answer is of one moment. What is worked out from the snapshot is worked out once for each
state, when it is first asked for.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from zkconsumer.model import TopicPartition
from zkconsumer.status.burrow import BurrowGroupStatus
from zkconsumer.status.doctor.diagnosis import Diagnosis
from zkconsumer.status.grid import Grid
from zkconsumer.status.lag import GroupLag
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupStatus, TopicStatus
from zkconsumer.status.timeline import Rebalance
from zkconsumer.status.verify import Verification
from zkconsumer.web.judgements import Judgements


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """All that is shown at one moment. Thread: any.

    What is asked of a group raises KeyError where the snapshot has no such group: look with
    ``group`` first.

    Attributes:
        number: grows with each publication.
        snapshot: the cluster; empty until it was read for the first time (``ready``).
        snapshot_before: the same cluster at least half a minute earlier; None soon after the start.
        started_ms: when watching began.
        published_ms: when this state was made; all ages are counted from the reader's own clock.
        read_duration_ms: how long the last whole reading took, 0 before the first.
        interval_ms: how long after one whole reading the next begins.
        problem: why nothing could be read yet, or why nothing can be read any more; what is shown
            is as old as its parts say.
        covered: the groups that were read for this state; None: all of the cluster was.
        judgements: works out what is derived; use the methods.
    """

    number: int
    snapshot: ClusterSnapshot
    snapshot_before: ClusterSnapshot | None
    started_ms: int
    published_ms: int
    read_duration_ms: int
    interval_ms: int
    problem: str | None
    covered: frozenset[GroupKey] | None = None
    judgements: Judgements = field(repr=False, compare=False)

    @property
    def ready(self) -> bool:
        """Whether the cluster was read at all."""
        return self.judgements.ready

    def group(self, key: GroupKey) -> GroupStatus | None:
        """Return the group; None where there is none."""
        return self.snapshot.groups.get(key)

    def topic(self, name: str) -> TopicStatus | None:
        """Return the topic; None where there is none."""
        return self.judgements.topics.get(name)

    def readers_of(self, topic: str) -> tuple[GroupKey, ...]:
        """Return the groups that read, own or have offsets of a topic, sorted."""
        return self.judgements.readers.get(topic, ())

    def lag(self, key: GroupKey) -> GroupLag:
        """How far the group is behind, in records and time; made before the state is published."""
        return self.judgements.lag(key)

    def outcome(self, key: GroupKey) -> BurrowGroupStatus:
        """Burrow's word on the group; made before the state is published."""
        return self.judgements.outcome(key)

    def verification(self, key: GroupKey) -> Verification:
        """Return whether all is read by whom it should be."""
        return self.judgements.verification(key)

    def grid(self, key: GroupKey) -> Grid:
        """Return the group as partitions by owners."""
        return self.judgements.grid(key)

    def findings(self, key: GroupKey | None) -> tuple[Diagnosis, ...]:
        """Return what is wrong with a group, or (None) with the cluster itself; the worst first."""
        return self.judgements.findings(key)

    def rebalances(self, key: GroupKey) -> tuple[Rebalance, ...]:
        """Return those seen since watching began, the oldest first; the last may be under way."""
        return self.judgements.rebalances(key)


class StateSource(Protocol):
    """Where states come from. Thread: any."""

    @property
    def current(self) -> ClusterState:
        """The latest state; there is always one."""
        ...

    def watch(self, key: GroupKey) -> AbstractContextManager[None]:
        """Ask for quick looks at a group (about one a second) while the context is open."""
        ...

    def subscribe(self, listener: Callable[[ClusterState], None]) -> Callable[[], None]:
        """Tell ``listener`` of every new state, on the thread that publishes: it must not block.

        Returns:
            What ends that.
        """
        ...

    def wait_newer(self, number: int, timeout_ms: int) -> ClusterState | None:
        """Wait for a state with a greater number; None where none comes in time. Blocks."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSeries:
    """One partition over time, a value for each of ``LagSeries.times_ms``; None: not known.

    Attributes:
        lag: in records.
        committed: where the group would go on.
        log_end: the offset that the next record gets.
        seconds: how far behind in time.
    """

    lag: tuple[int | None, ...]
    committed: tuple[int | None, ...]
    log_end: tuple[int | None, ...]
    seconds: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LagSeries:
    """A group's lag over time.

    Attributes:
        times_ms: ascending; each the moment of a sample that was really seen. Where there are more
            than were asked for, the worst of each stretch of time is what is left.
        total: the sum of all partitions' lags that are known.
        partitions: ascending; of very many only those that were behind the most.
        left_out: how many partitions are missing for that; ``total`` has them.
        problem: why there is nothing, or not all.
    """

    times_ms: tuple[int, ...] = ()
    total: tuple[int | None, ...] = ()
    partitions: Mapping[TopicPartition, PartitionSeries] = field(default_factory=dict)
    left_out: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRebalance:
    """A rebalance as it was written down; it outlives the server.

    Attributes:
        began_ms: when it was first seen.
        ended_ms: when the group was at rest again; None where that was not seen.
        reasons: in plain words, in the order in which they were seen.
        moved: how many partitions changed hands.
        reclaimed: how many owner nodes were made again by whom they belonged to before.
    """

    began_ms: int
    ended_ms: int | None
    reasons: tuple[str, ...]
    moved: int
    reclaimed: int


class Past(Protocol):
    """What was seen over time, also by earlier runs where a file keeps it. Thread: any."""

    @property
    def problem(self) -> str | None:
        """Why nothing is written down now; None where all is well."""
        ...

    def lag_series(self, key: GroupKey, since_ms: int, until_ms: int, points: int) -> LagSeries:
        """Return the lag of a group between two instants, at most so many moments of it."""
        ...

    def trends(
        self, keys: Collection[GroupKey], since_ms: int, until_ms: int, points: int
    ) -> Mapping[GroupKey, tuple[int | None, ...]]:
        """The largest lag of groups in each of so many equal stretches of time; None: not seen."""
        ...

    def rebalances(self, key: GroupKey, since_ms: int) -> tuple[PastRebalance, ...]:
        """Return the rebalances that began since then, the oldest first."""
        ...
