"""Log repeated failures at a readable pace: the first one, then a count, then the end.

A broker that is down is dialled several times a second. The first failure is worth a log line; the
hundredth is not, but from time to time their number is.
"""

import logging
import threading
from dataclasses import dataclass

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.pace import EVERY_MS, Pace

SETTLE_MS = 10_000
_MOST = 1_000
"""Maximum number of failures remembered, since their names may come from peers."""


@dataclass(slots=True)
class _Trouble:
    """A failure that repeats.

    Attributes:
        since_ms: when it first happened.
        last_ms: when it last happened.
        pace: decides when it is logged again.
        works_since_ms: the time of the first success after it; None while it fails.
    """

    since_ms: int
    last_ms: int
    pace: Pace
    works_since_ms: int | None = None


class Repeats:
    """Logs warnings at a readable pace. Thread: any.

    Args:
        log: the logger.
        clock: the time source.
    """

    def __init__(
        self,
        log: logging.Logger,
        clock: Clock | None = None,
    ) -> None:
        self._log = log
        self._clock = clock or SystemClock()
        self._troubles: dict[str, _Trouble] = {}
        # Reentrant: a signal handler may interrupt its holder.
        self._lock = threading.RLock()

    def happened(self, about: str, text: str) -> None:
        """Log a failure if it is new, or if the last log line about it is a minute old; count it.

        Args:
            about: the name of what fails, the same each time; shown in the log.
            text: the message about this failure.
        """
        now_ms = self._clock.now_ms()
        with self._lock:
            trouble = self._troubles.pop(about, None)
            if trouble is None or now_ms - trouble.last_ms >= EVERY_MS:
                trouble = _Trouble(now_ms, now_ms, Pace(now_ms))
                more: str | None = ""
            else:
                trouble.last_ms, trouble.works_since_ms = now_ms, None
                more = trouble.pace.repeat(now_ms)
            self._troubles[about] = trouble  # reinserted: the first entry is the oldest failure
            if len(self._troubles) > _MOST:
                del self._troubles[next(iter(self._troubles))]
        if more is not None:
            self._log.warning("%s%s", text, more)

    def works(self, about: str) -> None:
        """Record a success; cheap if there was no failure before it."""
        trouble = self._troubles.get(about)
        if trouble is not None and trouble.works_since_ms is None:
            trouble.works_since_ms = self._clock.now_ms()
        if trouble is not None:
            self.tick()

    def due_ms(self) -> int | None:
        """Return the ms until ``tick`` has something to log; None: nothing is pending."""
        with self._lock:
            since = [trouble.works_since_ms for trouble in self._troubles.values()]
        known = [since_ms for since_ms in since if since_ms is not None]
        return max(0, min(known) + SETTLE_MS - self._clock.now_ms()) if known else None

    def tick(self) -> None:
        """Log the end of each failure that has not recurred for ``SETTLE_MS``."""
        now_ms = self._clock.now_ms()
        over: list[str] = []
        with self._lock:
            for about, trouble in list(self._troubles.items()):
                since_ms = trouble.works_since_ms
                if since_ms is None or now_ms - since_ms < SETTLE_MS:
                    continue
                del self._troubles[about]
                seconds = (trouble.last_ms - trouble.since_ms) // 1000
                left_out = trouble.pace.left_out
                times = f"; failures not logged: {left_out}" if left_out else ""
                over.append(f"{about}: works again; it failed for {seconds} s{times}")
        for text in over:
            self._log.warning("%s", text)
