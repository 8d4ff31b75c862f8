"""The log of our commands: one line a record, whatever others wrote into names and errors."""

import logging

from zkconsumer.printable import printable


class SafeLogFormatter(logging.Formatter):
    """A formatter whose lines can neither drive a terminal nor be taken for other lines.

    Of a traceback the line ends stay, which are ours.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """Format one line, without the traceback."""
        return printable(super().formatMessage(record))

    def formatException(self, ei: object) -> str:  # noqa: N802 - the library's name
        """Format a traceback; what a line of an error's own text holds is indented."""
        lines = super().formatException(ei).split("\n")  # type: ignore[arg-type]  # the library's
        return "\n".join(map(printable, lines))
