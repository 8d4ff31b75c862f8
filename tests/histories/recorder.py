"""Records operations as they happen, in memory or in a file that survives a kill."""

import json
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

Message = tuple[str | None, int | None, int | None, str]
"""Topic, partition, offset and value; the first three are None if unknown."""


class Recorder:
    """Operations in the order in which they were recorded. Thread: any.

    Args:
        now_ms: milliseconds since the epoch.
        sink: called with each line, including its line end; without one, lines are kept in memory.
    """

    def __init__(
        self, now_ms: Callable[[], int], sink: Callable[[bytes], object] | None = None
    ) -> None:
        self._now_ms = now_ms
        self._sink = sink
        self._lock = threading.Lock()
        self._operations: list[dict[str, Any]] = []

    def operations(self) -> list[dict[str, Any]]:
        """Return all operations so far; none if there is a sink."""
        with self._lock:
            return list(self._operations)

    def add(self, process: str, kind: str, f: str, /, **fields: object) -> None:
        """Record an operation, at the present time unless ``time`` is among the fields."""
        with self._lock:
            operation = {"process": process, "type": kind, "f": f, "time": self._now_ms(), **fields}
            if self._sink is None:
                self._operations.append(operation)
            else:
                self._sink(line_of(operation))

    def extend(self, operations: Iterable[dict[str, Any]]) -> None:
        """Add operations that were recorded elsewhere."""
        with self._lock:
            self._operations.extend(operations)

    def requests(self, process: str) -> None:
        """Record that a reader polls: it has processed what was delivered before."""
        self.add(process, "invoke", "poll")

    def given(self, process: str, member: str, messages: Sequence[Message]) -> None:
        """Record the messages that a poll returned."""
        self.add(process, "ok", "poll", member=member, messages=messages)

    def failed(self, process: str, error: BaseException) -> None:
        """Record that a poll raised."""
        text = f"{type(error).__name__} {' '.join(str(error).split())}"
        self.add(process, "fail", "poll", error=text)

    def ended(self, process: str) -> None:
        """Record that a reader reached the end of its stream."""
        self.add(process, "fail", "poll", error="")


def line_of(operation: dict[str, Any]) -> bytes:
    """Return an operation as a line."""
    return f"{json.dumps(operation, separators=(',', ':'))}\n".encode()


class LineFile:
    """A file to which each line is appended with one write, so that ``SIGKILL`` loses none."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, line: bytes) -> None:
        """Append a line."""
        os.write(self._file, line)


class LineTail:
    """Reads lines of a growing file; a line that a kill truncated is ignored."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0

    def take(self) -> list[str]:
        """Return the complete lines that were appended since the last call."""
        try:
            with self._path.open("rb") as opened:
                opened.seek(self._at)
                data = opened.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._at += len(whole)
        return whole.decode(errors="replace").splitlines()
