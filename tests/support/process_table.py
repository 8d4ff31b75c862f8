"""What processes there are, as the kernel tells, and what they start with."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def hear_ctrl_c() -> None:
    """Let this process and all that it starts obey SIGINT, though whoever started it ignores it.

    Shells without job control ignore it for what they start in the background, and programs keep
    what they find ignored: a test that sends SIGINT to its child would wait in vain.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def children_hear_hang_ups() -> Iterator[None]:
    """Let programs that are started meanwhile obey SIGHUP, which a test run under nohup ignores."""
    before = signal.signal(signal.SIGHUP, lambda _number, _frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


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
