"""Sends notifications: one thread judges the states, and one thread for each target sends.

Neither the reader of the cluster nor another target waits for a target. For an unreachable target
only the undelivered difference is kept (``outbox``). A bug does not end a thread: it is logged and
shown as the ``problem``, and the next state is judged as usual.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.notify.alerts import Alert, Alerts, Timing
from zkconsumer.notify.outbox import Notification, Outbox, Policy
from zkconsumer.notify.targets import CommandTarget, NotSent, Receiver, Rejected
from zkconsumer.notify.templates import NotificationOrigin
from zkconsumer.notify.troubles import GroupObservation, Subject, observe
from zkconsumer.printable import fault_text
from zkconsumer.repeats import Repeats
from zkconsumer.scope import ThreadScope, WakeEvent
from zkconsumer.web.state import ClusterState

log = logging.getLogger(__name__)

_CLOSE_MS: Final = 5_000
_PENDING_MS: Final = 1_000
"""The interval at which pending messages are checked, even if no new state comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A target and the policy of its notifications.

    Attributes:
        name: the name of the target in logs.
        target: the receiver.
        policy: which alerts to send, and when.
    """

    name: str
    target: Receiver
    policy: Policy = field(default_factory=Policy)


class Notifier:
    """Takes cluster states, and notifies targets of troubles. Thread: any.

    Args:
        routes: the targets.
        origin: the cluster and page that messages name.
        timing: how long a trouble has to last.
        clock: the time source.
    """

    def __init__(
        self,
        routes: tuple[Route, ...],
        origin: NotificationOrigin,
        timing: Timing | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._alerts = Alerts(timing)
        self._scope = ThreadScope("notify", clock=self._clock)
        self._wakeup = WakeEvent()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._observation: Callable[[], GroupObservation] | None = None
        self._repeats = Repeats(log, self._clock)
        self._problem: str | None = None
        self._senders = [_Sender(route, origin, self._clock) for route in routes]

    def start(self) -> None:
        """Start the threads."""
        self._scope.spawn("judge", self._run, stop=self._request_stop)
        for sender in self._senders:
            self._scope.spawn(sender.name, sender.run, stop=sender.request_stop)

    @property
    def problem(self) -> str | None:
        """Why a target gets no notifications now; None if all do."""
        return self._problem or next(
            (sender.problem for sender in self._senders if sender.problem), None
        )

    def take(self, state: ClusterState) -> None:
        """Take a new state without waiting; if states come too fast, only the latest is judged."""
        with self._lock:
            self._observation = lambda: observe(state)
        self._wakeup.notify()

    def request_stop(self) -> None:
        """Request all threads to end; ``close`` waits for them."""
        self._scope.close(0)

    def close(self, timeout_ms: int = _CLOSE_MS) -> list[str]:
        """End the threads, and log the number of undelivered messages, which are lost. Idempotent.

        Returns:
            The names of the threads that still run after ``timeout_ms``.
        """
        left = self._scope.close(timeout_ms)
        for sender in self._senders:
            sender.abort()
            sender.report_undelivered()
        return left

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wakeup.wait()
            with self._lock:
                observation, self._observation = self._observation, None
            if observation is None or self._stop.is_set():
                continue
            try:
                self._judge(observation())
            except Exception as error:  # noqa: BLE001 - the next state may be judged again
                self._problem = f"groups can't be evaluated: {_reason(error)}"
                self._repeats.happened(
                    "judging", f"{self._problem}; no notifications about them are sent"
                )
            else:
                self._problem = None
                self._repeats.works("judging")

    def _judge(self, observation: GroupObservation) -> None:
        self._alerts.receive(observation, self._clock.now_ms(), self._clock.wall_ms())
        current = self._alerts.current()
        for sender in self._senders:
            sender.take(current)

    def _request_stop(self) -> None:
        self._stop.set()
        self._wakeup.notify()


class _Sender:
    """Sends to one target."""

    def __init__(self, route: Route, origin: NotificationOrigin, clock: Clock) -> None:
        self.name = route.name
        self._target = route.target
        self._outbox = Outbox(route.policy)
        self._origin = origin
        self._clock = clock
        self._repeats = Repeats(log, clock)
        self._alerts: Mapping[Subject, Alert] = {}
        self._wakeup = WakeEvent()
        self._stop = threading.Event()
        self.problem: str | None = None

    def take(self, alerts: Mapping[Subject, Alert]) -> None:
        """Take the present alerts. Thread: any."""
        self._alerts = alerts
        self._wakeup.notify()

    def request_stop(self) -> None:
        """Request the end after the present message. Thread: any."""
        self._stop.set()
        self._wakeup.notify()

    def run(self) -> None:
        """Send until the end."""
        while not self._stop.is_set():
            is_pending = self._outbox.pending(self._clock.now_ms()) > 0
            self._wakeup.wait(_PENDING_MS if is_pending else None)
            self._wakeup.clear()
            self._outbox.update(self._alerts)
            while not self._stop.is_set() and (messages := self._due()) and self._send(messages):
                pass

    def abort(self) -> None:
        """Kill a command that still runs, since nothing else would end it. Thread: any."""
        if isinstance(self._target, CommandTarget):
            self._target.abort()

    def report_undelivered(self) -> None:
        """Log how many messages were not sent."""
        left = self._outbox.pending(self._clock.now_ms())
        if left:
            log.warning("%s: %d messages were not sent before shutdown", self.name, left)

    def _due(self) -> tuple[Notification, ...]:
        return self._outbox.due(self._clock.now_ms(), self._clock.wall_ms())

    def _send(self, messages: tuple[Notification, ...]) -> bool:
        """Send messages; return whether to continue with the next ones."""
        about = f"notifying {self.name}"
        try:
            self._target.send(messages, self._origin)
        except Rejected as error:
            log.warning("%s: refused for good: %s", about, error)
        except NotSent as error:
            return self._failed(about, str(error))
        except Exception as error:  # noqa: BLE001 - a bug must not cost other messages
            return self._failed(about, _reason(error))
        else:
            self._repeats.works(about)
        self.problem = None
        self._outbox.delivered(messages, self._clock.now_ms())
        return True

    def _failed(self, about: str, reason: str) -> bool:
        self.problem = f"{about}: {reason}"
        self._repeats.happened(about, f"{self.problem}; trying again")
        self._outbox.failed(self._clock.now_ms())
        return False


def _reason(error: Exception) -> str:
    return f"a bug in zkconsumer, {fault_text(error)}"
