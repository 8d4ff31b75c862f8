"""Paces kazoo's warnings: a connection that breaks ten times a second causes two each time.

Our own events tell which member's connection broke, and how often.
"""

import logging
from typing import Final

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.pace import Pace

NAME: Final = "kazoo.client.zkconsumer"
"""Below kazoo's own logger, so that its level and handlers apply."""


class WarningPace(logging.Filter):
    """Passes each kind of warning once a minute, and lowers repeats to DEBUG. Thread: any.

    Args:
        clock: the time source; None: the system's.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__()
        self._clock = clock or SystemClock()
        self._paces: dict[object, Pace] = {}  # by text not yet formatted, so there are few

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log the record; change its level if it repeats another."""
        if record.levelno != logging.WARNING:
            return True
        now_ms = self._clock.now_ms()
        pace = self._paces.get(record.msg)
        if pace is None:
            self._paces[record.msg] = Pace(now_ms)
            return True
        more = pace.repeat(now_ms)
        if more is not None:
            record.msg = f"{record.msg}{more}"
            return True
        record.levelno, record.levelname = logging.DEBUG, logging.getLevelName(logging.DEBUG)
        return logging.getLogger(record.name).isEnabledFor(logging.DEBUG)


def paced_logger() -> logging.Logger:
    """Return the logger for kazoo's clients, which all share it."""
    logger = logging.getLogger(NAME)
    if not any(isinstance(known, WarningPace) for known in logger.filters):
        logger.addFilter(WarningPace())
    return logger
