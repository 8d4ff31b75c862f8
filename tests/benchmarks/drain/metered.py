"""Runs a program to its end, and says what it and all that came from it used: ``metered ARGV``.

Children whose parents are gone come to this process, so that nobody's time is lost: a JVM ends
behind the Python that started it. The last line is JSON; what the program printed is in front.
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
    """Run it; gives its exit status."""
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
    """Until nobody is left."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
