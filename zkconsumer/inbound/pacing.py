"""Rate-limits log lines that clients can cause: each kind is logged once, then counted."""

import logging
import re
import threading
from typing import Final, NamedTuple

from zkconsumer.clock import Clock, SystemClock

log = logging.getLogger(__name__)

EVERY_MS: Final = 60_000
_KINDS_MAX: Final = 100
_OTHER: Final = "other lines like these"
_WORDS_MAX: Final = 200


class SuppressedLines(NamedTuple):
    """A kind of line of which some were suppressed.

    Attributes:
        kind: the kind of the lines.
        lines: the number of suppressed lines.
    """

    kind: str
    lines: int


class LogRateLimit:
    """Decides which lines are logged and which are counted. Pure.

    Args:
        every_ms: the minimum interval between two lines of a kind.
        kinds_max: the maximum number of kinds; all further kinds count as one.
    """

    def __init__(self, every_ms: int = EVERY_MS, kinds_max: int = _KINDS_MAX) -> None:
        self._every_ms = every_ms
        self._kinds_max = kinds_max
        self._logged: dict[str, tuple[int, int]] = {}

    def may_log(self, kind: str, now_ms: int) -> bool:
        """Return True if a line of this kind is to be logged now; otherwise count it."""
        if kind not in self._logged and len(self._logged) >= self._kinds_max:
            kind = _OTHER
        logged_ms, suppressed = self._logged.get(kind, (None, 0))
        if logged_ms is None:
            self._logged[kind] = (now_ms, 0)
            return True
        self._logged[kind] = (logged_ms, suppressed + 1)
        return False

    def due(self, now_ms: int) -> list[SuppressedLines]:
        """Return the counts of suppressed lines of kinds whose interval has ended; reset them."""
        found = []
        for kind, (logged_ms, suppressed) in list(self._logged.items()):
            if now_ms - logged_ms < self._every_ms:
                continue
            if suppressed:
                found.append(SuppressedLines(kind, suppressed))
                self._logged[kind] = (now_ms, 0)
            else:
                del self._logged[kind]
        return found


class PacedLog(logging.Filter):
    """Logs a warning or error of each kind once, then the number of further ones. Thread: any.

    As a filter it rate-limits the lines of a library's logger.

    Args:
        limit: decides which lines are logged.
        clock: the time source.
    """

    def __init__(self, limit: LogRateLimit | None = None, clock: Clock | None = None) -> None:
        super().__init__()
        self._limit = limit or LogRateLimit()
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """See ``logging.Filter``."""
        return record.levelno < logging.WARNING or self._may_log(_kind_of(record))

    def warning(self, kind: str, text: str, *args: object) -> None:
        """Log a warning of this kind, or count it."""
        if self._may_log(kind):
            log.warning(text, *args)

    def flush(self) -> None:
        """Log the numbers of suppressed lines that are due."""
        with self._lock:
            due = self._limit.due(self._clock.now_ms())
        for kind, count in due:
            log.warning("%s: %d more of these", kind, count)

    def _may_log(self, kind: str) -> bool:
        with self._lock:
            return self._limit.may_log(kind, self._clock.now_ms())


def _kind_of(record: logging.LogRecord) -> str:
    """Return the kind of a line: its format without numbers, and the origin of its exception."""
    words = str(record.msg).strip().partition("\n")[0][:_WORDS_MAX]
    kind = re.sub(r"\d+", "#", words)
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return kind
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" at {trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}"
    return f"{kind}: {type(error).__name__}{place}"
