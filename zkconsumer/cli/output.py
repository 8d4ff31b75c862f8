"""Writing to standard output so that what was written is known."""

import os
import select
import sys
from io import TextIOWrapper
from pathlib import Path

from zkconsumer.cli.pipes import PipeWindow


class OutputClosed(Exception):
    """Whoever read our output has gone."""


class Output:
    """Writes straight to a file descriptor, without a buffer of its own.

    So a line that was written has left this process: it is seen at once on terminals and in pipes,
    and no commit can cover a line that a crash would still take away. (At half a million lines a
    second it is not what limits a consumer.) Into a pipe it writes little more than its reader has
    shown to want, see ``PipeWindow``.

    Args:
        descriptor: where to write; standard output unless given.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        if descriptor is None:
            sys.stdout.flush()
            descriptor = sys.stdout.fileno()
        self.descriptor = descriptor
        self._window = PipeWindow(descriptor)

    def close(self) -> None:
        """Leave a pipe as it was; the descriptor stays open."""
        self._window.restore()

    def write(self, data: bytes) -> None:
        """Write everything, however long the reader takes.

        Raises:
            OutputClosed: the reader has gone, and has not read all of this.
            OSError: the disk is full, or the like.
        """
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self.descriptor, rest) :]
            except BlockingIOError:
                # Somebody set the pipe that we inherited to non-blocking.
                select.select([], [self.descriptor], [])
            except BrokenPipeError:
                raise OutputClosed from None
        if not self._window.wrote(len(data)):
            raise OutputClosed


def mend_standard_streams() -> None:
    """Where standard error was closed from the start, let what goes there go nowhere.

    Else ``print`` would turn to standard output, in among the messages, and the next connection
    would get the descriptor that libraries complain to.

    And let no name fail a whole report: what members write of themselves may hold characters that
    no encoding has (halves of surrogate pairs); they are shown as JSON writes them.
    """
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for good
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def show(text: str) -> None:
    """Print; where nobody reads any more, the exit status tells all the same."""
    try:
        print(text, end="", flush=True)
    except BrokenPipeError:
        discard_standard_output()


def discard_standard_output() -> None:
    """Let nothing more fail on a closed standard output, the interpreter's last flush included."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
