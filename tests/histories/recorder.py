"""Writes operations down as they happen, in a process or to a file that a kill leaves whole."""

import json
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

Message = tuple[str | None, int | None, int | None, str]
"""Topic, partition, offset and value; who does not know a place says None."""


class Recorder:
    """Operations in the order in which they were told. Thread: any.

    Args:
        now_ms: milliseconds since the epoch.
        sink: also gets each line, with its end, in one call.
    """

    def __init__(
        self, now_ms: Callable[[], int], sink: Callable[[bytes], object] | None = None
    ) -> None:
        self._now_ms = now_ms
        self._sink = sink
        self._lock = threading.Lock()
        self._operations: list[dict[str, Any]] = []

    def operations(self) -> list[dict[str, Any]]:
        """Return everything so far; nothing where a sink takes it."""
        with self._lock:
            return list(self._operations)

    def add(self, process: str, kind: str, f: str, /, **fields: object) -> None:
        """Write an operation down, as of now unless ``time`` is among the fields."""
        with self._lock:
            one = {"process": process, "type": kind, "f": f, "time": self._now_ms(), **fields}
            if self._sink is None:
                self._operations.append(one)
            else:
                self._sink(line_of(one))

    def extend(self, operations: Iterable[dict[str, Any]]) -> None:
        """Take over what was recorded elsewhere."""
        with self._lock:
            self._operations.extend(operations)

    def requests(self, process: str) -> None:
        """Note that a reader asks for more: it is done with what it was given."""
        self.add(process, "invoke", "poll")

    def given(self, process: str, member: str, messages: Sequence[Message]) -> None:
        """Note what a reader was given."""
        self.add(process, "ok", "poll", member=member, messages=messages)

    def failed(self, process: str, error: BaseException) -> None:
        """Note that a poll raised."""
        text = f"{type(error).__name__} {' '.join(str(error).split())}"
        self.add(process, "fail", "poll", error=text)

    def ended(self, process: str) -> None:
        """Note that a reader came to the end of its stream."""
        self.add(process, "fail", "poll", error="")


def line_of(operation: dict[str, Any]) -> bytes:
    """Return an operation as a line."""
    return f"{json.dumps(operation, separators=(',', ':'))}\n".encode()


class LineFile:
    """A file to which lines are appended, each in one write: ``SIGKILL`` takes nothing back."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, line: bytes) -> None:
        """Append a line."""
        os.write(self._file, line)


class LineTail:
    """Reads the operations of a file that grows; a line that a kill cut off does not count."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0

    def take(self) -> list[str]:
        """Return the whole lines that came since the last call."""
        try:
            with self._path.open("rb") as opened:
                opened.seek(self._at)
                data = opened.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._at += len(whole)
        return whole.decode(errors="replace").splitlines()
