"""Runs something in a forked child of the test, and brings home what came of it."""

import os
import select
import traceback
import warnings
from collections.abc import Callable


def in_forked_child(run: Callable[[], str], *, timeout_s: float = 20) -> str:
    """Fork, ``run`` in the child, and return what it returned, or the trace of what it raised.

    The child ends without cleaning up: what lies on the stack is the parent's.

    Raises:
        AssertionError: the child did not end in time; it has been killed.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of every fork of a process with threads, which is what we are after.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            message = run()
        except BaseException:  # noqa: BLE001 - the end of the child; its parent hears it
            message = traceback.format_exc()
        os.write(writing, message.encode()[:60_000])
        os._exit(0)
    os.close(writing)
    try:
        ready, _, _ = select.select([reading], [], [], timeout_s)
        if not ready:
            os.kill(child, 9)
        assert ready, f"the child said nothing within {timeout_s} s"
        return os.read(reading, 65_536).decode()
    finally:
        os.close(reading)
        os.waitpid(child, 0)
