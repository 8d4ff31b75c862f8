"""What processes there are, as the kernel tells."""

from pathlib import Path


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
