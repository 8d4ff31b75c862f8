"""Rate-limits log lines that clients can cause: each kind is logged once, then counted."""

import logging
import re
import threading
from typing import Final

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.pace import Pace

log = logging.getLogger(__name__)

KINDS_MAX: Final = 100
"""The maximum number of kinds; all further kinds count as one."""
_OTHER: Final = "other lines like these"
_WORDS_MAX: Final = 200


class PacedLog(logging.Filter):
    """Logs a warning or error of each kind once, then the number of further ones. Thread: any.

    As a filter it rate-limits the lines of a library's logger.

    Args:
        clock: the time source; None: the system's.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__()
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._paces: dict[str, Pace] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """See ``logging.Filter``."""
        return record.levelno < logging.WARNING or self._may_log(_kind_of(record))

    def warning(self, kind: str, text: str, *args: object) -> None:
        """Log a warning of this kind, or count it."""
        if self._may_log(kind):
            log.warning(text, *args)

    def flush(self) -> None:
        """Log the numbers of suppressed lines of kinds whose interval has ended."""
        due: dict[str, int] = {}
        with self._lock:
            now_ms = self._clock.now_ms()
            for kind, pace in list(self._paces.items()):
                if not pace.is_due(now_ms):
                    continue
                if pace.left_out:
                    due[kind] = pace.left_out
                    pace.logged(now_ms)
                else:
                    del self._paces[kind]
        for kind, count in due.items():
            log.warning("%s: %d more of these", kind, count)

    def _may_log(self, kind: str) -> bool:
        """Return True if a line of this kind is to be logged now; otherwise count it."""
        with self._lock:
            if kind not in self._paces and len(self._paces) >= KINDS_MAX:
                kind = _OTHER
            pace = self._paces.get(kind)
            if pace is None:
                self._paces[kind] = Pace(self._clock.now_ms())
                return True
            pace.left_out += 1
            return False


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
