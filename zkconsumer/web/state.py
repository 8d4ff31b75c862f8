"""The state that pages, metrics and events show, and the interfaces that provide it.

A ``ClusterState`` is immutable: a request uses ``StateSource.current`` once, so that its response
is consistent. Derived values are computed once for each state, on first use.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final, Protocol

from zkconsumer.model import TopicPartition
from zkconsumer.status.model import ClusterSnapshot, GroupKey
from zkconsumer.web.judgements import Judgements

_LEAST_OLD_MS: Final = 15_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """The state of a cluster at one moment. Thread: any.

    Attributes:
        number: increases with each publication.
        snapshot: the cluster; empty before the first read (``ready``).
        started_ms: when watching began.
        read_duration_ms: the duration of the last full read, 0 before the first.
        interval_ms: the interval between the starts of two full reads.
        problem: why nothing could be read yet, or nothing can be read any longer; the parts have
            their own ages.
        ready: whether the cluster was read at all.
        covered: the groups that were read for this state; None: the whole cluster.
        judgements: the values derived from the snapshot.
    """

    number: int
    snapshot: ClusterSnapshot
    started_ms: int
    read_duration_ms: int
    interval_ms: int
    problem: str | None
    ready: bool = True
    covered: frozenset[GroupKey] | None = None
    judgements: Judgements = field(repr=False, compare=False)

    @property
    def taken_ms(self) -> int | None:
        """When the snapshot was assembled; None before the first read."""
        return self.snapshot.taken_ms if self.ready else None

    @property
    def old_after_ms(self) -> int:
        """The age from which a value is old: two reads in a row have not refreshed it."""
        return max(_LEAST_OLD_MS, 3 * (self.interval_ms + self.read_duration_ms))

    def last_commit_ms(self, key: GroupKey) -> int | None:
        """Return when a group last committed, or was seen to; None if unknown."""
        group = self.snapshot.groups[key]
        known = (group.silent_since_ms, self.judgements.rates(key).moved_ms)
        return max((at_ms for at_ms in known if at_ms is not None), default=None)


class StateSource(Protocol):
    """A source of states. Thread: any."""

    @property
    def current(self) -> ClusterState:
        """The latest state; there is always one."""
        ...

    def watch(self, key: GroupKey) -> AbstractContextManager[None]:
        """Read a group more often (about once a second) while the context is open."""
        ...

    def subscribe(self, listener: Callable[[ClusterState], None]) -> Callable[[], None]:
        """Call ``listener`` with each new state, on the publishing thread; it must not block.

        Returns:
            The function that ends the subscription.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSeries:
    """A partition over time, with a value for each of ``LagSeries.times_ms``; None: unknown.

    Attributes:
        lag: in records.
        committed: the committed offset.
        log_end: the offset of the next record.
        seconds: the lag in time.
    """

    lag: tuple[int | None, ...]
    committed: tuple[int | None, ...]
    log_end: tuple[int | None, ...]
    seconds: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LagSeries:
    """A group's lag over time.

    Attributes:
        times_ms: ascending; the times of real samples. If there are more than requested, the worst
            of each interval remains.
        total: the sum of all partitions' known lags.
        partitions: ascending; if there are many, only those with the largest lag.
        left_out: the number of omitted partitions; ``total`` includes them.
        problem: why some or all of it is missing.
    """

    times_ms: tuple[int, ...] = ()
    total: tuple[int | None, ...] = ()
    partitions: Mapping[TopicPartition, PartitionSeries] = field(default_factory=dict)
    left_out: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRebalance:
    """A recorded rebalance.

    Attributes:
        began_ms: when it was first seen.
        ended_ms: when the group was at rest again; None if that was not seen.
        reasons: in plain words, in order.
        moved: the number of partitions that changed owners.
        reclaimed: the number of owner nodes created again by their former owners.
    """

    began_ms: int
    ended_ms: int | None
    reasons: tuple[str, ...]
    moved: int
    reclaimed: int


class Past(Protocol):
    """The history, also of earlier runs if it is in a file. Thread: any."""

    @property
    def problem(self) -> str | None:
        """Why nothing is recorded now; None if all is well."""
        ...

    def lag_series(self, key: GroupKey, since_ms: int, until_ms: int, points: int) -> LagSeries:
        """Return the lag of a group between two instants, in ``points`` samples at most."""
        ...

    def trends(
        self, keys: Collection[GroupKey], since_ms: int, until_ms: int, points: int
    ) -> Mapping[GroupKey, tuple[int | None, ...]]:
        """Return the largest lag of groups in each of ``points`` equal intervals; None: unknown."""
        ...

    def rebalances(self, key: GroupKey, since_ms: int) -> tuple[PastRebalance, ...]:
        """Return the rebalances that began since then, the oldest first."""
        ...
