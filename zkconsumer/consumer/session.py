"""The caller's side of a consumer: its subscription, positions, and deliverable partitions.

Everything here runs in the caller's thread. It connects the subscription, the membership, the fetch
engine, and the records that an iteration has buffered.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from zkconsumer.clock import Clock
from zkconsumer.cluster.view import ClusterView
from zkconsumer.consumer.autocommit import AutoCommit
from zkconsumer.consumer.fetch_buffer import FetchBuffer
from zkconsumer.consumer.listener import ListenerInvoker
from zkconsumer.consumer.start_positions import StartPositions
from zkconsumer.consumer.subscription import Mode, Subscription
from zkconsumer.consumer.walk import Walk
from zkconsumer.errors import (
    AuthenticationFailed,
    CommitFailed,
    UnsupportedVersion,
    ZkConsumerError,
    without_frames,
)
from zkconsumer.fetch.core.starts import AtOffset, PositionView, Start
from zkconsumer.fetch.polled.engine import PollEngine
from zkconsumer.membership.protocol import Membership, Offsets, Partitions, RevocationKind
from zkconsumer.model import OffsetAndMetadata, TopicPartition

T = TypeVar("T")
log = logging.getLogger(__name__)


class MetadataSource(Protocol):
    """The part of ``MetadataManager`` that is used here."""

    view: ClusterView
    failure: ZkConsumerError | None

    def watch(self, topics: frozenset[str] | None) -> None:
        """Keep the metadata of these topics current; None: of all."""
        ...


CommitCallback = Callable[[Offsets, Exception | None], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """Settings of a poll session.

    Attributes:
        exclude_internal_topics: see ``Subscription``.
        in_group: whether there is a group to commit to.
        revoke_commit_ms: how long the commit before a rebalance may take.
        on_auto_commit: called with the outcome of automatic commits.
    """

    exclude_internal_topics: bool = True
    in_group: bool = True
    revoke_commit_ms: int = 15_000
    on_auto_commit: CommitCallback | None = None


class PollSession:
    """The state of a consumer between polls; also the ``OwnershipHandler`` of its membership.

    Args:
        settings: see ``SessionSettings``.
        engine: fetches records.
        metadata: the cluster's metadata.
        clock: for the timer of automatic commits.
        auto_commit: that timer.

    Attributes:
        membership: its membership, set by ``join`` since it needs this session.
        starts: gives new partitions their positions; set by ``join``, too.
        walk: the state of an iteration, which is stopped by every change.
        commits_on_close: whether partitions that are given up are committed automatically.
        pending: the start positions of what a poll has taken and may still hand out. A poll hands
            it out only if it is still here, and removes it in the same step; so does ``close``.
    """

    membership: Membership
    starts: StartPositions

    def __init__(
        self,
        settings: SessionSettings,
        engine: PollEngine,
        metadata: MetadataSource,
        auto_commit: AutoCommit,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._metadata = metadata
        self._clock = clock
        self.auto_commit = auto_commit
        self.subscription = Subscription(exclude_internal=settings.exclude_internal_topics)
        self.listener = ListenerInvoker()
        self.buffer = FetchBuffer()
        self.walk = Walk(clock)
        self.commits_on_close = True
        self.pending: dict[TopicPartition, PositionView] = {}
        self._takes = 0
        self._warned_of_nothing = False
        self._has_new_view = False
        self._last_failure: Exception | None = None
        self._interrupted: tuple[Partitions, Partitions] | None = None
        self._reported: frozenset[str] | None = None
        self._group_topics: frozenset[str] = frozenset()

    def join(self, membership: Membership, starts: StartPositions) -> None:
        """Set the collaborators, before anything else is called."""
        self.membership = membership
        self.starts = starts

    def changed(self) -> None:
        """Stop an iteration before it hands out another record. Thread: any."""
        self.walk.steps = None

    # --- what to read ---------------------------------------------------------------------

    def subscribe(self, topics: object, pattern: object, listener: object) -> None:
        """See ``KafkaConsumer.subscribe``."""
        calls = ListenerInvoker()
        calls.set(listener)
        self.subscription.subscribe(topics, pattern)
        self.listener = calls
        self._watch()
        self._reported = None
        if self.subscription.mode is Mode.TOPICS:
            self._notify(open_ended=False)
        else:
            self._has_new_view = True

    def assign(self, partitions: Iterable[object]) -> None:
        """See ``KafkaConsumer.assign``."""
        before = self._engine.partitions()
        self.subscription.assign(partitions)
        chosen = self.subscription.assigned
        gone = before - chosen
        try:
            if gone:
                # No rebalance follows that would commit.
                self.commit_automatically(gone)
        finally:
            self._forget(gone)
            # First: adding partitions requests metadata, which should cover these topics at once.
            self._watch()
            self._add(chosen - before)

    def unsubscribe(self, timeout_ms: int) -> None:
        """See ``KafkaConsumer.unsubscribe``."""
        try:
            if self.subscription.is_group_managed:
                self.membership.unsubscribe(timeout_ms)
            else:
                self.commit_automatically(self._engine.partitions())
        finally:
            self._interrupted = None
            self.subscription.clear()
            self._forget(self._engine.partitions())
            self.listener.set(None)
            self._watch()

    def close(self, timeout_ms: int, *, commit: bool) -> None:
        """Leave the group; commit what was handed out if that is automatic."""
        self.commits_on_close = commit
        deadline_ms = self._clock.now_ms() + timeout_ms
        try:
            if commit and not self.subscription.is_group_managed:
                self.commit_automatically(self._engine.partitions(), timeout_ms=timeout_ms)
        finally:
            self.membership.close(max(0, deadline_ms - self._clock.now_ms()))

    def saw_view(self) -> None:
        """Note a new view of the cluster. Thread: any."""
        self._has_new_view = True

    def watch_for_group(self, topics: frozenset[str]) -> None:
        """Watch topics that we assign to others, too. Thread: any."""
        self._group_topics = topics
        self._watch()

    def _watch(self) -> None:
        own = self.subscription.watched()
        self._metadata.watch(None if own is None else own | self._group_topics)

    def _notify(self, *, open_ended: bool) -> None:
        """Report our topics to the membership, if they changed."""
        topics = self.subscription.topics
        if topics != self._reported:
            self.membership.subscribe(topics, open_ended=open_ended)
            self._reported = topics

    # --- partitions that come and go ------------------------------------------------------

    def give_up(self, partitions: Partitions, why: RevocationKind) -> None:
        """See ``OwnershipHandler``."""
        try:
            if why is RevocationKind.LOST:
                self.listener.lost(partitions)
                return
            if self.commits_on_close:
                self.commit_automatically(partitions)
            self.listener.revoked(partitions)
        finally:
            self._forget(partitions)

    def take_over(self, added: Partitions, owned: Partitions) -> None:
        """See ``OwnershipHandler``."""
        # What a signal handler's exception interrupts is repeated in the next round: else a
        # partition could stay without a position, and the listener without the call.
        self._interrupted = None
        try:
            self._take_over(added, owned)
        except Exception:
            raise
        except BaseException:
            self._interrupted = added, owned
            raise

    def _take_over(self, added: Partitions, owned: Partitions) -> None:
        here = self._engine.partitions()
        stay = (here & owned) - added
        self._forget(here - stay)
        self._add(owned - stay)
        self.auto_commit.postponed(self._clock.now_ms())
        log.info("assigned: %s", ", ".join(map(format, sorted(owned))) or "no partitions")
        self.listener.assigned(added)

    def _add(self, partitions: Partitions) -> None:
        self._engine.add(partitions)
        self.starts.came(partitions)
        self.changed()

    def _forget(self, partitions: Partitions) -> None:
        self.starts.settle(partitions)
        for tp in partitions:
            self.buffer.drop(tp)
        self._engine.remove(partitions)
        self.changed()

    # --- positions ------------------------------------------------------------------------

    def assignment(self) -> Partitions:
        """Return all partitions that are read."""
        return self._engine.partitions()

    def position(self, tp: TopicPartition) -> PositionView | None:
        """Return the offset after the last record handed out; None while unknown."""
        return self.buffer.position(tp) or self._engine.position(tp)

    def consumed(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the positions of these, as they would be committed."""
        return {
            tp: OffsetAndMetadata(position.offset, "", position.leader_epoch)
            for tp in partitions
            if (position := self.position(tp)) is not None
        }

    def seek(self, tp: TopicPartition, start: Start) -> None:
        """Read on from `start`."""
        self.buffer.drop(tp)
        self.starts.settle((tp,))
        self._engine.seek(tp, start)
        self.changed()

    def put_back(self, tp: TopicPartition, position: PositionView) -> None:
        """Restore a partition's position: what was taken from there on was not handed out."""
        self.seek(tp, AtOffset(position.offset, position.leader_epoch))

    def put_back_all(self, positions: Mapping[TopicPartition, PositionView]) -> None:
        """Restore the positions of those partitions that are still read."""
        for tp, position in positions.items():
            if tp in self.assignment():
                self.put_back(tp, position)

    def take_back(self) -> None:
        """Put back what a poll has taken and not handed out."""
        pending, self.pending = self.pending, {}
        self.put_back_all(pending)

    def taking(self, starts: dict[TopicPartition, PositionView], take: Callable[[], T]) -> T:
        """Take records; meanwhile ``position_seen`` returns None.

        Args:
            starts: gets the start position of each partition; see ``pending``.
            take: takes the records.
        """
        self.pending = starts
        self._takes += 1
        try:
            return take()
        finally:
            self._takes += 1

    def position_seen(self, tp: TopicPartition) -> PositionView | None:
        """Return ``position`` for another thread while the caller polls. Thread: any.

        None also while it changes.
        """
        takes = self._takes
        found = self.pending.get(tp) or self.position(tp)
        return found if takes % 2 == 0 and self._takes == takes else None

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand out nothing of these partitions."""
        self._engine.pause(partitions)
        self.changed()

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand out records of these partitions again."""
        self._engine.resume(partitions)
        self.changed()

    def deliverable(self) -> Partitions:
        """Return the partitions whose records may be handed out now, without paused ones."""
        return self._certainly_owned() - self._engine.paused()

    def collectable(self) -> Partitions:
        """Return the partitions to collect from: certainly ours, and not buffered.

        Buffered records come first, even if ownership has become certain at this very moment.
        """
        return self._certainly_owned() - self.buffer.partitions()

    def _certainly_owned(self) -> Partitions:
        if self.subscription.is_group_managed:
            return self.membership.deliverable()
        return self._engine.partitions()

    # --- rounds of a poll -----------------------------------------------------------------

    def turn(self) -> None:
        """Run the group, the metadata and the commits; wait only for a listener.

        Raises:
            Exception: what poll has to raise: an error of the group, or of the listener.
        """
        if self.subscription.mode is Mode.NONE and not self._warned_of_nothing:
            self._warned_of_nothing = True
            log.warning("there is nothing to read: call subscribe() or assign() before")
        if isinstance(self._metadata.failure, AuthenticationFailed | UnsupportedVersion):
            raise self._metadata.failure
        if self._interrupted is not None:
            self.take_over(*self._interrupted)
        self.membership.poll()
        if self._has_new_view:
            self._apply_view()
            # Topics that a pattern matched should not wait for the next round.
            self.membership.poll()
        self.starts.advance()
        if self._settings.in_group and self.auto_commit.is_due(self._clock.now_ms()):
            self._begin_auto_commit()

    def _apply_view(self) -> None:
        # First: a view that comes meanwhile is applied in the next round.
        self._has_new_view = False
        view = self._metadata.view
        if self.subscription.mode is not Mode.PATTERN or not view.brokers:
            return
        try:
            self.subscription.saw(view)
            self._notify(open_ended=True)
        except BaseException:
            self._has_new_view = True
            raise

    def _begin_auto_commit(self) -> None:
        offsets = self.consumed(self._engine.partitions())
        if not offsets:
            self.auto_commit.postponed(self._clock.now_ms())
            return
        self.auto_commit.began(self._clock.now_ms())
        self.membership.commit_async(offsets, self._on_auto_commit)

    def _on_auto_commit(self, offsets: Offsets, error: Exception | None) -> None:
        self.auto_commit.ended(self._clock.now_ms(), failed=error is not None)
        self._report_auto_commit(offsets, error)

    def commit_automatically(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: int | None = None
    ) -> None:
        """Commit what was handed out of these, with ``enable_auto_commit``; log a failure."""
        if not (self._settings.in_group and self.auto_commit.enabled):
            return
        offsets = self.consumed(partitions)
        if not offsets:
            return
        error: Exception | None = None
        limit_ms = self._settings.revoke_commit_ms
        if timeout_ms is not None:
            limit_ms = min(limit_ms, timeout_ms)
        try:
            self.membership.commit(offsets, timeout_ms=limit_ms)
        except ZkConsumerError as failure:
            error = without_frames(failure)
        self._report_auto_commit(offsets, error)

    def _report_auto_commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], error: Exception | None
    ) -> None:
        # Warn once, not for each try.
        level = logging.DEBUG if str(error) == str(self._last_failure) else logging.WARNING
        self._last_failure = error
        if isinstance(error, CommitFailed):
            text = "automatic commit refused, what it was about may be read again: %s"
            log.log(level, text, error)
        elif error is not None:
            log.log(level, "automatic commit failed: %s", error)
        if self._settings.on_auto_commit is not None:
            try:
                self._settings.on_auto_commit(offsets, error)
            except Exception:  # the caller's code; no call of the caller made this commit
                log.exception("default_offset_commit_callback failed")
