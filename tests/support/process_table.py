"""Running processes according to ``/proc``, and the signals that children ignore."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def hear_ctrl_c() -> None:
    """Let this process and its children react to SIGINT, even if its parent ignores it.

    Shells without job control let background processes ignore it, and children inherit that: a test
    that sends SIGINT to its child would wait in vain.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def children_hear_hang_ups() -> Iterator[None]:
    """Let children started in the context react to SIGHUP, which tests under nohup ignore."""
    before = signal.signal(signal.SIGHUP, lambda _number, _frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def is_alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


def processes_with(text: str) -> list[int]:
    """Return the running processes with this text in their command line."""
    pids = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if text.encode() in command and is_alive(int(entry.name)):
            pids.append(int(entry.name))
    return pids
