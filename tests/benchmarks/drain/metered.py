"""Runs a program to its end, and reports what it and its descendants used: ``metered ARGV``.

This process adopts descendants whose parents are gone, so that no CPU time is lost: a JVM ends
after the Python process that started it. Prints the program's output, then a last line of JSON.
"""

import ctypes
import json
import os
import resource
import subprocess
import sys
import time

_PR_SET_CHILD_SUBREAPER = 36


def main(argv: list[str]) -> int:
    """Run the program and print what was used; return its exit status."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "this process can't adopt others' children")
    began = time.perf_counter()
    status = subprocess.run(argv, check=False).returncode
    seconds = time.perf_counter() - began
    _wait_for_all()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    what = {
        "status": status,
        "seconds": seconds,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_kb": used.ru_maxrss,
    }
    sys.stdout.write("\n" + json.dumps(what) + "\n")
    return status


def _wait_for_all() -> None:
    """Wait until all children, including adopted ones, have ended."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
