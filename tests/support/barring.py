"""Forbid threads, sockets and processes to code that should need none, such as unit tests."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

_FORBIDDEN: Final = {
    "socket.__new__": "opened a socket",
    "subprocess.Popen": "started a process",
    "os.fork": "started a process",
    "os.posix_spawn": "started a process",
    "os.system": "started a process",
}
_active: list[list[str]] = []
_Thread: Final = threading.Thread  # noqa: TID251 - none is started here
_start: Final = _Thread.start


def _refuse(deed: str) -> None:
    # A thread that an earlier test left behind is not this test's fault.
    if threading.current_thread() is threading.main_thread():
        _active[-1].append(deed)
        raise AssertionError(sentence(deed))


def _refuse_to_start(thread: Any) -> None:
    _refuse("started a thread")
    _start(thread)


def _on_audit_event(event: str, _args: object) -> None:
    deed = _FORBIDDEN.get(event)
    if deed is not None and _active:
        _refuse(deed)


def sentence(deed: str) -> str:
    """Return the message that says where such a test belongs."""
    return f"This unit test {deed}: give it a fake of tests/fakes, or move it to tests/threads."


@contextmanager
def barring() -> Iterator[list[str]]:
    """Raise AssertionError if the main thread does any of it; yield what it tried."""
    _active.append([])
    try:
        with patch.object(_Thread, "start", _refuse_to_start):
            yield _active[-1]
    finally:
        _active.pop()


# An audit hook can't be removed; outside of ``barring`` it does nothing. CPython 3.11 has no
# audit event for the start of a thread, so ``Thread.start`` is patched.
sys.addaudithook(_on_audit_event)
