"""The caller's side of a consumer: what it reads, where it stands, what may be handed out now.

Everything here runs in the caller's thread. It joins what the parts know: the subscription, the
membership, the engine that fetches, and the records that an iteration still holds.
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
from zkconsumer.consumer.membership import Membership, Offsets, Partitions, Why
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
from zkconsumer.model import OffsetAndMetadata, TopicPartition

T = TypeVar("T")
log = logging.getLogger(__name__)


class MetadataSource(Protocol):
    """What this needs of the metadata; see ``MetadataManager``."""

    view: ClusterView
    failure: ZkConsumerError | None

    def watch(self, topics: frozenset[str] | None) -> None:
        """Know about these."""
        ...


CommitHeard = Callable[[Offsets, Exception | None], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """What the configuration says of it.

    Attributes:
        exclude_internal_topics: see ``Subscription``.
        in_group: whether there is a group to commit to.
        revoke_commit_ms: how long the commit before a rebalance may take.
        on_auto_commit: hears what became of automatic commits.
    """

    exclude_internal_topics: bool = True
    in_group: bool = True
    revoke_commit_ms: int = 15_000
    on_auto_commit: CommitHeard | None = None


class PollSession:
    """Also the handler of its membership: ``give_up`` and ``take_over`` come from there.

    Args:
        settings: see there.
        engine: fetches.
        metadata: knows the cluster.
        clock: for the timer of automatic commits.
        auto_commit: that timer.

    Attributes:
        membership: of the group; it needs this one to be made, so it comes with ``join``.
        starts: gives new partitions their positions; comes with ``join``, too.
        walk: where an iteration is; it looks around where something changed.
        commits_on_close: whether partitions that are given up are committed automatically.
        pending: where that begins what a poll has taken and may hand out yet. A poll hands it out
            only if it is still here, and takes it away in one step with that; so does ``close``.
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
        self._view_to_look_at = False
        self._last_failure: Exception | None = None
        self._interrupted: tuple[Partitions, Partitions] | None = None
        self._reported: frozenset[str] | None = None
        self._group_topics: frozenset[str] = frozenset()

    def join(self, membership: Membership, starts: StartPositions) -> None:
        """Before anything else is called."""
        self.membership = membership
        self.starts = starts

    def changed(self) -> None:
        """Let an iteration look around before it gives out another record. Thread: any."""
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
            self._view_to_look_at = True

    def assign(self, partitions: Iterable[object]) -> None:
        """See ``KafkaConsumer.assign``."""
        before = self._engine.partitions()
        self.subscription.assign(partitions)
        chosen = self.subscription.assigned
        gone = before - chosen
        try:
            if gone:
                # No rebalance follows that would do it.
                self.commit_by_itself(gone)
        finally:
            self._forget(gone)
            # First: who is added asks for metadata, which is to be about these topics at once.
            self._watch()
            self._add(chosen - before)

    def unsubscribe(self, timeout_ms: int) -> None:
        """See ``KafkaConsumer.unsubscribe``."""
        try:
            if self.subscription.is_group_managed:
                self.membership.unsubscribe(timeout_ms)
            else:
                self.commit_by_itself(self._engine.partitions())
        finally:
            self._interrupted = None
            self.subscription.clear()
            self._forget(self._engine.partitions())
            self.listener.set(None)
            self._watch()

    def close(self, timeout_ms: int, *, commit: bool) -> None:
        """Leave the group, committing what was handed out where that is automatic."""
        self.commits_on_close = commit
        deadline_ms = self._clock.now_ms() + timeout_ms
        try:
            if commit and not self.subscription.is_group_managed:
                self.commit_by_itself(self._engine.partitions(), timeout_ms=timeout_ms)
        finally:
            self.membership.close(max(0, deadline_ms - self._clock.now_ms()))

    def saw_view(self) -> None:
        """There is a new view of the cluster. Thread: any."""
        self._view_to_look_at = True

    def watch_for_group(self, topics: frozenset[str]) -> None:
        """We assign these topics to others: their changes matter, too. Thread: any."""
        self._group_topics = topics
        self._watch()

    def _watch(self) -> None:
        own = self.subscription.watched()
        self._metadata.watch(None if own is None else own | self._group_topics)

    def _notify(self, *, open_ended: bool) -> None:
        """Let the membership know of our topics, where they changed."""
        topics = self.subscription.topics
        if topics != self._reported:
            self.membership.subscribe(topics, open_ended=open_ended)
            self._reported = topics

    # --- what comes and goes --------------------------------------------------------------

    def give_up(self, partitions: Partitions, why: Why) -> None:
        """See ``OwnershipHandler``."""
        try:
            if why is Why.LOST:
                self.listener.lost(partitions)
                return
            if self.commits_on_close:
                self.commit_by_itself(partitions)
            self.listener.revoked(partitions)
        finally:
            self._forget(partitions)

    def take_over(self, added: Partitions, owned: Partitions) -> None:
        """See ``OwnershipHandler``."""
        # What a signal handler's exception interrupts is done again by the next round: else a
        # partition could be without a position for ever, and the listener without the news.
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

    # --- where it stands ------------------------------------------------------------------

    def assignment(self) -> Partitions:
        """All partitions that are read."""
        return self._engine.partitions()

    def position(self, tp: TopicPartition) -> PositionView | None:
        """Behind the last record that was handed out; None while it is not known."""
        return self.buffer.position(tp) or self._engine.position(tp)

    def consumed(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Their positions, as they would be committed."""
        return {
            tp: OffsetAndMetadata(it.offset, "", it.leader_epoch)
            for tp in partitions
            if (it := self.position(tp)) is not None
        }

    def seek(self, tp: TopicPartition, start: Start) -> None:
        """Read on from there."""
        self.buffer.drop(tp)
        self.starts.settle((tp,))
        self._engine.seek(tp, start)
        self.changed()

    def put_back(self, tp: TopicPartition, position: PositionView) -> None:
        """What was taken of a partition from there on was not handed out after all."""
        self.seek(tp, AtOffset(position.offset, position.leader_epoch))

    def put_back_all(self, positions: Mapping[TopicPartition, PositionView]) -> None:
        """The same of several; of those that are still read."""
        for tp, position in positions.items():
            if tp in self.assignment():
                self.put_back(tp, position)

    def take_back(self) -> None:
        """What a poll has taken and not handed out by now will not be handed out."""
        pending, self.pending = self.pending, {}
        self.put_back_all(pending)

    def taking(self, starts: dict[TopicPartition, PositionView], take: Callable[[], T]) -> T:
        """Take records; ``position_seen`` gives no position meanwhile.

        Args:
            starts: gets where they begin, partition by partition; see ``pending``.
            take: does it.
        """
        self.pending = starts
        self._takes += 1
        try:
            return take()
        finally:
            self._takes += 1

    def position_seen(self, tp: TopicPartition) -> PositionView | None:
        """``position``, as another thread sees it while the caller polls. Thread: any.

        None also where it moves at this very moment.
        """
        takes = self._takes
        found = self.pending.get(tp) or self.position(tp)
        return found if takes % 2 == 0 and self._takes == takes else None

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand out nothing of these."""
        self._engine.pause(partitions)
        self.changed()

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand out of these again."""
        self._engine.resume(partitions)
        self.changed()

    def deliverable(self) -> Partitions:
        """Of what records may be handed out at this moment, paused ones left out."""
        return self._surely_ours() - self._engine.paused()

    def collectable(self) -> Partitions:
        """The same, paused ones as may be, but for those whose next records are on the shelf.

        Those come first, also where the group has become sure of them in this very moment.
        """
        return self._surely_ours() - self.buffer.partitions()

    def _surely_ours(self) -> Partitions:
        if self.subscription.is_group_managed:
            return self.membership.deliverable()
        return self._engine.partitions()

    # --- what is due in every round of a poll ---------------------------------------------

    def turn(self) -> None:
        """Let the group, the metadata and the commits go on; waits for nothing but a listener.

        Raises:
            Exception: what is to come out of poll: of the group, or of the listener.
        """
        if self.subscription.mode is Mode.NONE and not self._warned_of_nothing:
            self._warned_of_nothing = True
            log.warning("there is nothing to read: call subscribe() or assign() before")
        if isinstance(self._metadata.failure, AuthenticationFailed | UnsupportedVersion):
            raise self._metadata.failure
        if self._interrupted is not None:
            self.take_over(*self._interrupted)
        self.membership.poll()
        if self._view_to_look_at:
            self._look_at_view()
            # Topics that a pattern found are not to wait for the next round.
            self.membership.poll()
        self.starts.advance()
        if self._settings.in_group and self.auto_commit.is_due(self._clock.now_ms()):
            self._commit_in_passing()

    def _look_at_view(self) -> None:
        # First: a view that comes meanwhile is looked at in the next round.
        self._view_to_look_at = False
        view = self._metadata.view
        if self.subscription.mode is not Mode.PATTERN or not view.brokers:
            return
        try:
            self.subscription.saw(view)
            self._notify(open_ended=True)
        except BaseException:
            self._view_to_look_at = True
            raise

    def _commit_in_passing(self) -> None:
        offsets = self.consumed(self._engine.partitions())
        if not offsets:
            self.auto_commit.postponed(self._clock.now_ms())
            return
        self.auto_commit.began(self._clock.now_ms())
        self.membership.commit_async(offsets, self._committed_in_passing)

    def _committed_in_passing(self, offsets: Offsets, error: Exception | None) -> None:
        self.auto_commit.ended(self._clock.now_ms(), failed=error is not None)
        self._received(offsets, error)

    def commit_by_itself(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: int | None = None
    ) -> None:
        """Commit what was handed out of these, with ``enable_auto_commit``; failing is logged."""
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
        self._received(offsets, error)

    def _received(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], error: Exception | None
    ) -> None:
        # Once, not for each try.
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
            except Exception:  # the caller's code; nobody asked for this commit
                log.exception("default_offset_commit_callback failed")
