"""Hold a file of this machine against other processes.

The system lets it go when the process ends, however that ends.
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
    """Hold a file until the context ends.

    Yields:
        Whether nobody else holds it; true where it can't be held at all: where it is not there, or
        its file system has no locks.
    """
    try:
        # A network file system may want to write where it locks.
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
