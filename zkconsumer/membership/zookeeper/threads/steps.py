"""Runs the steps of a rebalance: turns each action into calls, and their outcome into a result.

Nothing is decided here; a step that fails becomes ``StepFailed`` with the reason.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import assert_never

from zkconsumer.errors import OffsetCommitFailed, PartitionFailed, ZkConsumerError
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.threads.commits import OffsetCommitter, OffsetOf
from zkconsumer.membership.zookeeper.threads.environment import MemberSettings, MemberWorld
from zkconsumer.membership.zookeeper.threads.group_reader import GroupReader
from zkconsumer.membership.zookeeper.threads.listener_calls import ListenerCalls
from zkconsumer.membership.zookeeper.threads.ownership import OwnedClaims
from zkconsumer.membership.zookeeper.threads.subscription import StreamSubscription
from zkconsumer.model import TopicPartition
from zkconsumer.observe import PositionReset
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.offsets.topic_checked import former_topic_warnings
from zkconsumer.zk.group_values import ClaimConflict, Owner, RegistrationConflict

log = logging.getLogger(__name__)

_HAND_OVER_TRIES = 2
"""The second try waits for a connection that broke during the first. More would stall the group.

A leaving member has one try: it has already waited for the connection.
"""


class RebalanceSteps:
    """Executes actions against ZooKeeper, the offset store and the fetchers. Thread: control.

    Args:
        committer: commits before a hand-over.
        automatic: selects the offsets of those commits; None without automatic commits.
        listener: called before a hand-over, and after an assignment.
    """

    def __init__(
        self,
        settings: MemberSettings,
        world: MemberWorld,
        *,
        claims: OwnedClaims,
        committer: OffsetCommitter,
        automatic: OffsetOf | None,
        listener: ListenerCalls,
    ) -> None:
        self._consumer_id = settings.consumer_id
        self._world = world
        self._claims = claims
        self._committer = committer
        self._automatic = automatic
        self._listener = listener
        self._group_reader = GroupReader(settings, world, claims)
        self._subscription: StreamSubscription | None = None
        self._fetched: dict[TopicPartition, FetchedOffset] = {}

    def subscribe(self, subscription: StreamSubscription | None) -> None:
        """Set the subscription to register and deliver to, before joining."""
        self._subscription = subscription

    def run(self, step: ev.Step) -> ev.StepResult:
        """Run a step and return its result."""
        try:
            return self._run(step)
        except ZkConsumerError as error:
            return ev.StepFailed(step.round, f"{type(step).__name__}: {error}")

    def _run(self, step: ev.Step) -> ev.StepResult:
        match step:
            case ev.Register():
                return self._register(step)
            case ev.ReadGroup():
                return self._group_reader.read(step, self._subscribed())
            case ev.Revoke(_, partitions):
                self._claims.revoke(partitions)
                self._world.fetching.wake()
            case ev.Commit():
                self._transfer(step)
            case ev.Release(_, owned):
                self._world.registry.release(owned)
                self._claims.released(owned)
            case ev.Claim():
                return self._claim(step)
            case ev.LoadOffsets():
                return self._load_offsets(step)
            case ev.Start():
                self._start(step)
            case _:
                assert_never(step)
        return ev.StepDone(step.round)

    def _register(self, step: ev.Register) -> ev.StepResult:
        registration = self._subscribed().registration(self._world.clock.wall_ms())
        result = self._world.registry.register(
            self._consumer_id, registration, session_id=step.session_id
        )
        if isinstance(result, RegistrationConflict):
            return ev.RegistrationBlocked(step.round, self._conflict_text(result))
        return ev.StepDone(step.round)

    def _conflict_text(self, conflict: RegistrationConflict) -> str:
        consumer_id = self._consumer_id
        if conflict.session_id:
            return (
                f"consumer id {consumer_id} is registered by session 0x{conflict.session_id:x}: "
                "waiting for that session to end"
            )
        path = self._world.registry.member_path(consumer_id)
        return f"{path} is a persistent node, which no consumer creates: delete it"

    def _transfer(self, step: ev.Commit) -> None:
        """Let the caller finish, then commit: we still own these partitions."""
        claims = self._claims.transfer(step.partitions)
        leaving = set(step.partitions).difference(step.stay)
        finished = self._listener.releasing(leaving)
        if not finished:
            self._claims.forget(leaving)
        if self._automatic is None or not finished:
            return
        for tries_left in reversed(range(_HAND_OVER_TRIES if step.round else 1)):
            try:
                self._committer.commit(claims, self._automatic, retry=True)
            except OffsetCommitFailed as error:
                if tries_left == 0:
                    log.warning(
                        "%s, before handing over: %s: records after the committed offsets will "
                        "be delivered again",
                        self._consumer_id,
                        error,
                    )
            else:
                return

    def _claim(self, step: ev.Claim) -> ev.StepResult:
        result = self._world.registry.claim(step.wanted)
        if isinstance(result, ClaimConflict):
            held_by = {tp: self._owner_text(tp, owner) for tp, owner in result.held.items()}
            stuck = {tp: held_by[tp] for tp, owner in result.held.items() if not owner.session_id}
            return ev.ClaimRefused(step.round, held_by, stuck)
        return ev.StepDone(step.round)

    def _owner_text(self, tp: TopicPartition, owner: Owner) -> str:
        if owner.session_id:
            return owner.thread_id
        path = self._world.registry.owner_path(tp)
        return f"{owner.thread_id} (a persistent node, which no consumer creates: delete {path})"

    def _load_offsets(self, step: ev.LoadOffsets) -> ev.StepResult:
        self._fetched = self._world.offset_store.fetch(step.partitions)
        return ev.OffsetsLoaded(
            step.round, {tp: fetched.offset for tp, fetched in self._fetched.items()}
        )

    def _start(self, step: ev.Start) -> None:
        self._listener.starting(step.assignment)
        subscription = self._subscribed()
        session_id = self._world.registry.session_id
        starting: list[tuple[PartitionClaim, int | None]] = []
        self._report_former_topics(step.owned)
        for tp, thread_id in step.owned.items():
            queue = subscription.queue_of(tp, thread_id.thread)
            fetched = self._fetched.get(tp, FetchedOffset(None))
            if fetched.error is not None:
                # A committed offset that can't be read must not become "none": the reset policy
                # would then skip messages, or deliver all of them again.
                queue.fail(PartitionFailed(tp, -1, fetched.error))
                self._claims.refuse(tp)
                continue
            claim = self._claims.open(
                tp, queue, step.offsets.get(tp), session_id, fetched.topic_czxid
            )
            claim.committed_metadata = fetched.metadata
            starting.append((claim, claim.consumed_offset))
        self._world.fetching.add(starting)

    def _report_former_topics(self, partitions: Iterable[TopicPartition]) -> None:
        """Warn of topics that were deleted and created again since the group read them."""
        former: dict[TopicPartition, int] = {}
        for tp in partitions:
            fetched = self._fetched.get(tp, FetchedOffset(None))
            offset = fetched.former
            if offset is None and fetched.offset is None:
                offset = self._claims.read_of_former_topic(tp, fetched.topic_czxid)
            if offset is not None:
                former[tp] = offset
                self._world.observation.report(PositionReset(tp, offset))
        for topic, text in former_topic_warnings(former).items():
            log.warning("group %s: topic %s %s", self._world.registry.group_id, topic, text)

    def await_owners(self, partitions: tuple[TopicPartition, ...]) -> None:
        """Trigger a rebalance as soon as an owner node that blocks us is deleted."""

        def watch() -> None:
            cause = ev.RebalanceCause.OWNER_GONE
            if self._world.registry.watch_owners(partitions, self._group_reader.watches[cause]):
                # Released between the claim and now: these watches will never fire.
                self._world.trigger(cause)

        self._quietly(watch)

    def await_registration(self) -> None:
        """Trigger a rebalance as soon as the registration node that blocks ours is deleted."""

        def watch() -> None:
            cause = ev.RebalanceCause.REGISTRATION_GONE
            watch_gone = self._group_reader.watches[cause]
            if not self._world.registry.watch_registration(self._consumer_id, watch_gone):
                self._world.trigger(cause)

        self._quietly(watch)

    def block(self, blocked: ev.Blocked) -> None:
        """Fail the streams of partitions that can't be claimed until an operator intervenes."""
        for tp, reason in sorted(blocked.reasons.items()):
            queue = self._subscribed().queue_of(tp, blocked.wanted[tp].thread)
            queue.fail(PartitionFailed(tp, -1, f"it can't be claimed: {reason}"))

    def unregister(self) -> bool:
        """Delete the registration; return False if it may still exist."""
        return self._quietly(lambda: self._world.registry.unregister(self._consumer_id))

    def fence(self) -> None:
        """Stop delivering everything; none of it will be committed."""
        revoked = self._claims.revoke_all()
        self._world.fetching.wake()
        self.report_lost([claim.topic_partition for claim in revoked])

    def report_lost(self, partitions: Sequence[TopicPartition]) -> None:
        """Report partitions that were lost without a hand-over to the listener."""
        self._listener.losing(partitions)

    def _quietly(self, call: Callable[[], object]) -> bool:
        """Run a call that will be repeated anyway if it fails; return whether it succeeded."""
        try:
            call()
        except ZkConsumerError as error:
            log.info("%s: %s", self._consumer_id, error)
            return False
        return True

    def _subscribed(self) -> StreamSubscription:
        assert self._subscription is not None
        return self._subscription
