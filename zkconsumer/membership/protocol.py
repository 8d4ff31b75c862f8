"""Defines what the poll API needs from a group, whether of a coordinator or of ZooKeeper.

Everything here is called in the caller's thread, except ``on_topics_changed`` and ``committed``. A
membership has its own threads for the network; it wakes the caller when there is something for
``poll`` to do. It calls the handler in the caller's thread only, from ``poll``, ``unsubscribe`` and
``close``; the handler may commit, but must not poll.

Source: Kafka ``ConsumerCoordinator``, which does this in the original.
"""

from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import Protocol

from zkconsumer.cluster.view import ClusterView
from zkconsumer.model import OffsetAndMetadata, TopicPartition

Partitions = frozenset[TopicPartition]
Offsets = Mapping[TopicPartition, OffsetAndMetadata]
CommitDone = Callable[[Offsets, Exception | None], object]
"""Called with the outcome of an asynchronous commit: the offsets, and the error or None."""


class RevocationKind(Enum):
    """Why partitions are given up."""

    REVOKED = "still ours: commit, then call on_partitions_revoked"
    LOST = "others may have them: commit nothing, call on_partitions_lost"


class OwnershipHandler(Protocol):
    """Handles partitions that come and go, in the caller's thread; ``poll`` raises its errors.

    A call that raises counts as done: the group does not wait for a listener that failed.
    """

    def give_up(self, partitions: Partitions, why: RevocationKind) -> None:
        """Drop these partitions, which are no longer deliverable.

        Args:
            partitions: not empty.
            why: ``REVOKED``: they are still ours, so commit what was handed out, then call
                on_partitions_revoked. ``LOST``: others may have them; commits are refused.
        """
        ...

    def take_over(self, added: Partitions, owned: Partitions) -> None:
        """Start to read ``added`` after a rebalance; ``owned`` is everything owned now.

        Args:
            added: the new partitions; may be empty: the listener is called even then.
            owned: all owned partitions, including ``added``.
        """
        ...


class Membership(Protocol):
    """One consumer's membership in a group."""

    @property
    def member_id(self) -> str:
        """The member id; empty before the first join."""
        ...

    @property
    def generation(self) -> int:
        """The current generation; -1: none."""
        ...

    @property
    def state(self) -> str:
        """The member's state in one word, for metrics and messages."""
        ...

    def numbers(self) -> Mapping[str, float]:
        """Return the counts of events since the start, by metric name."""
        ...

    def subscribe(self, topics: frozenset[str], *, open_ended: bool) -> None:
        """Read these topics from now on; the next polls join, or join again.

        Args:
            topics: their names, patterns expanded. May be empty if no topic matches yet.
            open_ended: whether a pattern chose them, so that an assignment may name others.
        """
        ...

    def poll(self) -> None:
        """Report that the caller is alive; run the handler calls and commit callbacks that are due.

        Does not wait for the group; a handler may. Call it at the start of a poll, after each
        wake-up, and at least every ``heartbeat.interval.ms`` while a poll waits.

        Raises:
            GroupFailed: the group refuses us. If it is final, every call raises it until the
                caller unsubscribes; otherwise the next poll tries again.
            AuthenticationFailed: the brokers refuse our credentials.
            Exception: the handler's first error, after all due calls were made.
        """
        ...

    def unsubscribe(self, timeout_ms: int) -> None:
        """Give up all partitions (handler), then leave the group, within ``timeout_ms``.

        The handler's first error is raised at the end.
        """
        ...

    def deliverable(self) -> Partitions:
        """Return the partitions that are certainly owned now, and may be handed out.

        Empty while the group may have removed us without our knowledge. Call it before each
        hand-out: the set can shrink between two polls.
        """
        ...

    def commit(self, offsets: Offsets, *, timeout_ms: int) -> None:
        """Commit, after all earlier asynchronous commits; their callbacks run first.

        Retriable failures are retried until the time-out.

        Raises:
            CommitFailed: a partition is no longer ours, or our generation is over.
            RebalanceInProgress: the group is between two generations: poll, then commit again.
            OffsetCommitFailed: some were not committed, or their outcome is unknown in time.
            GroupFailed: not authorised, or the group id is invalid.
        """
        ...

    def commit_async(self, offsets: Offsets, done: CommitDone | None) -> None:
        """Commit without waiting.

        Args:
            offsets: the offsets to commit.
            done: run in the caller's thread, in the order of the commits, from ``poll``,
                ``commit``, ``unsubscribe`` or ``close``. Its errors are logged.
        """
        ...

    def run_callbacks(self) -> None:
        """Run the callbacks of the commits that have ended; do nothing if called in a callback."""
        ...

    def committed(
        self, partitions: Collection[TopicPartition], *, timeout_ms: int
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Return the group's committed offsets; None: nothing committed. Thread: any.

        Raises:
            RequestTimedOut: no response came in time.
            PartitionFailed: an offset exists, but can't be read (ZooKeeper groups).
            GroupFailed, TopicAuthorizationFailed: not authorised.
            ConsumerClosed: ``close`` was called meanwhile.
        """
        ...

    def on_topics_changed(self, view: ClusterView) -> None:
        """Check whether the topics of a new view need a new assignment. Thread: any."""
        ...

    def rejoin(self) -> None:
        """Request a rebalance at the next poll."""
        ...

    def close(self, timeout_ms: int) -> None:
        """Run ``unsubscribe``, finish the commits, then request that the threads stop.

        Takes no longer than ``timeout_ms``, whatever the network does. The handler's first error
        is raised at the end.
        """
        ...
