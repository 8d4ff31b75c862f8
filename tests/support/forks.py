"""Runs a function in a forked child, and returns its result."""

import os
import select
import traceback
import warnings
from collections.abc import Callable


def in_forked_child(run: Callable[[], str], *, timeout_s: float = 20) -> str:
    """Fork, call ``run`` in the child, and return its result, or the traceback of its error.

    The child exits without cleaning up: the context managers on its stack belong to the parent.

    Raises:
        AssertionError: the child did not end in time, and was killed.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of a fork with running threads, which is what is tested here.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            message = run()
        except BaseException:  # noqa: BLE001 - reported to the parent before the child ends
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
