"""The log format of the commands: one line per record, whatever names and errors contain."""

import logging

from zkconsumer.printable import printable


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
