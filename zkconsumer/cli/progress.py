"""A progress bar on standard error, if that is a terminal.

Rich draws it if it is installed (extra ``cli``); otherwise one plain line is rewritten.
``NO_COLOR`` is respected. Scripts and logs get no output.
"""

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from zkconsumer.clock import Clock, SystemClock

Advance = Callable[[int], None]
"""Reports the number of items completed since the last call. Thread: that of the bar."""

_EVERY_MS = 200


def nothing(done: int) -> None:
    """Advance an invisible bar."""


@contextmanager
def progress(label: str, total: int | None, *, unit: str = "") -> Iterator[Advance]:
    """Show a progress bar while the block runs; it is removed afterwards.

    Args:
        label: the activity, such as ``writing offsets``.
        total: the number of items; None: unknown, then only a count is shown.
        unit: the unit of the items, such as ``messages``.
    """
    if not is_terminal(sys.stderr):
        yield nothing
    elif importlib.util.find_spec("rich") is None:
        yield from _plain(label, total, unit, sys.stderr, SystemClock())
    else:
        yield from _rich(label, total, unit)


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a line of this stream can be rewritten."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def _rich(label: str, total: int | None, unit: str) -> Iterator[Advance]:
    from rich import progress as bars  # noqa: PLC0415 - an extra, and slow to load
    from rich.console import Console  # noqa: PLC0415

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn() if total is not None else bars.TextColumn("{task.completed:,}"),
        bars.TextColumn(unit),
        bars.TimeRemainingColumn() if total is not None else bars.TimeElapsedColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(label, total=total)

        def advance(done: int) -> None:
            shown.advance(task, done)

        yield advance


class RewrittenLine:
    """One line of a terminal, rewritten in place; nothing is written to other streams."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_shown = is_terminal(stream)
        self._width = 0

    def show(self, text: str) -> None:
        """Replace the line."""
        if not self._is_shown:
            return
        self._stream.write(f"\r{text.ljust(self._width)}")
        self._stream.flush()
        self._width = max(self._width, len(text))

    def clear(self) -> None:
        """Erase the line."""
        if self._width:
            self._stream.write(f"\r{' ' * self._width}\r")
            self._stream.flush()


def _plain(
    label: str, total: int | None, unit: str, stream: TextIO, clock: Clock
) -> Iterator[Advance]:
    count, written_ms, line = 0, clock.now_ms(), RewrittenLine(stream)

    def advance(done: int) -> None:
        nonlocal count, written_ms
        count += done
        now_ms = clock.now_ms()
        if now_ms - written_ms >= _EVERY_MS:
            written_ms = now_ms
            text = f"{label}: {count:,}" + ("" if total is None else f" of {total:,}")
            line.show(f"{text} {unit}".rstrip())

    try:
        yield advance
    finally:
        line.clear()
