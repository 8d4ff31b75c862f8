"""The caller's side of a consumer: its subscription, positions, and deliverable partitions.

It connects the subscription, the membership, the fetch engine, and the records that an iteration
has buffered. Everything here runs in the caller's thread, unless a method says otherwise.
"""

import logging
from collections.abc import Iterable

from zkconsumer.clock import Clock
from zkconsumer.cluster.metadata_manager import MetadataManager
from zkconsumer.consumer.automatic_commits import AutomaticCommits
from zkconsumer.consumer.fetch_buffer import FetchBuffer
from zkconsumer.consumer.listener import ListenerInvoker
from zkconsumer.consumer.poll_positions import PollPositions
from zkconsumer.consumer.start_positions import StartPositions
from zkconsumer.consumer.subscription import Mode, Subscription
from zkconsumer.consumer.walk import Walk
from zkconsumer.errors import (
    AuthenticationFailed,
    IllegalState,
    UnsupportedVersion,
)
from zkconsumer.fetch.polled.engine import PollEngine
from zkconsumer.membership.protocol import Membership, Partitions, RevocationKind
from zkconsumer.model import TopicPartition

log = logging.getLogger(__name__)


class PollSession:
    """Holds the state of a consumer; also the ``OwnershipHandler`` of its membership.

    Attributes:
        membership: its membership, set by ``join`` since it needs this session.
        starts: determines the positions of new partitions; set by ``join``, too.
        positions: the position of each partition.
        walk: the state of an iteration, which every change stops.
        commits_on_close: whether revoked partitions are committed, with ``enable_auto_commit``;
            ``close`` can turn it off.
    """

    membership: Membership
    starts: StartPositions

    def __init__(
        self,
        commits: AutomaticCommits,
        engine: PollEngine,
        metadata: MetadataManager,
        clock: Clock,
        *,
        exclude_internal_topics: bool = True,
    ) -> None:
        self.commits = commits
        self._engine = engine
        self._metadata = metadata
        self._clock = clock
        self.subscription = Subscription(exclude_internal=exclude_internal_topics)
        self.listener = ListenerInvoker()
        self.buffer = FetchBuffer()
        self.walk = Walk(clock)
        self.positions = PollPositions(engine, self.buffer, self.changed)
        self.commits_on_close = True
        self._warned_of_nothing = False
        self._is_unsubscribing = False
        self._has_new_view = False
        self._interrupted: tuple[Partitions, Partitions] | None = None
        self._reported: frozenset[str] | None = None
        self._group_topics: frozenset[str] = frozenset()

    def join(self, membership: Membership, starts: StartPositions) -> None:
        """Set the collaborators, before anything else is called."""
        self.membership = membership
        self.starts = self.positions.starts = starts
        self.commits.membership = membership

    def changed(self) -> None:
        """Stop an iteration before it hands out another record. Thread: any."""
        self.walk.steps = None

    # --- what to read ---------------------------------------------------------------------

    def subscribe(self, topics: object, pattern: object, listener: object) -> None:
        """See ``KafkaConsumer.subscribe``."""
        self._check_not_leaving()
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
        self._check_not_leaving()
        before = self._engine.partitions()
        self.subscription.assign(partitions)
        chosen = self.subscription.assigned
        gone = before - chosen
        try:
            if gone:
                # No rebalance follows, which would commit them.
                self._commit(gone)
        finally:
            self._forget(gone)
            # First, since adding partitions requests metadata, which should cover these topics.
            self._watch()
            self._add(chosen - before)

    def unsubscribe(self, timeout_ms: int) -> None:
        """See ``KafkaConsumer.unsubscribe``."""
        is_nested = self._is_unsubscribing
        self._is_unsubscribing = True
        try:
            if self.subscription.is_group_managed:
                self.membership.unsubscribe(timeout_ms)
            else:
                self._commit(self._engine.partitions())
        finally:
            self._is_unsubscribing = is_nested
            self._interrupted = None
            self.subscription.clear()
            self._forget(self._engine.partitions())
            self.listener.set(None)
            self._watch()

    def _check_not_leaving(self) -> None:
        """Refuse a subscription or an assignment by a listener of ``unsubscribe``.

        It would be cleared here, while the group would go on having it.

        Raises:
            IllegalState: ``unsubscribe`` is in progress.
        """
        if self._is_unsubscribing:
            raise IllegalState("unsubscribe() is in progress: subscribe when it has returned")

    def close(self, timeout_ms: int, *, commit: bool) -> None:
        """Leave the group; with ``commit`` and automatic commits, commit the records handed out."""
        self.commits_on_close = commit
        deadline_ms = self._clock.now_ms() + timeout_ms
        try:
            if commit and not self.subscription.is_group_managed:
                self._commit(self._engine.partitions(), timeout_ms=timeout_ms)
        finally:
            self.membership.close(max(0, deadline_ms - self._clock.now_ms()))

    def saw_view(self) -> None:
        """Record that there is a new view of the cluster. Thread: any."""
        self._has_new_view = True

    def watch_for_group(self, topics: frozenset[str]) -> None:
        """Watch the topics that this member, as leader, assigns to others, too. Thread: any."""
        self._group_topics = topics
        self._watch()

    def _watch(self) -> None:
        own = self.subscription.watched()
        self._metadata.watch(None if own is None else own | self._group_topics)

    def _notify(self, *, open_ended: bool) -> None:
        """Report the subscribed topics to the membership, if they changed."""
        topics = self.subscription.topics
        if topics != self._reported:
            self.membership.subscribe(topics, open_ended=open_ended)
            self._reported = topics

    # --- partitions that come and go ------------------------------------------------------

    def give_up(self, partitions: Partitions, why: RevocationKind) -> None:
        """See ``OwnershipHandler``."""
        try:
            if why is RevocationKind.LOST:
                self.listener.on_lost(partitions)
                return
            if self.commits_on_close:
                self._commit(partitions)
            self.listener.on_revoked(partitions)
        finally:
            self._forget(partitions)

    def take_over(self, added: Partitions, owned: Partitions) -> None:
        """See ``OwnershipHandler``."""
        # Work that a signal handler interrupts by raising is repeated in the next round: otherwise
        # a partition could remain without a position, or the listener might not be called.
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
        self.commits.timer.postpone(self._clock.now_ms())
        log.info("assigned: %s", ", ".join(map(format, sorted(owned))) or "no partitions")
        self.listener.on_assigned(added)

    def _commit(self, partitions: Partitions, *, timeout_ms: int | None = None) -> None:
        """Commit the delivered records of these partitions, with ``enable_auto_commit``."""
        if self.commits.timer.enabled:
            self.commits.commit(self.positions.consumed(partitions), timeout_ms=timeout_ms)

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

    # --- what may be handed out -----------------------------------------------------------

    def assignment(self) -> Partitions:
        """Return all partitions that are read."""
        return self._engine.partitions()

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand out no records of partitions. Thread: any."""
        self._engine.pause(partitions)
        self.changed()

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand out records of partitions again. Thread: any."""
        self._engine.resume(partitions)
        self.changed()

    def deliverable(self) -> Partitions:
        """Return the partitions whose records may be handed out now: owned, and not paused."""
        return self._certainly_owned() - self._engine.paused()

    def collectable(self) -> Partitions:
        """Return the partitions to collect from: certainly owned, and without buffered records.

        Buffered records come first, even if ownership has only just become certain.
        """
        return self._certainly_owned() - self.buffer.partitions()

    def _certainly_owned(self) -> Partitions:
        if self.subscription.is_group_managed:
            return self.membership.deliverable()
        return self._engine.partitions()

    # --- rounds of a poll -----------------------------------------------------------------

    def turn(self) -> None:
        """Do the due work of the group, the metadata and the commits.

        Blocks only for a listener, and for the commit before a revocation.

        Raises:
            Exception: an error of the group or of the listener, which ``poll`` raises.
        """
        if self.subscription.mode is Mode.NONE and not self._warned_of_nothing:
            self._warned_of_nothing = True
            log.warning("there is nothing to read: call subscribe() or assign() first")
        if isinstance(self._metadata.failure, AuthenticationFailed | UnsupportedVersion):
            raise self._metadata.failure
        if self._interrupted is not None:
            self.take_over(*self._interrupted)
        self.membership.poll()
        if self._has_new_view:
            self._apply_view()
            # Newly matched topics should not wait for the next round.
            self.membership.poll()
        self.starts.advance()
        now_ms = self._clock.now_ms()
        self.commits.timer.start(now_ms)
        if self.commits.timer.is_due(now_ms):
            self.commits.begin(self.positions.consumed(self._engine.partitions()))

    def _apply_view(self) -> None:
        # First: a view that arrives meanwhile is applied in the next round.
        self._has_new_view = False
        view = self._metadata.view
        if self.subscription.mode is not Mode.PATTERN or not view.brokers:
            return
        try:
            self.subscription.refresh_matches(view)
            self._notify(open_ended=True)
        except BaseException:
            self._has_new_view = True
            raise
