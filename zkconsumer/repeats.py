"""Warnings about what fails again and again: said at once, then counted, and once when it is over.

A broker that is down is asked for several times a second. Its first failure is worth a line of the
log at once; the hundredth is not, but how many there were is, now and then.
"""

import logging
import threading
from dataclasses import dataclass

from zkconsumer.clock import Clock, SystemClock

EVERY_MS = 60_000
SETTLE_MS = 10_000
_MOST = 1_000
"""So many troubles are kept in mind; names of others are among what they are about."""


@dataclass(slots=True)
class _Trouble:
    """What is in trouble.

    Attributes:
        since_ms: when it began.
        reported_ms: when it was said last.
        last_ms: when it happened last.
        untold: how often it happened since it was said.
        works_since_ms: since when it has been well; None while it is not.
    """

    since_ms: int
    reported_ms: int
    last_ms: int
    untold: int = 0
    works_since_ms: int | None = None


class Repeats:
    """Says warnings at a pace that people can read. Thread: any.

    Args:
        log: where they go.
        clock: for the pace.
        every_ms: what goes on is said again after this long, with how often it happened.
        settle_ms: what works for this long is over.
    """

    def __init__(
        self,
        log: logging.Logger,
        clock: Clock | None = None,
        *,
        every_ms: int = EVERY_MS,
        settle_ms: int = SETTLE_MS,
    ) -> None:
        self._log = log
        self._clock = clock or SystemClock()
        self._every_ms = every_ms
        self._settle_ms = settle_ms
        self._troubles: dict[str, _Trouble] = {}
        # Reentrant: a signal handler may interrupt who holds it.
        self._lock = threading.RLock()

    def happened(self, about: str, text: str) -> None:
        """Something failed: say so, or count it.

        Args:
            about: what is in trouble, for people; the same for each time it happens.
            text: what happened this time.
        """
        now_ms = self._clock.now_ms()
        with self._lock:
            trouble = self._troubles.pop(about, None)
            if trouble is None or now_ms - trouble.last_ms >= self._every_ms:
                trouble = _Trouble(now_ms, now_ms, now_ms)
                message = text
            else:
                trouble.last_ms, trouble.works_since_ms = now_ms, None
                trouble.untold += 1
                message = ""
                if now_ms - trouble.reported_ms >= self._every_ms:
                    seconds = (now_ms - trouble.reported_ms) // 1000
                    message = f"{text} ({trouble.untold} times in the last {seconds} s)"
                    trouble.reported_ms, trouble.untold = now_ms, 0
            self._troubles[about] = trouble  # the last to happen is the last to be forgotten
            if len(self._troubles) > _MOST:
                del self._troubles[next(iter(self._troubles))]
        if message:
            self._log.warning("%s", message)

    def works(self, about: str) -> None:
        """It worked this time; costs next to nothing where it was in no trouble."""
        trouble = self._troubles.get(about)
        if trouble is not None and trouble.works_since_ms is None:
            trouble.works_since_ms = self._clock.now_ms()
        if trouble is not None:
            self.tick()

    def due_ms(self) -> int | None:
        """In how many milliseconds ``tick`` has something to say; None: not as far as is known."""
        with self._lock:
            since = [trouble.works_since_ms for trouble in self._troubles.values()]
        known = [since_ms for since_ms in since if since_ms is not None]
        return max(0, min(known) + self._settle_ms - self._clock.now_ms()) if known else None

    def tick(self) -> None:
        """Say what is over."""
        now_ms = self._clock.now_ms()
        over: list[str] = []
        with self._lock:
            for about, trouble in list(self._troubles.items()):
                since_ms = trouble.works_since_ms
                if since_ms is None or now_ms - since_ms < self._settle_ms:
                    continue
                del self._troubles[about]
                seconds = (trouble.last_ms - trouble.since_ms) // 1000
                times = f", {trouble.untold} times more" if trouble.untold else ""
                over.append(f"{about}: works again; it failed for {seconds} s{times}")
        for text in over:
            self._log.warning("%s", text)
