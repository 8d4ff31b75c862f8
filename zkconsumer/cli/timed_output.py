"""Writes to a terminal or a pipe without waiting for whoever reads it; the log of the commands.

A terminal that was stopped (Ctrl-S), or the reader of a pipe, takes nothing for hours; what watches
a cluster must go on meanwhile.
"""

import io
import logging
import os
import select
from typing import Final, TextIO

from zkconsumer.printable import printable

WRITE_TIMEOUT_MS: Final = 1_000


def write_within(descriptor: int, data: bytes, timeout_ms: int = WRITE_TIMEOUT_MS) -> None:
    """Write all of it, a piece at a time.

    Args:
        descriptor: of a terminal, a pipe or a file.
        data: what to write.
        timeout_ms: how long to wait for each piece to be taken.

    Raises:
        TimeoutError: nobody takes it; its beginning may have been written.
        OSError: it can't be written.

    Thread: any.
    """
    ready = select.poll()
    ready.register(descriptor, select.POLLOUT)
    while data:
        if not ready.poll(timeout_ms):
            raise TimeoutError("nobody takes what is written")
        # So much never blocks where some room is left.
        data = data[os.write(descriptor, data[: select.PIPE_BUF]) :]


class SafeLogFormatter(logging.Formatter):
    """A formatter whose lines can neither control a terminal nor imitate other lines.

    The line ends of a traceback, which are ours, are kept.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """Format one line, without the traceback."""
        return printable(super().formatMessage(record))

    def formatException(self, ei: object) -> str:  # noqa: N802 - the library's name
        """Format a traceback; further lines of an error's own text are indented."""
        lines = super().formatException(ei).split("\n")  # type: ignore[arg-type]  # the library's
        return "\n".join(map(printable, lines))


class LogHandler(logging.StreamHandler[TextIO]):
    """Writes log lines, and waits for a reader unless ``timeout_ms`` says otherwise.

    Attributes:
        timeout_ms: a line that is not taken within it is dropped, as are the next ones until one
            is taken again; None waits for ever.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.timeout_ms: int | None = None
        self._is_stuck = False

    def emit(self, record: logging.LogRecord) -> None:
        """See ``logging.Handler``."""
        if self.timeout_ms is None:
            super().emit(record)
            return
        try:
            data = f"{self.format(record)}{self.terminator}".encode(errors="backslashreplace")
            write_within(self.stream.fileno(), data, 0 if self._is_stuck else self.timeout_ms)
            self._is_stuck = False
        except TimeoutError:
            self._is_stuck = True
        except io.UnsupportedOperation:  # no file: what is in memory takes all
            super().emit(record)
        except Exception:  # noqa: BLE001 - as logging's own handlers
            self.handleError(record)


def limit_log_writes() -> None:
    """Let no thread wait for whoever reads the log of this program."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, LogHandler):
            handler.timeout_ms = WRITE_TIMEOUT_MS
