"""A file that is there as a whole or not at all: it gets its name when all of it is on the disk."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(name: str) -> Iterator[BinaryIO]:
    """Open a file to be written; one of that name that was there stays until this one is done.

    Where the block fails, nothing stays behind. What is no file, such as a pipe, is written to.

    Raises:
        OSError: it can't be written.
    """
    path = Path(name)
    if path.exists() and not path.is_file():
        with path.open("wb") as device:
            yield device
        return
    # A link is followed, so that what it points to is replaced.
    target = path.resolve()
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}-")
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o666 & ~_umask())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink()
        raise


def _umask() -> int:
    """What files are not to be allowed; there is no other way to ask for it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
