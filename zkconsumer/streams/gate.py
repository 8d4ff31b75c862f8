"""Stop streams from handing out messages while ownership is uncertain.

A ZooKeeper session lives for its time-out after the last request that reached a server. We only
know when we sent the last request that got a response, which was earlier. For a share of the
time-out from then on, no other member can own our partitions. After that, streams wait, even in the
middle of a chunk, until ZooKeeper responds again. In a forked child they never continue.

The clock is read for each message handed out: by cursors through the lease, by all other code here.
So it does not matter which thread runs first after the whole process was suspended.

Source: none; Kafka 0.8.2.2 reads on until it learns that its session has ended.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from zkconsumer.clock import Clock
from zkconsumer.forking import ForkGuard
from zkconsumer.observe import SILENT, DeliveryPaused, DeliveryResumed, Observation
from zkconsumer.streams.lease import Lease

log = logging.getLogger(__name__)

_REPORT_AFTER_MS: Final = 500
"""A pause on an open connection is reported after streams have waited for this long, ms.

If only the caller's own code kept our threads from running, the next response comes at once.
"""
_LEAST_INTERVALS: Final = 2
"""How many expected responses may be missing before silence counts."""


class _Pause:
    """The state of one pause. It takes no lock, as a stream's thread may be interrupted."""

    __slots__ = ("message", "met_ms", "over", "unsaid")

    def __init__(self) -> None:
        self.unsaid = deque([None])
        self.message: deque[None] = deque()
        self.met_ms: int | None = None
        self.over = False


class DeliveryGate:
    """Shuts when ZooKeeper has been silent for too long; opens when it responds again.

    Args:
        clock: the time.
        allowed_silence_ms: how long streams go on without a response from ZooKeeper.
        observation: receives each pause once, when a stream meets it.
        guard: the connector's; None: a new one for this process.

    Attributes:
        lease: ends when the gate shuts; cursors check it for each message.
        suspect_since_ms: since when there has been no connection; None: connected.
    """

    def __init__(
        self,
        clock: Clock,
        allowed_silence_ms: int,
        observation: Observation = SILENT,
        guard: ForkGuard | None = None,
    ) -> None:
        self.suspect_since_ms: int | None = None
        self.lease = Lease(clock)
        self._clock = clock
        self._allowed_silence_ms = allowed_silence_ms
        self._observation = observation
        self._guard = ForkGuard("this consumer stream") if guard is None else guard
        self._last_response_ms: int | None = None
        self._allowed_unheard_ms = allowed_silence_ms
        self._until_ms: int | None = None
        self._pause = _Pause()
        self._wakers: list[Callable[[], None]] = []
        self._guard.on_fork(self._shut_for_good)

    def add_waker(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` whenever delivery may continue; it must only notify. Thread: any."""
        self._wakers.append(wake)

    def received(self, sent_ms: int, interval_ms: int) -> None:
        """Record a response of ZooKeeper. Thread: the one that calls ``trust``.

        While the connection is lost, it takes effect only with the next ``trust``.

        Args:
            sent_ms: when the request was sent, by the clock of the gate.
            interval_ms: the longest time between responses while all is well.
        """
        if self._last_response_ms is not None and sent_ms <= self._last_response_ms:
            return
        self._last_response_ms = sent_ms
        self._allowed_unheard_ms = max(self._allowed_silence_ms, _LEAST_INTERVALS * interval_ms)
        if self.suspect_since_ms is None and self._open():
            self._wake()

    def suspect(self) -> None:
        """Record that the connection is lost. Thread: the one that calls ``trust``."""
        if self.suspect_since_ms is None:
            self.suspect_since_ms = now_ms = self._clock.now_ms()
            until_ms = now_ms + self._allowed_silence_ms
            self._set(until_ms if self._until_ms is None else min(self._until_ms, until_ms))

    def trust(self) -> None:
        """Record that the connection is back. Thread: the one that calls ``suspect``."""
        self.suspect_since_ms = None
        self._open()
        self._wake()

    def is_shut(self) -> bool:
        """Return whether nothing may be handed out now. Thread: any.

        Raises:
            ConsumerForked: this is a forked child, where nothing may ever be handed out.
        """
        self._guard.check()
        pause, until_ms = self._pause, self._until_ms
        if until_ms is None or (now_ms := self._clock.now_ms()) < until_ms:
            return False
        # ``_open`` reads ``met_ms`` after setting the time: it wakes us, or we see the new time.
        if pause.met_ms is None:
            pause.met_ms = now_ms
        if self._until_ms != until_ms:
            return self.is_shut()
        if self.suspect_since_ms is not None or now_ms - pause.met_ms >= _REPORT_AFTER_MS:
            self._report_begin(pause, now_ms)
        return True

    def _open(self) -> bool:
        """Open the gate and end the pause; return whether a stream had found the gate shut."""
        heard_ms = self._last_response_ms
        self._set(None if heard_ms is None else heard_ms + self._allowed_unheard_ms)
        pause, self._pause = self._pause, _Pause()
        pause.over = True
        self._report_end(pause)
        return pause.met_ms is not None

    def _wake(self) -> None:
        for wake in self._wakers:
            wake()

    def _set(self, until_ms: int | None) -> None:
        self._until_ms = until_ms
        self.lease.end_at(until_ms)

    def _shut_for_good(self) -> None:
        self._set(0)

    def _report_begin(self, pause: _Pause, now_ms: int) -> None:
        try:
            pause.unsaid.pop()
        except IndexError:
            return
        since_ms = (
            self.suspect_since_ms if self._last_response_ms is None else self._last_response_ms
        )
        silent_ms = 0 if since_ms is None else now_ms - since_ms
        log.warning("delivery pauses: ZooKeeper has not responded for %d ms", silent_ms)
        self._observation.report(DeliveryPaused(silent_ms))
        pause.message.append(None)
        # The pause may have ended while its beginning was being reported.
        if pause.over:
            self._report_end(pause)

    def _report_end(self, pause: _Pause) -> None:
        if not pause.message:
            return
        try:
            pause.message.pop()
        except IndexError:
            return
        log.info("delivery continues: ZooKeeper responds again")
        self._observation.report(DeliveryResumed())
