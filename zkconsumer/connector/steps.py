"""Runs the steps of a rebalance: each turns an action into calls, their outcome into an answer.

Nothing is decided here; what a step can't do becomes ``StepFailed`` with the reason.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, assert_never

from zkconsumer.assignment.filters import expand
from zkconsumer.assignment.group_view import GroupView, MemberSubscription
from zkconsumer.clock import Clock
from zkconsumer.connector import rebalance_events as ev
from zkconsumer.connector.commits import OffsetCommitter, consumed_offset
from zkconsumer.connector.ownership import OwnershipBook
from zkconsumer.connector.sightings import Sightings
from zkconsumer.connector.subscription import Subscription
from zkconsumer.errors import OffsetCommitFailed, PartitionFailed, ZkConsumerError
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.store import OffsetStore
from zkconsumer.zk.nodes import Registration
from zkconsumer.zk.registry import (
    ClaimConflict,
    GroupRegistry,
    GroupSnapshot,
    GroupWatches,
    Owner,
    RegistrationConflict,
)
from zkconsumer.zk.store import Watch

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSettings:
    """What the configuration says of the steps."""

    consumer_id: str
    exclude_internal_topics: bool
    auto_commit: bool


class Fetching(Protocol):
    """What fetches the claimed partitions into their queues (``FetchManager``)."""

    def add(self, claims: Iterable[tuple[PartitionClaim, int | None]]) -> None:
        """Fetch these, each from its next offset (None: by the reset policy)."""
        ...

    def wake(self) -> None:
        """Let go of claims that were given up. Never waits."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Collaborators:
    """Whom the steps call."""

    registry: GroupRegistry
    offset_store: OffsetStore
    committer: OffsetCommitter
    book: OwnershipBook
    fetching: Fetching
    clock: Clock


class RebalanceSteps:
    """Executes actions against ZooKeeper, the offset store and the fetchers. Thread: control."""

    def __init__(
        self, settings: StepSettings, others: Collaborators, trigger: Callable[[ev.Cause], None]
    ) -> None:
        self._settings = settings
        self._others = others
        self._trigger = trigger
        # Kept for life: on what does not change, a new one for each reading would pile up.
        self._watches = {cause: self._watch_for(cause) for cause in ev.Cause}
        self._sightings = Sightings(settings.consumer_id)
        self._subscription: Subscription | None = None
        self._revoked: dict[TopicPartition, PartitionClaim] = {}
        self._unusable: dict[TopicPartition, str] = {}

    def subscribe(self, subscription: Subscription | None) -> None:
        """Set what is registered and where messages go, before joining."""
        self._subscription = subscription

    def run(self, step: ev.Step) -> ev.Answer:
        """Do it, and say how it went."""
        try:
            return self._run(step)
        except ZkConsumerError as error:
            return ev.StepFailed(step.round, f"{type(step).__name__}: {error}")

    def _run(self, step: ev.Step) -> ev.Answer:
        match step:
            case ev.Register():
                return self._register(step)
            case ev.ReadGroup():
                return self._read_group(step)
            case ev.Revoke(_, partitions):
                self._revoke(partitions)
            case ev.Commit(_, partitions):
                self._commit(partitions)
            case ev.Release(_, owned):
                self._others.registry.release(owned)
            case ev.Claim():
                return self._claim(step)
            case ev.LoadOffsets():
                return self._load_offsets(step)
            case ev.Start():
                self._start(step)
            case _:
                assert_never(step)
        return ev.StepDone(step.round)

    def _register(self, step: ev.Register) -> ev.Answer:
        registration = self._subscribed().registration(self._others.clock.wall_ms())
        result = self._others.registry.register(
            self._settings.consumer_id, registration, session_id=step.session_id
        )
        if isinstance(result, RegistrationConflict):
            return ev.RegistrationBlocked(step.round, self._conflict_text(result))
        return ev.StepDone(step.round)

    def _conflict_text(self, conflict: RegistrationConflict) -> str:
        consumer_id = self._settings.consumer_id
        if conflict.session_id:
            return (
                f"consumer id {consumer_id} is registered by session 0x{conflict.session_id:x}: "
                "waiting for that session to end"
            )
        path = self._others.registry.member_path(consumer_id)
        return f"{path} is a persistent node, which no consumer makes: delete it"

    def _read_group(self, step: ev.ReadGroup) -> ev.Answer:
        subscription = self._subscribed()
        registry = self._others.registry
        snapshot = registry.read_group(
            watches=self._group_watches(subscription),
            expand=self._topics_of,
        )
        owners = registry.read_owners(step.check) if step.check else {}
        session_id = registry.session_id
        held = frozenset(
            tp for tp, owner in owners.items() if owner and owner.session_id == session_id
        )
        view = self._view(snapshot)
        self._sightings.report(snapshot, subscription, view)
        return ev.GroupRead(
            round=step.round,
            view=view,
            registered=self._is_ours(snapshot, subscription),
            held=held,
            broker_count=len(snapshot.brokers),
        )

    def _is_ours(self, snapshot: GroupSnapshot, subscription: Subscription) -> bool:
        """Whether our registration is there and says what we wrote.

        One that an operator edited names threads that have no queue here: it counts as gone, and
        is written anew.
        """
        found = snapshot.members.get(self._settings.consumer_id)
        ours = subscription.registration(0)
        return (
            found is not None
            and found.pattern is ours.pattern
            and dict(found.subscription) == dict(ours.subscription)
        )

    def _watch_for(self, cause: ev.Cause) -> Watch:
        return lambda _path, _event: self._trigger(cause)

    def _group_watches(self, subscription: Subscription) -> GroupWatches:
        return GroupWatches(
            members=self._watches[ev.Cause.MEMBERS],
            topics=self._watches[ev.Cause.TOPICS],
            topic_list=self._watches[ev.Cause.TOPIC_LIST] if subscription.wildcard else None,
            brokers=self._watches[ev.Cause.BROKERS],
        )

    def _view(self, snapshot: GroupSnapshot) -> GroupView:
        members = {
            consumer_id: MemberSubscription(self._expand(registration, snapshot.all_topics))
            for consumer_id, registration in snapshot.members.items()
        }
        return GroupView(members=members, partitions=snapshot.topics)

    def _expand(self, registration: Registration, topics: frozenset[str]) -> Mapping[str, int]:
        exclude = self._settings.exclude_internal_topics
        return expand(registration, topics, exclude_internal=exclude)

    def _topics_of(self, registration: Registration, topics: frozenset[str]) -> tuple[str, ...]:
        return tuple(self._expand(registration, topics))

    def _revoke(self, partitions: tuple[TopicPartition, ...]) -> None:
        revoked = self._others.book.revoke(partitions)
        self._revoked = {claim.topic_partition: claim for claim in revoked}
        self._others.fetching.wake()

    def _commit(self, partitions: tuple[TopicPartition, ...]) -> None:
        """Commit what was just revoked: nobody else can move these offsets before the release."""
        if not self._settings.auto_commit:
            return
        claims = [self._revoked[tp] for tp in partitions if tp in self._revoked]
        try:
            self._others.committer.commit(claims, consumed_offset)
        except OffsetCommitFailed as error:
            log.warning("before handing over: %s; these messages will come again", error)

    def _claim(self, step: ev.Claim) -> ev.Answer:
        result = self._others.registry.claim(step.wanted)
        if isinstance(result, ClaimConflict):
            held_by = {tp: self._owner_text(tp, owner) for tp, owner in result.held.items()}
            return ev.ClaimRefused(step.round, held_by)
        return ev.StepDone(step.round)

    def _owner_text(self, tp: TopicPartition, owner: Owner) -> str:
        if owner.session_id:
            return owner.thread_id
        path = self._others.registry.owner_path(tp)
        return f"{owner.thread_id} (a persistent node, which no consumer makes: delete {path})"

    def _load_offsets(self, step: ev.LoadOffsets) -> ev.Answer:
        fetched = self._others.offset_store.fetch(step.partitions)
        # A position that is there but can't be read must not become "none": the reset policy would
        # then skip messages, or bring all of them again.
        self._unusable = {tp: got.error for tp, got in fetched.items() if got.error is not None}
        return ev.OffsetsLoaded(step.round, {tp: got.offset for tp, got in fetched.items()})

    def _start(self, step: ev.Start) -> None:
        subscription = self._subscribed()
        session_id = self._others.registry.session_id
        starting: list[tuple[PartitionClaim, int | None]] = []
        for tp, thread_id in step.owned.items():
            queue = subscription.queue_of(tp, thread_id.thread)
            unusable = self._unusable.get(tp)
            if unusable is not None:
                queue.fail(PartitionFailed(tp, -1, unusable))
                continue
            offset = step.offsets.get(tp)
            starting.append((self._others.book.open(tp, queue, offset, session_id), offset))
        self._others.fetching.add(starting)

    def await_owners(self, partitions: tuple[TopicPartition, ...]) -> None:
        """Trigger as soon as an owner node that is in the way vanishes."""

        def watch() -> None:
            cause = ev.Cause.OWNER_GONE
            if self._others.registry.watch_owners(partitions, self._watches[cause]):
                # Released between the claim and now: the watch on those will never fire.
                self._trigger(cause)

        self._quietly(watch)

    def await_registration(self) -> None:
        """Trigger as soon as the registration node that is in the way vanishes."""

        def watch() -> None:
            cause = ev.Cause.REGISTRATION_GONE
            consumer_id = self._settings.consumer_id
            if not self._others.registry.watch_registration(consumer_id, self._watches[cause]):
                self._trigger(cause)

        self._quietly(watch)

    def unregister(self) -> None:
        """Delete the registration."""
        self._quietly(lambda: self._others.registry.unregister(self._settings.consumer_id))

    def fence(self) -> None:
        """Stop delivering everything; nothing of it will be committed."""
        self._others.book.revoke_all()
        self._revoked.clear()
        self._others.fetching.wake()

    def _quietly(self, call: Callable[[], object]) -> None:
        """For what only saves time: where it fails, the next try comes at its deadline anyway."""
        try:
            call()
        except ZkConsumerError as error:
            log.info("%s: %s", self._settings.consumer_id, error)

    def _subscribed(self) -> Subscription:
        assert self._subscription is not None
        return self._subscription
