"""The control thread: one per member, owner of registration, ownership and offsets.

It takes one message at a time from its mailbox, feeds it to the rebalance core, runs the actions
and feeds their results back. Nothing else touches ZooKeeper or the claims, so there is no lock, and
no lock order. Callbacks of the ZooKeeper client and calls of the user's threads only put messages
into the mailbox.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable

from zkconsumer.errors import ConsumerClosed, RebalanceFailed
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.rebalance import RebalanceCore
from zkconsumer.membership.zookeeper.threads.commit_service import CommitService
from zkconsumer.membership.zookeeper.threads.environment import MemberSettings, MemberWorld
from zkconsumer.membership.zookeeper.threads.journal import RebalanceJournal
from zkconsumer.membership.zookeeper.threads.messages import (
    CloseRequest,
    CommitAheadRequest,
    CommitRequest,
    ControlTask,
    JoinRequest,
    Message,
    ThreadDied,
    WithdrawRequest,
)
from zkconsumer.membership.zookeeper.threads.ownership import OwnedClaims
from zkconsumer.membership.zookeeper.threads.poll_watch import PollWatch
from zkconsumer.membership.zookeeper.threads.steps import RebalanceSteps
from zkconsumer.membership.zookeeper.threads.subscription import StreamSubscription

log = logging.getLogger(__name__)

_FINISH_INTERVAL_MS = 1_000
_UNFINISHED = (
    "ZooKeeper did not respond when this member left the group, and nodes of it still have to be "
    "deleted: try again when ZooKeeper is back"
)


class ControlThread:
    """Runs the rebalance core of one member.

    Attributes:
        poll_watch: makes the member leave when its caller stops polling; None: it need not poll.
            Set before the thread runs.
    """

    def __init__(
        self,
        settings: MemberSettings,
        world: MemberWorld,
        *,
        core: RebalanceCore,
        claims: OwnedClaims,
        steps: RebalanceSteps,
        commits: CommitService,
    ) -> None:
        self._group_id = settings.group_id
        self._leave_timeout_ms = settings.leave_timeout_ms
        self._store = world.store
        self._clock = world.clock
        self._core = core
        self._claims = claims
        self._steps = steps
        self._commits = commits
        self._journal = RebalanceJournal(world.observation, world.clock)
        self._subscription: StreamSubscription | None = None
        self._joining: JoinRequest | None = None
        self._last_join: JoinRequest | None = None
        self._unfinished: list[ev.Action] = []
        self._finish_due_ms = 0
        self._close: CloseRequest | None = None
        self._backlog: deque[Message] = deque()
        self.mailbox = world.mailbox
        self.poll_watch: PollWatch | None = None
        self._thread_id: int | None = None
        self.done = False

    @property
    def is_current(self) -> bool:
        """Whether the caller runs on this thread, as a rebalance listener does."""
        return threading.get_ident() == self._thread_id

    def stop(self) -> None:
        """Ask the thread to shut down the member. Thread: any."""
        self.mailbox.put(CloseRequest())

    def run(self) -> None:
        """Process messages until a ``CloseRequest``; then leave the group in order.

        After an error the session is ended: a dead member that stays registered would keep its
        partitions from the others.
        """
        self._thread_id = threading.get_ident()
        try:
            self._work()
        except BaseException:
            self._store.close()
            raise

    def _work(self) -> None:
        try:
            while self._close is None:
                self._turn()
            self._leave()
        except BaseException as error:
            self._die(error)
            raise
        finally:
            self.done = True
            # A later thread may get the same id.
            self._thread_id = None
            self._refuse_the_rest()

    def _turn(self) -> None:
        now_ms = self._clock.now_ms()
        finish_ms = self._finish_due_ms if self._unfinished else None
        watch = self.poll_watch
        silent_ms = None if watch is None else watch.due_ms
        dues = (self._core.next_deadline_ms(), self._commits.due_ms, finish_ms, silent_ms)
        due = [due_ms for due_ms in dues if due_ms is not None]
        message = self._next_message(max(0, min(due) - now_ms) if due else None)
        if message is not None:
            self._handle(message)
        now_ms = self._clock.now_ms()
        if self._core.next_deadline_ms() is not None:
            self._feed(ev.DeadlineReached())
        self._commits.tick(now_ms)
        if watch is not None and watch.take(now_ms) and self._last_join is not None:
            self._withdraw(self._last_join)
        if self._unfinished and now_ms >= self._finish_due_ms:
            self._finish_leaving()

    def _next_message(self, timeout_ms: int | None) -> Message | None:
        """Return the next message; drop repeated triggers, since one round reads everything.

        When a member with a thousand partitions leaves, a thousand watches fire.
        """
        if self._backlog:
            return self._backlog.popleft()
        message = self.mailbox.get(timeout_ms)
        if isinstance(message, ev.RebalanceTriggered):
            seen = {message}
            for following in self.mailbox.drain():
                if not isinstance(following, ev.RebalanceTriggered):
                    self._backlog.append(following)
                elif following not in seen:
                    self._backlog.append(following)
                    seen.add(following)
        return message

    def _handle(self, message: Message) -> None:
        match message:
            case JoinRequest():
                self._join(message)
            case WithdrawRequest(join, reply):
                self._withdraw(join)
                reply.set_result(None)
            case CommitRequest():
                self.commit(message)
            case CommitAheadRequest():
                self._commits.serve_ahead(message)
            case ControlTask(work, reply):
                reply.complete(work)
            case CloseRequest():
                self._close = message
            case ThreadDied(error):
                raise error
            case ev.SessionStarted() if self._unfinished:
                self._finish_leaving()
                self._feed(message)
            case ev.SessionEnded():
                self._unfinished = []
                self._feed(message)
            case _:
                self._feed(message)

    def commit(self, request: CommitRequest) -> None:
        """Execute a commit at once. Thread: control, also inside the caller's listener."""
        self._commits.serve(request)

    def attend(self, ended: Callable[[], bool], deadline_ms: int) -> None:
        """Serve the caller's commits and tasks while a rebalance waits for the caller.

        Other messages wait. The end of the session ends the wait.
        Thread: control, from a listener.

        Args:
            ended: returns whether the caller is done; checked after every message.
            deadline_ms: when to go on without the caller.
        """
        waiting, self._backlog = self._backlog, deque()
        try:
            while not ended():
                if waiting:
                    message: Message | None = waiting.popleft()
                else:
                    left_ms = deadline_ms - self._clock.now_ms()
                    message = self.mailbox.get(left_ms) if left_ms > 0 else None
                match message:
                    case CommitRequest() | ControlTask():
                        self._handle(message)
                        continue
                    case None:
                        break
                    case _:
                        self._backlog.append(message)
                if isinstance(message, ev.SessionEnded):
                    break
        finally:
            # Also if this thread dies: every message that awaits a reply is kept, to be refused.
            self._backlog.extend(waiting)

    # --- rebalancing ------------------------------------------------------------------------------

    def _feed(self, event: ev.Event) -> None:
        """Run the core until no step is open: feed each step's result back before anything else."""
        todo = list(self._core.receive(event, self._clock.now_ms()))
        while todo:
            action = todo.pop(0)
            response = self._act(action)
            if response is not None:
                assert not todo, "a step is the last of its actions"
                todo.extend(self._core.receive(response, self._clock.now_ms()))

    def _act(self, action: ev.Action) -> ev.StepResult | None:
        self._journal.note(action)
        match action:
            case ev.Begun() | ev.RetryLater():
                pass
            case ev.Lost(partitions) | ev.Recreated(partitions):
                # Some may have been released: only the response got lost.
                self._claims.released(partitions)
                self._steps.report_lost(partitions)
            case ev.Blocked():
                self._steps.block(action)
            case ev.Fence():
                self._steps.fence()
            case ev.AwaitOwners(partitions):
                self._steps.await_owners(partitions)
            case ev.AwaitRegistration():
                self._steps.await_registration()
            case ev.Unregister():
                gone = self._steps.unregister()
                return None if gone else ev.StepFailed(0, "the registration is still there")
            case ev.Settled():
                self._settled()
            case ev.ReportFailure(attempts, reason):
                self._give_up(attempts, reason)
            case _:
                began_ms = self._clock.now_ms()
                response = self._steps.run(action)
                self._journal.step_done(action, began_ms, response)
                return response
        return None

    def _settled(self) -> None:
        if self._joining is not None:
            self._journal.joined()
            self._joining.reply.set_result(None)
            self._joining = None

    def _give_up(self, attempts: int, reason: str) -> None:
        error = RebalanceFailed(f"{self}: the rebalance failed after {attempts} tries: {reason}")
        if self._joining is not None:
            # Withdraw after this turn, since a step of the core may still be open; but queue it
            # before the caller gets the error and may join again.
            self.mailbox.put(WithdrawRequest(self._joining))
            self._joining.reply.set_error(error)
            self._joining = None
        elif self._subscription is not None:
            for queue in self._subscription.queues():
                queue.fail(error)

    def _join(self, request: JoinRequest) -> None:
        self._finish_leaving()
        if self._unfinished:
            request.reply.set_error(RebalanceFailed(f"{self}: {_UNFINISHED}"))
            return
        self._subscription = request.subscription
        self._joining = self._last_join = request
        self._journal.joining()
        self._steps.subscribe(request.subscription)
        self._feed(ev.Join())

    def _withdraw(self, join: JoinRequest) -> None:
        """Leave, unless another join followed: an abandoned registration would keep its share."""
        if join is not self._last_join:
            return
        self._joining = self._last_join = None
        self._unfinished = self._run_leaving()
        self._subscription = None

    # --- the end ----------------------------------------------------------------------------------

    def _leave(self) -> None:
        self._run_leaving()
        self._end_streams()

    def _end_streams(self) -> None:
        """Close every queue; may be repeated."""
        if self._subscription is not None:
            for queue in self._subscription.queues():
                queue.close()

    def _run_leaving(self) -> list[ev.Action]:
        """Leave the group: run every step, whatever the outcome of the previous one.

        Returns:
            The steps still to be done while the session lives.
        """
        unfinished: list[ev.Action] = []
        for action in self._core.receive(ev.Withdraw(), self._clock.now_ms()):
            if isinstance(action, ev.Revoke):
                self._act(action)
                if self._close is not None:
                    # The callers' threads need not wait for ZooKeeper.
                    self._end_streams()
                    self._await_zookeeper()
            elif not self._store.connected:
                log.warning(
                    "%s: %s skipped: no connection to ZooKeeper", self, type(action).__name__
                )
                if isinstance(action, ev.Commit):
                    # No hand-over will report these partitions.
                    self._steps.report_lost(action.partitions)
                unfinished.append(action)
            else:
                response = self._act(action)
                if isinstance(response, ev.StepFailed):
                    log.warning("%s: while leaving: %s", self, response.reason)
                    unfinished.append(action)
        self._journal.left()
        return [action for action in unfinished if isinstance(action, ev.Release | ev.Unregister)]

    def _finish_leaving(self) -> None:
        """Retry the steps that a withdrawal could not do: these nodes block other members."""
        self._finish_due_ms = self._clock.now_ms() + _FINISH_INTERVAL_MS
        if self._store.connected:
            responses = [(action, self._act(action)) for action in self._unfinished]
            self._unfinished = [
                action for action, response in responses if isinstance(response, ev.StepFailed)
            ]

    def _await_zookeeper(self) -> None:
        """Wait for a lost connection to return: what is still committed is not delivered again.

        Waits no longer than the session may live without it: after that there is nothing to
        release, and no right to commit.
        """
        deadline_ms = self._clock.now_ms() + self._leave_timeout_ms
        while not self._store.connected:
            left_ms = deadline_ms - self._clock.now_ms()
            message = self.mailbox.get(left_ms) if left_ms > 0 else None
            if message is None or isinstance(message, ev.SessionEnded):
                return
            self._backlog.append(message)

    def _die(self, error: BaseException) -> None:
        """Handle an unexpected error: drop all claims and fail every stream."""
        self._steps.fence()
        failure = ConsumerClosed(f"{self}: the control thread died: {error!r}")
        failure.__cause__ = error
        if self._joining is not None:
            self._joining.reply.set_error(failure)
        if self._subscription is not None:
            for queue in self._subscription.queues():
                queue.fail(failure)
        self._end_streams()

    def _refuse_the_rest(self) -> None:
        """Refuse every message that still awaits a reply; ``done`` is set, so no more follow."""
        closed = ConsumerClosed(f"{self}: shut down")
        if self._joining is not None:
            self._joining.reply.set_error(closed)
            self._joining = None
        for message in (self._close, *self._backlog, *self.mailbox.drain()):
            match message:
                case CloseRequest(reply=end_reply) | WithdrawRequest(reply=end_reply):
                    end_reply.set_result(None)
                case CommitRequest(reply=commit_reply):
                    commit_reply.set_error(closed)
                case CommitAheadRequest(reply=ahead_reply):
                    ahead_reply.set_result(value=False)
                case JoinRequest(reply=join_reply):
                    join_reply.set_error(closed)
                case ControlTask(reply=task_reply):
                    task_reply.set_error(closed)
                case _:
                    pass

    def __str__(self) -> str:
        return f"group {self._group_id}"
