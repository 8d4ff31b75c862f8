"""Makes tests fail that start threads or processes, or open sockets, as no unit test should."""

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
_attempts: list[list[str]] = []
_Thread: Final = threading.Thread  # noqa: TID251 - none is started here
_start: Final = _Thread.start


def _refuse(action: str) -> None:
    # A thread that an earlier test left running is not this test's fault.
    if threading.current_thread() is threading.main_thread():
        _attempts[-1].append(action)
        raise AssertionError(refusal_message(action))


def _refuse_to_start(thread: Any) -> None:
    _refuse("started a thread")
    _start(thread)


def _on_audit_event(event: str, _args: object) -> None:
    action = _FORBIDDEN.get(event)
    if action is not None and _attempts:
        _refuse(action)


def refusal_message(action: str) -> str:
    """Return the message for a test that did this: what to do instead."""
    return f"This unit test {action}: give it a fake of tests/fakes, or move it to tests/threads."


@contextmanager
def forbid_io() -> Iterator[list[str]]:
    """Raise AssertionError where the main thread does any of it; yield the list of attempts."""
    _attempts.append([])
    try:
        with patch.object(_Thread, "start", _refuse_to_start):
            yield _attempts[-1]
    finally:
        _attempts.pop()


# Audit hooks can't be removed, so this one stays, and does nothing outside of ``forbid_io``.
# CPython 3.11 has no audit event for threads, hence the patch of ``Thread.start``.
sys.addaudithook(_on_audit_event)
