"""Paces kazoo's warnings: a connection that breaks ten times a second causes two each time.

Our own events tell which member's connection broke, and how often.
"""

import logging
from typing import Final

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.repeats import EVERY_MS

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
        self._passed_ms: dict[object, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log the record; change its level if it repeats another."""
        if record.levelno != logging.WARNING:
            return True
        now_ms = self._clock.now_ms()
        passed_ms = self._passed_ms.get(record.msg)  # not yet formatted, so there are few
        if passed_ms is None or now_ms - passed_ms >= EVERY_MS:
            self._passed_ms[record.msg] = now_ms
            return True
        record.levelno, record.levelname = logging.DEBUG, logging.getLevelName(logging.DEBUG)
        return logging.getLogger(record.name).isEnabledFor(logging.DEBUG)


def paced_logger() -> logging.Logger:
    """Return the logger for kazoo's clients, which all share it."""
    logger = logging.getLogger(NAME)
    if not any(isinstance(known, WarningPace) for known in logger.filters):
        logger.addFilter(WarningPace())
    return logger
