"""Refuses threads, sockets and processes to whoever should need none, as unit tests do."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

_DEEDS: Final = {
    "socket.__new__": "opened a socket",
    "subprocess.Popen": "started a process",
    "os.fork": "started a process",
    "os.posix_spawn": "started a process",
    "os.system": "started a process",
}
_under_way: list[list[str]] = []
_Thread: Final = threading.Thread  # noqa: TID251 - none is started here
_start: Final = _Thread.start


def _refuse(deed: str) -> None:
    # What a thread does that another test has left behind is not this one's doing.
    if threading.current_thread() is threading.main_thread():
        _under_way[-1].append(deed)
        raise AssertionError(sentence(deed))


def _refuse_to_start(thread: Any) -> None:
    _refuse("started a thread")
    _start(thread)


def _hear(event: str, _args: object) -> None:
    deed = _DEEDS.get(event)
    if deed is not None and _under_way:
        _refuse(deed)


def sentence(deed: str) -> str:
    """Tell where a test belongs that did this."""
    return f"This unit test {deed}: give it a fake of tests/fakes, or move it to tests/threads."


@contextmanager
def barring() -> Iterator[list[str]]:
    """Raise AssertionError where the main thread tries any of it; gives what it tried."""
    _under_way.append([])
    try:
        with patch.object(_Thread, "start", _refuse_to_start):
            yield _under_way[-1]
    finally:
        _under_way.pop()


# For ever, as there is no way to take it back: mostly it has nothing to do. CPython 3.11 tells
# nothing of threads there.
sys.addaudithook(_hear)
