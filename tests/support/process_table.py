"""What processes there are, as the kernel tells, and what they start with."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def children_hear_ctrl_c() -> Iterator[None]:
    """Programs started meanwhile obey SIGINT and SIGHUP.

    A test run in the background of a script, or under nohup, ignores them, and so would they.
    """
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGHUP)}
    for one in before:
        signal.signal(one, signal.default_int_handler)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def is_alive(pid: int) -> bool:
    """Whether the process runs (one that ended and that nobody has waited for does not)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


def processes_with(text: str) -> list[int]:
    """The running processes that have the text in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if text.encode() in command and is_alive(int(entry.name)):
            found.append(int(entry.name))
    return found
