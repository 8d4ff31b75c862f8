"""Writes to standard output without a buffer, so that it is known which lines were written."""

import logging
import os
import re
import select
import sys
from io import TextIOWrapper
from pathlib import Path

from zkconsumer.cli.pipes import PipeWindow
from zkconsumer.printable import printable

log = logging.getLogger(__name__)

_WITHIN_LAYOUT = re.compile(r"[^\n\t]+")


class OutputClosed(Exception):
    """The reader of the output has gone."""


class Output:
    """Writes to a file descriptor, without a buffer.

    A written line has left this process: terminals and pipes have it, and no commit can cover a
    line that a crash would lose. (At half a million lines a second this does not limit a consumer.)
    Little data waits in a pipe that its reader does not read, see ``PipeWindow``.

    Args:
        descriptor: the file descriptor to write to.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        if descriptor is None:
            sys.stdout.flush()
            descriptor = sys.stdout.fileno()
        self.descriptor = descriptor
        self._window = PipeWindow(descriptor)

    def close(self) -> None:
        """Restore a pipe's size; the descriptor stays open."""
        self._window.restore()

    def write(self, data: bytes) -> None:
        """Write all of ``data``, however long the reader takes.

        Raises:
            OutputClosed: the reader has gone without reading all of it.
            OSError: e.g. the disk is full.
        """
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self.descriptor, rest) :]
            except BlockingIOError:
                # The pipe that we inherited was set to non-blocking.
                select.select([], [self.descriptor], [])
            except BrokenPipeError:
                raise OutputClosed from None
        if not self._window.wrote(len(data)):
            raise OutputClosed


def mend_standard_streams() -> None:
    """Redirect standard error to the null device if it was closed from the start.

    Otherwise ``print`` would write to standard output, among the messages, and the next connection
    would get descriptor 2, to which libraries write errors.

    Also prevent encoding errors on standard output: names of members may contain characters that no
    encoding has (lone surrogates), which are escaped.
    """
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for good
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def show(text: str) -> None:
    """Print a text; a reader that has gone does not change the exit status."""
    try:
        print(text, end="", flush=True)
    except BrokenPipeError:
        discard_standard_output()


def show_as_original(text: str) -> None:
    """Print an original tool's output byte for byte; on a terminal, escape control characters."""
    if sys.stdout.isatty():
        text = _WITHIN_LAYOUT.sub(lambda found: printable(found[0]), text)
    show(text)


def note(text: object) -> None:
    """Print a line about the command's work to standard error, escaped for a terminal."""
    print(f"zkconsumer: {printable(str(text))}", file=sys.stderr)


def report_error(error: Exception, text: str | None = None) -> None:
    """Print an error, or ``text`` in its place, in one line; log the traceback for debugging."""
    log.debug("the error was raised here", exc_info=error)
    note(" ".join((text or str(error)).split()))


def discard_standard_output() -> None:
    """Redirect standard output to the null device, so that the interpreter's last flush works."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
