"""Runs a command in a pseudo-terminal of a given width."""

import errno
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.support import warm
from zkconsumer.scope import side_by_side

TIMEOUT_S = 60
_LINES = 40


class Printed(NamedTuple):
    """The result of a command in a terminal.

    Attributes:
        status: its exit status.
        out: its standard output.
        err: its standard error.
    """

    status: int
    out: str
    err: str


def in_terminal(words: Sequence[str], columns: int, *, folder: Path, given: str = "") -> Printed:
    """Run a command of ours; standard output and error are terminals of the same size.

    Args:
        words: the command's arguments.
        columns: the terminals' width.
        folder: the working directory.
        given: the standard input, which is not a terminal.
    """
    environment = {
        name: text for name, text in os.environ.items() if name not in {"COLUMNS", "LINES"}
    }
    outer, inner = zip(*(_terminal(columns) for _ in range(2)), strict=True)
    with warm.Popen(
        [sys.executable, "-m", "zkconsumer", *words],
        stdin=subprocess.PIPE,
        stdout=inner[0],
        stderr=inner[1],
        cwd=folder,
        env={**environment, "NO_COLOR": "1", "TERM": "xterm"},
        text=True,
    ) as process:
        for descriptor in inner:
            os.close(descriptor)
        assert process.stdin is not None
        try:
            process.stdin.write(given)
            process.stdin.close()
            out, err = side_by_side(
                "terminal", [partial(_text_of, end) for end in outer], threads=2
            )
            return Printed(process.wait(TIMEOUT_S), out, err)
        finally:
            process.kill()
            for descriptor in outer:
                os.close(descriptor)


def _terminal(columns: int) -> tuple[int, int]:
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, columns, 0, 0))
    return outer, inner


def _text_of(descriptor: int) -> str:
    data = bytearray()
    while True:
        try:
            chunk = os.read(descriptor, 1 << 16)
        except OSError as error:  # its other end is closed
            if error.errno != errno.EIO:
                raise
            chunk = b""
        if not chunk:
            return data.decode().replace("\r\n", "\n")
        data += chunk
