"""Whether streams may hand messages out at all: not while nobody knows what is owned.

While ZooKeeper does not answer, the session may have ended on its side, and others may read our
partitions already. For a share of the session time-out that can't be; from then on streams wait,
also in the middle of a chunk, until ZooKeeper answers again. In a forked child they never go on.

Source: none; Kafka 0.8.2.2 reads on until it hears that its session has ended.
"""

import logging
from collections import deque
from collections.abc import Callable

from zkconsumer.clock import Clock
from zkconsumer.forking import ForkGuard
from zkconsumer.observe import SILENT, DeliveryPaused, DeliveryResumed, Observation
from zkconsumer.streams.flag import Flag

log = logging.getLogger(__name__)


class _Pause:
    """What was reported of one silence. It takes no lock: a stream's thread may be interrupted."""

    __slots__ = ("over", "said", "unsaid")

    def __init__(self) -> None:
        self.unsaid = deque([None])
        self.said: deque[None] = deque()
        self.over = False


class DeliveryGate:
    """Open while ZooKeeper answers, or has not been silent for too long.

    Args:
        clock: the time.
        allowed_silence_ms: for how long streams go on without an answer from ZooKeeper.
        observation: hears of every pause once, when a stream first meets it.
        guard: of the connector; without one, of the process that makes the gate.

    Attributes:
        suspect_since_ms: None while all is well: what a stream looks at for each message. Else
            ask ``is_shut``.
        suspicion: up while that is not None, for streams in native code.
    """

    def __init__(
        self,
        clock: Clock,
        allowed_silence_ms: int,
        observation: Observation = SILENT,
        guard: ForkGuard | None = None,
    ) -> None:
        self.suspect_since_ms: int | None = None
        self.suspicion = Flag()
        self._clock = clock
        self._allowed_silence_ms = allowed_silence_ms
        self._observation = observation
        self._guard = ForkGuard("this consumer stream") if guard is None else guard
        self._pause: _Pause | None = None
        self._wakers: list[Callable[[], None]] = []
        self._guard.on_fork(self._suspect_for_good)

    def add_waker(self, wake: Callable[[], None]) -> None:
        """Call this when delivery may go on; it must only put. Thread: any."""
        self._wakers.append(wake)

    def suspect(self) -> None:
        """ZooKeeper does not answer from now on. Thread: the one that calls ``trust``."""
        if self.suspect_since_ms is None:
            self._pause = _Pause()
            self.suspect_since_ms = self._clock.now_ms()
            self.suspicion.is_up = True

    def trust(self) -> None:
        """ZooKeeper answers; what is owned is known. Thread: the one that calls ``suspect``."""
        pause, self._pause = self._pause, None
        self.suspect_since_ms = None
        self.suspicion.is_up = False
        if pause is not None:
            pause.over = True
            self._report_end(pause)
        for wake in self._wakers:
            wake()

    def is_shut(self) -> bool:
        """Whether nothing may be handed out now. Thread: any.

        Raises:
            ConsumerForked: nothing ever may: this is a forked child.
        """
        self._guard.check()
        since_ms, pause = self.suspect_since_ms, self._pause
        if since_ms is None:
            return False
        silent_ms = self._clock.now_ms() - since_ms
        if silent_ms < self._allowed_silence_ms:
            return False
        if pause is not None:
            self._report_begin(pause, silent_ms)
        return True

    def _suspect_for_good(self) -> None:
        self.suspect_since_ms = 0
        self.suspicion.is_up = True

    def _report_begin(self, pause: _Pause, silent_ms: int) -> None:
        try:
            pause.unsaid.pop()
        except IndexError:
            return
        log.warning("delivery pauses: ZooKeeper has been silent for %d ms", silent_ms)
        self._observation.report(DeliveryPaused(silent_ms))
        pause.said.append(None)
        # It may have ended while its begin was being told.
        if pause.over:
            self._report_end(pause)

    def _report_end(self, pause: _Pause) -> None:
        try:
            pause.said.pop()
        except IndexError:
            return
        log.info("delivery goes on: ZooKeeper answers again")
        self._observation.report(DeliveryResumed())
