"""Prints output repeatedly: redrawn on a terminal, appended elsewhere."""

import argparse
import shutil
import sys
from collections.abc import Iterator
from itertools import count

from zkconsumer.cli.cluster_arguments import Container
from zkconsumer.cli.numbers import whole_number
from zkconsumer.cli.tables import instant
from zkconsumer.clock import Clock, SystemClock
from zkconsumer.printable import printable
from zkconsumer.scope import naps, wait_ms
from zkconsumer.status.model import ClusterSnapshot

_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
_CLEAR = "\x1b[2J"
_LEAST_S, _MOST_S = 0.1, 86_400.0


def add_watch_arguments(parser: Container) -> None:
    """Add the options for interval and count."""
    parser.add_argument(
        "--interval",
        type=_seconds,
        default=2000,
        metavar="SECONDS",
        dest="interval_ms",
        help="time between two updates (default: 2)",
    )
    parser.add_argument(
        "--count",
        type=whole_number(),
        metavar="N",
        help="stop after N updates (default: run until Ctrl-C)",
    )


def _seconds(text: str) -> int:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not _LEAST_S <= seconds <= _MOST_S:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds of at least 0.1")
    return round(seconds * 1000)


def snapshots(interval_ms: int, limit: int | None, clock: Clock | None = None) -> Iterator[int]:
    """Yield counts from 0 on, each ``interval_ms`` after the one before.

    An iteration that takes longer is followed by the next one immediately, without catching up.
    """
    times = clock or SystemClock()
    for number in count() if limit is None else range(limit):
        begun_ms = times.now_ms()
        yield number
        if number + 1 != limit:
            pause(begun_ms + interval_ms - times.now_ms())


def pause(duration_ms: int) -> None:
    """Sleep, interruptible by Ctrl-C. Thread: main."""
    for nap_ms in naps(max(0, duration_ms)):
        wait_ms(nap_ms)


def failing_lines(snapshot: ClusterSnapshot) -> str:
    """Return lines about parts that can't be read, and since when."""
    absent = "" if snapshot.no_brokers is None else printable(str(snapshot.no_brokers)) + "\n"
    return absent + "".join(
        printable(f"{failure.part}: since {instant(failure.since_ms)}: {failure.reason}") + "\n"
        for failure in snapshot.failures
    )


class Screen:
    """Prints texts; on a terminal each text replaces the previous one.

    Attributes:
        redraws: whether texts are replaced.
    """

    def __init__(self) -> None:
        self.redraws = sys.stdout.isatty()
        self._is_clear = False

    def show(self, text: str) -> None:
        """Show a text of whole lines; on a terminal only as many as fit."""
        if not self.redraws:
            print(text, end="", flush=True)
            return
        height = shutil.get_terminal_size().lines
        lines = text.splitlines()
        if len(lines) >= height:
            hidden = len(lines) - height + 2
            lines = [*lines[: height - 2], f"... {hidden} more lines: make the window larger"]
        drawn = "".join(f"{line}{_CLEAR_LINE}\n" for line in lines)
        start = _HOME if self._is_clear else _CLEAR + _HOME
        self._is_clear = True
        print(f"{start}{drawn}{_CLEAR_BELOW}", end="", flush=True)
