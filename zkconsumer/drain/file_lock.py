"""Locks a local file against other processes.

The operating system releases the lock when the process ends, even if it is killed.
"""

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)


@contextmanager
def held_file(path: Path) -> Iterator[bool]:
    """Lock a file until the context ends.

    Yields:
        False if another process has locked it. True if it is locked now, or if it can't be locked:
        the file does not exist, or its file system has no locks.
    """
    try:
        # Network file systems may require write access for an exclusive lock.
        descriptor = os.open(path, os.O_RDWR)
    except OSError as error:
        log.debug("%s can't be held: %s", path, error)
        yield True
        return
    try:
        yield _is_free(descriptor, path)
    finally:
        os.close(descriptor)


def _is_free(descriptor: int, path: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        log.debug("%s can't be held: %s", path, error)
    return True
