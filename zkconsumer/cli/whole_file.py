"""A file that is there as a whole or not at all: it gets its name when all of it is on the disk."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from zkconsumer.cli.text_files import sync_folder


@contextmanager
def whole_file(name: str, *, follows_links: bool = True) -> Iterator[BinaryIO]:
    """Open a file to be written; one of that name that was there stays until this one is done.

    Where the block fails, nothing stays behind. What is no file, such as a pipe, is written to.
    Until it is done it has a name that nobody can guess, beside the one that it gets: whoever may
    write to that folder can't have put a link there.

    Args:
        name: of the file.
        follows_links: where the name is a link, whether what it points to is written; else the file
            takes the link's place.

    Raises:
        OSError: it can't be written.
    """
    path = Path(name)
    if follows_links and path.exists() and not path.is_file():
        with path.open("wb") as device:
            yield device
        return
    target = path.resolve() if follows_links else path.absolute()
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}-")
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o666 & ~_umask())
        Path(temporary).replace(target)
        sync_folder(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """Return what files are not to be allowed; there is no other way to ask for it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
