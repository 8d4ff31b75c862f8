"""What the poll API asks of a group, whoever keeps it: a coordinator, or ZooKeeper.

Everything here is called in the caller's thread, but for ``topics_changed`` and ``committed``. A
membership has threads of its own for the network; it rings the caller's bell when there is
something for ``poll`` to do. It calls the handler in the caller's thread only, out of ``poll``,
``unsubscribe`` and ``close``; the handler may commit, and may not poll.

Source: Kafka ``ConsumerCoordinator``, whose part this is in the original.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from zkconsumer.group.events import Why
from zkconsumer.model import OffsetAndMetadata, TopicPartition

__all__ = ["CommitDone", "Membership", "OwnershipHandler", "Why"]

Partitions = frozenset[TopicPartition]
Offsets = Mapping[TopicPartition, OffsetAndMetadata]
CommitDone = Callable[[Offsets, Exception | None], object]
"""Hears what became of an asynchronous commit: the offsets, and what went wrong (None: nothing)."""


class OwnershipHandler(Protocol):
    """Hears in the caller's thread what comes and goes; what it raises comes out of ``poll``.

    A call that raises counts as done: the group does not wait for a listener that failed.
    """

    def give_up(self, partitions: Partitions, why: Why) -> None:
        """Let go of these; nothing of them is deliverable any more.

        Args:
            partitions: not empty.
            why: ``REVOKED``: they are still ours, so commit what was handed out, then call
                on_partitions_revoked. ``LOST``: others may have them; commits are refused.
        """
        ...

    def take_over(self, added: Partitions, owned: Partitions) -> None:
        """A rebalance is through: read ``added`` as well; ``owned`` is all there is now.

        Args:
            added: may be empty; the listener is called all the same.
            owned: with ``added``.
        """
        ...


class Membership(Protocol):
    """One consumer's part in a group."""

    @property
    def member_id(self) -> str:
        """The name that the group has for us; empty before the first join."""
        ...

    @property
    def generation(self) -> int:
        """The generation that we are in; -1: none."""
        ...

    @property
    def state(self) -> str:
        """Where we stand, in one word, for metrics and messages."""
        ...

    def numbers(self) -> Mapping[str, float]:
        """What has happened since the start, by the names that metrics have for it."""
        ...

    def subscribe(self, topics: frozenset[str], *, open_ended: bool) -> None:
        """Read these topics from now on; the next polls join, or join again.

        Args:
            topics: their names, patterns expanded. May be empty where no topic matches yet.
            open_ended: a pattern chose them: an assignment may name others.
        """
        ...

    def poll(self) -> None:
        """The caller is alive: call the handler where that is due, and run commit callbacks.

        Does not wait for the group; a handler may. To be called on entering a poll, whenever the
        bell rings, and at least every ``heartbeat.interval.ms`` while a poll waits.

        Raises:
            GroupFailed: the group refuses us. If it is final, every call raises it until the
                caller unsubscribes; else the next poll tries again.
            AuthenticationFailed: the brokers don't know us.
            Exception: what the handler raised; all that was due has been called.
        """
        ...

    def unsubscribe(self, timeout_ms: int) -> None:
        """Give up all partitions (handler), then leave the group; no more than ``timeout_ms``.

        What the handler raised is raised at the end.
        """
        ...

    def deliverable(self) -> Partitions:
        """What may be handed out at this moment: owned, and surely so.

        Empty while the group may have thrown us out without our hearing of it. Ask again for each
        hand-out: it can shrink between two polls.
        """
        ...

    def commit(self, offsets: Offsets, *, timeout_ms: int) -> None:
        """Commit, after all asynchronous commits made before; their callbacks run first.

        A failure that may pass is tried again until the time is over.

        Raises:
            CommitFailed: a partition is no longer ours, or our generation is over.
            RebalanceInProgress: the group is between two generations: poll, then commit again.
            OffsetCommitFailed: some were not committed, or it is not known within the time.
            GroupFailed: not authorised, or no such group can be.
        """
        ...

    def commit_async(self, offsets: Offsets, done: CommitDone | None) -> None:
        """Commit without waiting.

        Args:
            offsets: what to commit.
            done: run in the caller's thread, in the order of the commits, out of ``poll``,
                ``commit``, ``unsubscribe`` or ``close``. What it raises is logged.
        """
        ...

    def run_callbacks(self) -> None:
        """Run those of the commits that have ended; not from inside of another one."""
        ...

    def committed(
        self, partitions: Collection[TopicPartition], *, timeout_ms: int
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """The group's committed positions; None where there is none. Thread: any.

        Raises:
            RequestTimedOut: nobody could say within the time.
            GroupFailed, TopicAuthorizationFailed: not authorised.
            ConsumerClosed: ``close`` was called meanwhile.
        """
        ...

    def topics_changed(self) -> None:
        """The cluster's topics changed: the one who assigns looks at them. Thread: any."""
        ...

    def rejoin(self) -> None:
        """Ask for a rebalance at the next poll."""
        ...

    def close(self, timeout_ms: int) -> None:
        """``unsubscribe``, finish the commits, then ask the threads to stop.

        Takes no longer than ``timeout_ms``, whatever the network does. What the handler raised is
        raised at the end.
        """
        ...
