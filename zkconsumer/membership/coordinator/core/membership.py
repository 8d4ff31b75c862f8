"""One member of a coordinator group as a state machine: events in, actions out, nothing else.

The states are drawn in ``states``. Rules:

1. One step at a time. A reason to join again that arrives during a step leads to one more round.
2. The listener is called only in the caller's poll, so only ``Polled`` and ``CallbackDone`` lead to
   ``RevokePartitions`` and ``TakeOver``. Everything else goes on while the caller works, even a
   cooperative rebalance that revokes none of our partitions.
3. An assignment is taken over before the next join. Partitions that it revokes are given up
   first, and then the member joins once more (KIP-429).
4. A join claims exactly what we still own: all partitions that were not given up, and no others.
5. When the generation is void, so is ownership, at once; the listener is called at the next poll.
6. A caller that stops polling makes us leave; its next poll makes us rejoin, with a notice.
7. Responses to an identity that we no longer have change nothing.
8. A member that was fenced by another one stays out until the caller unsubscribes.

Source: Kafka ``AbstractCoordinator``, ``ConsumerCoordinator``; KIP-62, 345, 394, 429, 814.
"""

from collections.abc import Callable

from zkconsumer.assignment.coordinated.strategy import Shares
from zkconsumer.error_codes import ErrorCode
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.error_table import (
    Handling,
    MembershipRequest,
    explain,
    handling,
)
from zkconsumer.membership.coordinator.core.heartbeat import Heartbeat
from zkconsumer.membership.coordinator.core.identity import MemberIdentity
from zkconsumer.membership.coordinator.core.ownership import Ownership
from zkconsumer.membership.coordinator.core.search import CoordinatorSearch, Pauses
from zkconsumer.membership.coordinator.core.states import HEARTBEATS, GroupSettings, MembershipState
from zkconsumer.membership.coordinator.core.steps import PendingStep, Steps
from zkconsumer.membership.protocol import RevocationKind
from zkconsumer.model import TopicPartition

_LEAVING = 0
"""The round of a leaving member: its results are ignored."""


class MembershipCore:
    """The state machine of one member.

    Args:
        random: returns numbers in [0, 1) that spread the retries of members that failed together.
    """

    def __init__(self, settings: GroupSettings, random: Callable[[], float]) -> None:
        self._settings = settings
        self._heartbeat = Heartbeat(settings)
        # Version 0 of JoinGroup has a single timeout for both of ours.
        self.set_timeouts = self._heartbeat.set_timeouts
        self._ownership = Ownership(settings.mode)
        self._search = CoordinatorSearch(settings, random)
        self._join_pauses = Pauses(settings, random)
        self._now_ms = 0
        self._actions: list[ev.Action] = []
        self._topics: frozenset[str] | None = None
        self._open_ended = False
        self._is_polling = False
        self._left_unpolled = False
        self._fenced = False
        self._misfits = 0
        self._join_reason: ev.JoinReason | None = None
        self._steps = Steps()
        self.state = MembershipState.UNJOINED
        self.identity = MemberIdentity()

    def __repr__(self) -> str:
        return (
            f"MembershipCore({self.state.name}, {self.identity}, step={self._steps.open}, "
            f"wants={self._join_reason}, owned={len(self._ownership.owned)})"
        )

    # --- state for the shell ------------------------------------------------------------

    @property
    def owned(self) -> frozenset[TopicPartition]:
        """The partitions that may be delivered and committed, without those being given up."""
        return self._ownership.deliverable

    @property
    def trusted_until_ms(self) -> int | None:
        """The time until which ``owned`` is certain, even without a network; see ``Heartbeat``."""
        return self._heartbeat.trusted_until_ms

    def next_deadline_ms(self) -> int | None:
        """Return when to send a ``TimerExpired``; None: only after the next event."""
        if self._topics is None or self._fenced:
            return None
        first_ms, now_ms = None, self._now_ms
        for due_ms in self._deadlines():
            if due_ms is not None and due_ms > now_ms and (first_ms is None or due_ms < first_ms):
                first_ms = due_ms
        return first_ms

    def _deadlines(self) -> tuple[int | None, ...]:
        """Return the times of all timers, in no particular order; None for those not running."""
        heartbeat = self._heartbeat
        beats = self._search.located and self.state in HEARTBEATS
        send_ms = heartbeat.next_deadline_ms() if beats else None
        if not self._is_polling:
            return (send_ms,)
        is_in = self.state is not MembershipState.UNJOINED
        poll_ms = heartbeat.poll_deadline_ms if is_in else None
        return send_ms, self._search.deadline_ms, self._join_pauses.until_ms, poll_ms

    # --- events -------------------------------------------------------------------------

    def receive(self, event: ev.Event, now_ms: int) -> tuple[ev.Action, ...]:
        """Process an event; return the actions to run in order."""
        self._now_ms = now_ms
        self._actions = []
        if isinstance(event, ev.StepResult):
            self._respond(event)
        elif isinstance(event, ev.CallerEvent):
            self._on_caller_event(event)
        else:
            self._on_coordinator_event(event)
        self._check_deadlines()
        self._advance(in_poll=isinstance(event, ev.Polled | ev.CallbackDone))
        return tuple(self._actions)

    def _on_caller_event(self, event: ev.CallerEvent) -> None:
        match event:
            case ev.Subscribed(topics, open_ended):
                self._subscribed(topics, open_ended=open_ended)
            case ev.Leave():
                self._leave()
            case ev.Polled():
                self._polled()
            case ev.RejoinTriggered(cause):
                if self.identity.leading or cause is ev.JoinReason.REQUESTED:
                    self._request(cause)
            case ev.TimerExpired():
                pass

    def _on_coordinator_event(self, event: ev.CoordinatorEvent) -> None:
        match event:
            case ev.CoordinatorLost():
                self._forget_coordinator()
            case ev.CoordinatorLocated() | ev.CoordinatorUnknown():
                self._searched(event)
            case ev.HeartbeatCompleted():
                self._on_heartbeat_completed(event)
            case ev.CommitCompleted():
                if self.identity.is_sender_of(event):
                    self._refused(MembershipRequest.COMMIT, event.code)

    def _subscribed(self, topics: frozenset[str], *, open_ended: bool) -> None:
        if self._topics is None:
            self._request(ev.JoinReason.JOINED)
        elif topics != self._topics:
            self._request(ev.JoinReason.SUBSCRIPTION)
        self._topics, self._open_ended = topics, open_ended

    def _polled(self) -> None:
        self._heartbeat.on_poll(self._now_ms)
        self._is_polling = True
        if self._left_unpolled and self._topics is not None:
            self._left_unpolled = False
            self._actions.append(
                ev.Notice("polled again after leaving the group for lack of polls: rejoining")
            )

    def _leave(self) -> None:
        """Give up what we own, then leave."""
        given_up = self._ownership.leave()
        if given_up is not None:
            self._actions.append(ev.RevokePartitions(_LEAVING, *given_up))
        self._leave_group("the consumer is being closed")
        self._void(forget_member=True)
        self._steps.drop()
        self._search.drop()
        self._topics = None
        self._join_reason = None
        self._is_polling = self._left_unpolled = self._fenced = False

    def _leave_group(self, reason: str) -> None:
        # A static member's partitions are kept for it until its session ends (KIP-345).
        member_id = self.identity.member_id if self.state is not MembershipState.UNJOINED else ""
        if member_id and self._search.located and self._settings.instance_id is None:
            self._actions.append(ev.SendLeave(member_id, reason))

    def _request(self, cause: ev.JoinReason) -> None:
        self._join_reason = self._join_reason or cause

    # --- the coordinator ----------------------------------------------------------------

    def _searched(self, event: ev.CoordinatorLocated | ev.CoordinatorUnknown) -> None:
        if not self._search.on_response(event.round):
            return
        if isinstance(event, ev.CoordinatorLocated):
            self._search.on_coordinator_found()
            self._heartbeat.on_coordinator_found(self._now_ms)
        elif event.code is None or handling(MembershipRequest.FIND, event.code) is Handling.RETRY:
            self._search.pause(self._now_ms)
        else:
            self._refused(MembershipRequest.FIND, event.code)

    def _forget_coordinator(self, reason: str | None = None) -> None:
        """Drop the coordinator and requests to it; ``reason``: None if the connection broke."""
        if not self._search.located:
            return
        self._search.located = False
        self._heartbeat.in_flight = False
        if reason is not None:
            self._actions.append(ev.ForgetCoordinator(reason))
        if self._steps.drop_request():
            self._try_again()

    # --- time ---------------------------------------------------------------------------

    def _check_deadlines(self) -> None:
        if self._topics is None:
            return
        expired = self._heartbeat.is_poll_expired(self._now_ms)
        if expired and self._is_polling and self.state is not MembershipState.UNJOINED:
            self._leave_for_silence()
        if self._search.located and self.state in HEARTBEATS:
            if self._heartbeat.is_session_expired(self._now_ms):
                self._forget_coordinator("session timed out without receiving a heartbeat response")
            elif self._heartbeat.is_due(self._now_ms):
                self._heartbeat.on_sent(self._now_ms)
                self._actions.append(self.identity.heartbeat())

    def _leave_for_silence(self) -> None:
        text = f"no poll within max.poll.interval.ms={self._settings.max_poll_interval_ms}"
        advice = "raise it, or lower max.poll.records"
        self._actions.append(ev.Notice(f"{text}: leaving the group ({advice})"))
        self._leave_group("consumer poll timeout has expired.")
        self._reset("the consumer stopped polling", ev.JoinReason.POLLED_AGAIN, forget_member=True)
        self._is_polling = False
        self._left_unpolled = True

    # --- results and responses ----------------------------------------------------------

    def _on_heartbeat_completed(self, event: ev.HeartbeatCompleted) -> None:
        if not self.identity.is_sender_of(event) or not self._heartbeat.in_flight:
            return
        reaction = handling(MembershipRequest.HEARTBEAT, event.code)
        if reaction is Handling.OK:
            self._heartbeat.on_response(self._now_ms)
        elif reaction is Handling.REJOIN:
            self._heartbeat.on_response(self._now_ms, rebalancing=True)
            if self.state is MembershipState.STABLE:
                self._request(ev.JoinReason.GROUP_REBALANCES)
        else:
            self._heartbeat.on_failed(self._now_ms)
            self._refused(MembershipRequest.HEARTBEAT, event.code)

    def _respond(self, event: ev.StepResult) -> None:
        if event.round != self._steps.round or self._steps.open is None:
            self._on_late_result(event)
            return
        step = self._steps.end()
        match event:
            case ev.CallbackDone():
                if step is PendingStep.GIVING_UP and self._ownership.given_up():
                    self._request(ev.JoinReason.REVOKED)
            case ev.JoinCompleted():
                self._on_join_completed(event)
            case ev.AssignmentMade(_, shares):
                self._sync(shares)
            case ev.AssignmentFailed(_, reason):
                self._actions.append(ev.Raise(None, f"the group's leader can't assign: {reason}"))
                self._try_again()
            case ev.SyncCompleted():
                self._on_sync_completed(event)

    def _on_late_result(self, event: ev.StepResult) -> None:
        """Leave with the member id of an abandoned join: its member would hold up the group."""
        if not isinstance(event, ev.JoinCompleted) or event.code != ErrorCode.NONE:
            return
        dynamic = self._settings.instance_id is None
        if dynamic and self._search.located and event.member_id != self.identity.member_id:
            self._actions.append(ev.SendLeave(event.member_id, "its join was given up"))

    def _on_join_completed(self, event: ev.JoinCompleted) -> None:
        if event.code == ErrorCode.MEMBER_ID_REQUIRED:
            self.identity.member_id = event.member_id
            self._request(ev.JoinReason.MEMBER_ID)
        elif event.code != ErrorCode.NONE:
            self._refused(MembershipRequest.JOIN, event.code)
        elif event.protocol not in self._settings.strategies:
            self._refused(MembershipRequest.JOIN, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        else:
            self.identity.enter(event)
            self.state = MembershipState.COMPLETING
            self._heartbeat.on_joined(self._steps.begun_ms, self._now_ms)
            if self.identity.leading and not event.skip_assignment:
                round_ = self._steps.begin(PendingStep.ASSIGNING, self._now_ms)
                self._actions.append(ev.Assign(round_, event.protocol, event.members))
            else:
                self._sync(ev.NO_SHARES)

    def _on_sync_completed(self, event: ev.SyncCompleted) -> None:
        if event.code != ErrorCode.NONE:
            self._refused(MembershipRequest.SYNC, event.code)
        elif event.protocol not in ("", self.identity.protocol):
            self._refused(MembershipRequest.SYNC, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        else:
            self.state = MembershipState.STABLE
            self._heartbeat.on_confirmed(self._steps.begun_ms)
            if not self._open_ended and any(
                tp.topic not in self._subscribed_topics for tp in event.partitions
            ):
                # The subscription changed meanwhile. The next join still claims what we have.
                self._misfit()
            else:
                self._misfits = 0
                self._join_pauses.over()
                self._ownership.offered(event.partitions, self.identity.generation)

    def _misfit(self) -> None:
        """Join again for other partitions; a static member leaves if that did not help.

        The broker gives a returning static member its former partitions even if its subscription
        has changed, and again at each further join, which repeats that subscription.
        """
        self._misfits += 1
        if self._misfits > 1 and self._settings.instance_id is not None:
            self._misfits = 0
            reason = str(ev.JoinReason.WRONG_ASSIGNMENT.value)
            self._actions.append(ev.SendLeave(self.identity.member_id, reason))
            self._reset(reason, ev.JoinReason.WRONG_ASSIGNMENT, forget_member=True)
        self._join_reason = ev.JoinReason.WRONG_ASSIGNMENT
        self._join_pauses.pause(self._now_ms)

    # --- refusals -----------------------------------------------------------------------

    def _refused(self, request: MembershipRequest, code: int) -> None:
        reaction = handling(request, code)
        reason = explain(request, code)
        match reaction:
            case Handling.RETRY if request in (MembershipRequest.JOIN, MembershipRequest.SYNC):
                self._try_again()
            case Handling.RELOCATE:
                self._forget_coordinator(reason)
                if request in (MembershipRequest.JOIN, MembershipRequest.SYNC):
                    self._try_again()
            case Handling.REJOIN if request is MembershipRequest.SYNC:
                self.state = MembershipState.PREPARING
                self._request(ev.JoinReason.GROUP_REBALANCES)
            case Handling.REJOIN if self.state is MembershipState.STABLE:
                self._request(ev.JoinReason.GROUP_REBALANCES)
            case Handling.RESET_GENERATION if self._steps.open is PendingStep.JOINING:
                pass  # We are joining the next generation already: its response is under way.
            case Handling.RESET_GENERATION:
                self._reset(reason, ev.JoinReason.VOID, forget_member=False)
            case Handling.RESET_MEMBER:
                self._reset(reason, ev.JoinReason.VOID, forget_member=True)
            case Handling.FATAL | Handling.FENCED:
                self._fenced = reaction is Handling.FENCED
                self._reset(reason, ev.JoinReason.FAILED, forget_member=self._fenced)
                self._is_polling = False
                self._actions.append(ev.Raise(code, reason, final=self._fenced))
            case _:
                pass

    def _try_again(self) -> None:
        self.state = MembershipState.PREPARING
        self._request(ev.JoinReason.FAILED)
        self._join_pauses.pause(self._now_ms)

    def _reset(self, reason: str, cause: ev.JoinReason, *, forget_member: bool) -> None:
        """Leave the generation, and lose what we owned in it."""
        if self._ownership.void():
            self._actions.append(ev.FenceMember(reason))
        self._void(forget_member=forget_member)
        self._join_reason = cause

    def _void(self, *, forget_member: bool) -> None:
        self._steps.drop_request()
        self.state = MembershipState.UNJOINED
        self.identity.void(forget_member=forget_member)
        self._heartbeat.void()

    # --- next steps ---------------------------------------------------------------------

    @property
    def _subscribed_topics(self) -> frozenset[str]:
        return self._topics or frozenset()

    def _advance(self, *, in_poll: bool) -> None:
        if self._topics is None:
            return
        may_join = self._is_polling and not self._fenced
        if may_join and (search := self._search.start(self._now_ms)) is not None:
            self._actions.append(ev.FindCoordinator(search))
        if self._steps.open is not None:
            return
        if self._ownership.to_notify:
            if in_poll:
                self._notify_listener()
        elif may_join and self._join_reason is not None and self._search.located:
            self._join(self._join_reason, in_poll=in_poll)

    def _notify_listener(self) -> None:
        """Revoke first what is lost or not assigned again, then take over the assignment."""
        giving = self._ownership.give_up_for_share()
        if giving is not None:
            round_ = self._steps.begin(PendingStep.GIVING_UP, self._now_ms)
            self._actions.append(ev.RevokePartitions(round_, *giving))
        else:
            added = self._ownership.take_over()
            round_ = self._steps.begin(PendingStep.TAKING_OVER, self._now_ms)
            self._actions.append(ev.TakeOver(round_, added, self._ownership.owned))

    def _join(self, cause: ev.JoinReason, *, in_poll: bool) -> None:
        """Give up partitions that must go first; then send JoinGroup, once the pause is over."""
        if giving := self._ownership.before_join(self._subscribed_topics):
            if in_poll:
                self._ownership.give_up(giving)
                round_ = self._steps.begin(PendingStep.GIVING_UP, self._now_ms)
                self._actions.append(ev.RevokePartitions(round_, giving, RevocationKind.REVOKED))
            return
        if self._now_ms < self._join_pauses.until_ms:
            return
        self.state = MembershipState.PREPARING
        self._join_reason = None
        round_ = self._steps.begin(PendingStep.JOINING, self._now_ms)
        self._actions.append(
            self.identity.join(round_, self._subscribed_topics, self._ownership, cause)
        )

    def _sync(self, shares: Shares) -> None:
        round_ = self._steps.begin(PendingStep.SYNCING, self._now_ms)
        self._actions.append(self.identity.sync(round_, shares))
