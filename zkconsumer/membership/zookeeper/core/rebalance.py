"""The rebalance of one member as a state machine: events in, actions out, nothing else. Pure.

The states are drawn in ``states``. Rules:

1. One step at a time. Triggers that arrive during a round lead to one more round, however many they
   are (Kafka's watcher thread collapses them, too).
2. Only partitions that change are touched (see ``plan``). They are stopped, then committed, then
   released, before any new one is claimed.
3. Offsets are loaded *after* the claim. The original loads them before, and so may read one
   that the old owner is about to overwrite.
4. A claim is all or nothing. After a refusal the member pauses; the pause ends early when an owner
   node that blocked the claim is deleted, and such an early try is not counted. The pause of the
   last try is waited out as well.
5. When the session ends, ownership is void at once, in any state. Session events carry the id of
   their session: late events of an earlier one change nothing.
6. After ``max_retries`` failed tries the caller gets an error; tries go on, at longer intervals.
7. At rest the member audits the group at intervals: an owner node of ours that was deleted is
   created again, a partition without an owner is claimed by the member it is assigned to, and a
   stopped one is started again.
8. A node that belongs to no session is never deleted by itself. It keeps only its own partition
   from us, not the others; every audit tries that partition again.

Source: Kafka 0.8.2.2 ``ZKRebalancerListener``.
"""

from collections.abc import Callable, Mapping

from zkconsumer.assignment.strategy import CannotAssign, assign
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.blockage import Blockage
from zkconsumer.membership.zookeeper.core.plan import (
    Ownership,
    RebalancePlan,
    owned_by_others,
    plan_round,
)
from zkconsumer.membership.zookeeper.core.retries import Retries
from zkconsumer.membership.zookeeper.core.states import RESTING, RebalanceSettings, RebalanceState
from zkconsumer.model import ConsumerThreadId, TopicPartition

_LEAVING = 0
"""The round of a leaving member: its results are ignored."""


class RebalanceCore:
    """The state machine of one member's rebalances.

    Args:
        random: returns numbers in [0, 1) that spread the retries of members that failed together.
    """

    def __init__(self, settings: RebalanceSettings, random: Callable[[], float]) -> None:
        self._settings = settings
        self._retries = Retries(settings, random)
        self._now_ms = 0
        self._round = 0
        self._joined = False
        self._session_id: int | None = None
        self._cause = ev.RebalanceCause.JOINED
        self._pending: ev.RebalanceCause | None = None
        self._registered = False
        self._just_registered = False
        self._deadline_ms: int | None = None
        self._blocked = Blockage()
        self._assignment: Ownership = {}
        self._announced: Ownership | None = None
        self._plan: RebalancePlan | None = None
        self._changed = False
        self._brokers_seen = False
        self.state = RebalanceState.OUTSIDE
        self.claimed: dict[TopicPartition, ConsumerThreadId] = {}
        self.started: dict[TopicPartition, ConsumerThreadId] = {}

    def __repr__(self) -> str:
        return (
            f"RebalanceCore({self.state.name}, round={self._round}, cause={self._cause.value!r}, "
            f"claimed={len(self.claimed)}, started={len(self.started)}, pending={self._pending})"
        )

    def next_deadline_ms(self) -> int | None:
        """Return when to send a ``DeadlineReached``; None: only after the next event."""
        return self._deadline_ms

    def receive(self, event: ev.Event, now_ms: int) -> tuple[ev.Action, ...]:
        """Process an event; return the actions to run in order; only the last may be a step."""
        self._now_ms = now_ms
        match event:
            case ev.Join():
                self._joined = True
                return self._enter(ev.RebalanceCause.JOINED)
            case ev.Withdraw():
                return self._leave()
            case ev.RebalanceTriggered(cause):
                return self._trigger(cause)
            case ev.SessionStarted(session_id):
                return self._session_started(session_id)
            case ev.SessionEnded(session_id):
                return self._session_ended(session_id)
            case ev.DeadlineReached():
                return self._tick(now_ms)
            case _:
                # A result of an earlier round is dropped: the session ended, or the member left.
                return self._respond(event) if event.round == self._round else ()

    # --- joining, leaving, sessions -----------------------------------------------------

    def _enter(self, cause: ev.RebalanceCause) -> tuple[ev.Action, ...]:
        if not self._joined or self._session_id is None or self.state is not RebalanceState.OUTSIDE:
            return ()
        self._retries.start_over()
        return self._begin(cause)

    def _leave(self) -> tuple[ev.Action, ...]:
        """Leave in the order that loses nothing, whatever the results are."""
        was_member = self._joined and self.state is not RebalanceState.OUTSIDE
        claimed, started = dict(self.claimed), tuple(self.started)
        self._joined = False
        self._outside()
        if not was_member:
            return ()
        return (
            ev.Revoke(_LEAVING, started),
            ev.Commit(_LEAVING, started),
            ev.Release(_LEAVING, claimed),
            ev.Unregister(),
        )

    def _session_started(self, session_id: int) -> tuple[ev.Action, ...]:
        if session_id == self._session_id:
            # Watches may have been lost in between: read everything again.
            return self._trigger(ev.RebalanceCause.RECONNECTED)
        fence = self._void() if self._session_id is not None else ()
        self._session_id = session_id
        cause = ev.RebalanceCause.NEW_SESSION if self._joined else ev.RebalanceCause.JOINED
        return (*fence, *self._enter(cause))

    def _session_ended(self, session_id: int) -> tuple[ev.Action, ...]:
        if session_id != self._session_id:
            return ()
        self._session_id = None
        return self._void()

    def _void(self) -> tuple[ev.Action, ...]:
        self._outside()
        return (ev.Fence("the ZooKeeper session ended"),)

    def _outside(self) -> None:
        self._round += 1
        self.state = RebalanceState.OUTSIDE
        self._deadline_ms = None
        self._pending = None
        self._registered = False
        self._blocked.forget()
        self._announced = None
        self.claimed.clear()
        self.started.clear()

    # --- rounds ---------------------------------------------------------------------

    def _trigger(self, cause: ev.RebalanceCause) -> tuple[ev.Action, ...]:
        if self.state is RebalanceState.OUTSIDE:
            return ()
        if self.state not in RESTING:
            self._pending = cause
            return ()
        if cause is ev.RebalanceCause.BROKERS and self._brokers_seen:
            # A change of leaders concerns the fetchers, not the group.
            return ()
        if cause is ev.RebalanceCause.COMMIT_FAILED and self.state is not RebalanceState.OWNING:
            # The next try reads the group anyway; nothing has changed that would make it succeed.
            return ()
        if self.state is not RebalanceState.BACKING_OFF:
            self._retries.start_over()
        self._retries.counted = self.state is not RebalanceState.BACKING_OFF
        if cause is ev.RebalanceCause.OWNER_GONE:
            self._blocked.try_again()
        return self._begin(cause)

    def _tick(self, now_ms: int) -> tuple[ev.Action, ...]:
        if self._deadline_ms is None or now_ms < self._deadline_ms:
            return ()
        if self.state is RebalanceState.OWNING:
            self._blocked.try_again()
            return self._begin(ev.RebalanceCause.AUDIT)
        if self.state is RebalanceState.FAILED:
            self._retries.start_over()
        elif self._retries.exhausted:
            return self._fail(now_ms)
        self._retries.counted = True
        return self._begin(ev.RebalanceCause.RETRY)

    def _begin(self, cause: ev.RebalanceCause) -> tuple[ev.Action, ...]:
        self._cause = cause
        self._pending = None
        self._deadline_ms = None
        self._changed = False
        self._just_registered = False
        return (ev.Begun(cause), *(self._read() if self._registered else self._register()))

    def _register(self) -> tuple[ev.Action, ...]:
        self._round += 1
        self._deadline_ms = None
        self.state = RebalanceState.REGISTERING
        assert self._session_id is not None
        return (ev.Register(self._round, self._session_id),)

    def _read(self) -> tuple[ev.Action, ...]:
        self._round += 1
        self.state = RebalanceState.READING
        audit = self._cause is ev.RebalanceCause.AUDIT
        return (ev.ReadGroup(self._round, tuple(self.claimed), audit),)

    def _respond(self, event: ev.StepResult) -> tuple[ev.Action, ...]:
        match event:
            case ev.StepDone():
                return self._step_done()
            case ev.GroupRead() if self.state is RebalanceState.READING:
                return self._group_read(event)
            case ev.ClaimRefused() if self.state is RebalanceState.CLAIMING:
                return self._claim_refused(event)
            case ev.OffsetsLoaded() if self.state is RebalanceState.LOADING:
                return self._offsets_loaded(event)
            case ev.RegistrationBlocked() if self.state is RebalanceState.REGISTERING:
                return self._registration_blocked(event)
            case ev.StepFailed() if self.state is RebalanceState.COMMITTING:
                # What was not committed is read again by the next owner: nothing is lost by
                # handing over, and holding on would stall the group.
                return self._step_done()
            case ev.StepFailed():
                if self.state is RebalanceState.CLAIMING:
                    # Some nodes may have been created all the same: the next read shows which, and
                    # those not assigned to us are then released.
                    self.claimed.update(self._current_plan().take)
                return self._back_off(event.reason)
            case _:
                raise AssertionError(f"{event!r} is not expected in state {self.state.name}")

    def _registration_blocked(self, event: ev.RegistrationBlocked) -> tuple[ev.Action, ...]:
        self._retries.blocked(self._now_ms)
        return (ev.AwaitRegistration(), *self._back_off(event.reason))

    def _step_done(self) -> tuple[ev.Action, ...]:
        match self.state:
            case RebalanceState.REGISTERING:
                self._registered = self._just_registered = True
                self._retries.registered()
                return self._read()
            case RebalanceState.STOPPING:
                return self._after_stop()
            case RebalanceState.COMMITTING:
                return self._release(self._current_plan())
            case RebalanceState.RELEASING:
                return self._after_release()
            case RebalanceState.CLAIMING:
                return self._after_claim()
            case RebalanceState.STARTING:
                return self._after_start()
            case _:
                raise AssertionError(f"no step is open in state {self.state.name}")

    def _group_read(self, event: ev.GroupRead) -> tuple[ev.Action, ...]:
        if not event.registered:
            # An operator deleted it. If it is gone again at once, something else is wrong.
            self._registered = False
            if self._just_registered:
                return self._back_off("its registration is gone again, or can't be read")
            return self._register()
        lost = self._drop_lost(event.held)
        self._brokers_seen = event.broker_count > 0
        if not self._brokers_seen:
            return (*lost, *self._without_brokers(event.held))
        result = assign(self._settings.strategy, event.view, self._settings.consumer_id)
        if isinstance(result, CannotAssign):
            return (*lost, *self._back_off(result.reason))
        own = self._settings.consumer_id
        self._assignment = result
        mine = {
            tp: thread
            for tp, thread in result.items()
            if thread.consumer_id == own and tp not in self._blocked
        }
        self._plan = plan_round(
            assigned=mine,
            claimed=self.claimed,
            started=self.started,
            held=event.held,
            stopped=event.stopped,
            recreated=event.recreated,
        )
        recreated = tuple(tp for tp in self._plan.lost if tp in event.held)
        events: tuple[ev.Action, ...] = (ev.Recreated(recreated),) if recreated else ()
        return (*lost, *events, *self._stop(self._plan))

    def _drop_lost(self, held: frozenset[TopicPartition]) -> tuple[ev.Action, ...]:
        gone = tuple(tp for tp in self.claimed if tp not in held)
        for tp in gone:
            del self.claimed[tp]
        return (ev.Lost(gone),) if gone else ()

    def _without_brokers(self, held: frozenset[TopicPartition]) -> tuple[ev.Action, ...]:
        """Stop what was lost; like the original, assign nothing while there are no brokers."""
        lost = {tp: thread for tp, thread in self.started.items() if tp not in held}
        if not lost:
            return self._settle()
        self._plan = RebalancePlan(lost=lost, give_up={}, release={}, take={})
        return self._stop(self._plan)

    def _stop(self, plan: RebalancePlan) -> tuple[ev.Action, ...]:
        self._changed = self._changed or not plan.changes_nothing
        if not plan.stop:
            return self._release(plan)
        self.state = RebalanceState.STOPPING
        return (ev.Revoke(self._round, plan.stop),)

    def _after_stop(self) -> tuple[ev.Action, ...]:
        plan = self._current_plan()
        for tp in plan.stop:
            del self.started[tp]
        if not plan.commit:
            return self._release(plan)
        self.state = RebalanceState.COMMITTING
        return (ev.Commit(self._round, plan.commit, tuple(plan.restart)),)

    def _release(self, plan: RebalancePlan) -> tuple[ev.Action, ...]:
        if not plan.release:
            return self._claim(plan)
        self.state = RebalanceState.RELEASING
        return (ev.Release(self._round, plan.release),)

    def _after_release(self) -> tuple[ev.Action, ...]:
        plan = self._current_plan()
        for tp in plan.release:
            del self.claimed[tp]
        return self._claim(plan)

    def _claim(self, plan: RebalancePlan) -> tuple[ev.Action, ...]:
        if not plan.take:
            return self._start({})
        self.state = RebalanceState.CLAIMING
        return (ev.Claim(self._round, plan.take),)

    def _after_claim(self) -> tuple[ev.Action, ...]:
        plan = self._current_plan()
        self.claimed.update(plan.take)
        self._blocked.claimed(plan.take)
        self.state = RebalanceState.LOADING
        return (ev.LoadOffsets(self._round, tuple(plan.take)),)

    def _claim_refused(self, event: ev.ClaimRefused) -> tuple[ev.Action, ...]:
        new, unreported = self._blocked.add(event.stuck)
        waiting: tuple[ev.Action, ...] = (ev.AwaitOwners(tuple(event.held_by)),)
        if unreported:
            waiting = (ev.Blocked(unreported, self._current_plan().take), *waiting)
        if new and len(event.stuck) == len(event.held_by):
            # No session will ever release these: go on without them.
            return (*waiting, *self._read())
        if not event.held_by:
            return self._back_off("owners of its partitions keep changing")
        return (*waiting, *self._back_off(owned_by_others(event.held_by)))

    def _offsets_loaded(self, event: ev.OffsetsLoaded) -> tuple[ev.Action, ...]:
        return self._start(event.offsets)

    def _start(self, offsets: Mapping[TopicPartition, int | None]) -> tuple[ev.Action, ...]:
        """Start what was claimed. If nothing was, still announce a changed assignment."""
        take = self._current_plan().take
        if not take and self._assignment == self._announced:
            return self._settle()
        self.state = RebalanceState.STARTING
        return (ev.Start(self._round, take, offsets, self._assignment),)

    def _after_start(self) -> tuple[ev.Action, ...]:
        self.started.update(self._current_plan().take)
        self._announced = self._assignment
        return self._settle()

    def _settle(self) -> tuple[ev.Action, ...]:
        self._plan = None
        self._retries.rested()
        self.state = RebalanceState.OWNING
        audit_ms = self._retries.audit_delay_ms()
        self._deadline_ms = None if audit_ms is None else self._now_ms + audit_ms
        settled = ev.Settled(dict(self.started), self._cause, self._changed)
        return (settled, *(() if self._pending is None else self._begin(self._pending)))

    def _back_off(self, reason: str) -> tuple[ev.Action, ...]:
        self._plan = None
        delay_ms = self._retries.fail(reason)
        self.state = RebalanceState.BACKING_OFF
        self._deadline_ms = self._now_ms + delay_ms
        return (ev.RetryLater(self._retries.failed, delay_ms, reason), *self._overtaken())

    def _fail(self, now_ms: int) -> tuple[ev.Action, ...]:
        reported, self._retries.reported = self._retries.reported, True
        self.state = RebalanceState.FAILED
        self._deadline_ms = now_ms + self._retries.long_delay_ms
        return () if reported else (ev.ReportFailure(self._retries.failed, self._retries.reason),)

    def _overtaken(self) -> tuple[ev.Action, ...]:
        """Retry at once after a trigger during the failed round: the reason may be gone by now."""
        return () if self._pending is None else self._trigger(self._pending)

    def _current_plan(self) -> RebalancePlan:
        assert self._plan is not None
        return self._plan
