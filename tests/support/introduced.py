"""``python -m tests.support.introduced DEED``: prints how it was started, then does a deed."""

import json
import os
import resource
import signal
import sys
from pathlib import Path


def inherited() -> list[str]:
    """Return what else a process inherits: umask and signal masks."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return [line for line in lines if line.startswith(("Umask:", "SigIgn:", "SigBlk:"))]


def main(deed: str) -> None:
    """Print it as JSON, and end with a status, with an exception, or not at all."""
    facts = {
        "parent": os.getppid(),
        "session": os.getsid(0) == os.getpid(),
        "group": os.getpgrp() == os.getpid(),
        "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "inherited": inherited(),
        "hash": hash("word") if os.environ.get("PYTHONHASHSEED") else None,
        "arguments": sys.argv[1:],
        "folder": os.getcwd(),
        "path": sys.path[0],
        "word": os.environ.get("WORD"),
        "input": sys.stdin.read() if deed == "read" else None,
    }
    print(json.dumps(facts))  # noqa: T201 - its output
    if deed == "wait":
        print("to no pipe's buffer", file=sys.stderr)  # noqa: T201
        signal.pause()
    if deed == "fail":
        raise ValueError("failed")
    sys.exit(int(deed) if deed.isdigit() else 0)


if __name__ == "__main__":
    main(sys.argv[1])
