"""Writes messages and log lines to a terminal or a pipe without waiting long for its reader.

A stopped terminal (Ctrl-S), or the reader of a pipe, may accept nothing for hours; a command that
watches a cluster must continue meanwhile.
"""

import io
import logging
import os
import select
from typing import Final, TextIO

from zkconsumer.printable import printable

WRITE_TIMEOUT_MS: Final = 1_000


def write_within(descriptor: int, data: bytes, timeout_ms: int = WRITE_TIMEOUT_MS) -> None:
    """Write all data, a piece at a time.

    Args:
        descriptor: the descriptor of a terminal, a pipe or a file.
        data: the bytes to write.
        timeout_ms: the time limit of each piece.

    Raises:
        TimeoutError: the reader does not accept the data; its beginning may have been written.
        OSError: the data can't be written.

    Thread: any.
    """
    ready = select.poll()
    ready.register(descriptor, select.POLLOUT)
    while data:
        if not ready.poll(timeout_ms):
            raise TimeoutError("the reader does not accept output")
        # A write of this size does not block after the poll.
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
    """Writes log lines; waits for the reader up to ``timeout_ms``.

    Attributes:
        timeout_ms: the time after which a line is dropped, as are the following ones until one is
            accepted again; None: no limit.
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
        except io.UnsupportedOperation:  # no file: memory accepts everything
            super().emit(record)
        except Exception:  # noqa: BLE001 - as logging's own handlers
            self.handleError(record)


def limit_log_writes() -> None:
    """Prevent threads from waiting for the reader of this program's log."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, LogHandler):
            handler.timeout_ms = WRITE_TIMEOUT_MS
