"""Reads text files; writes files whole, and to the disk before anything else is done."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from zkconsumer.errors import ConfigError


def read_text(name: str, kind: str = "file of offsets") -> str:
    """Return the text of a file.

    Args:
        name: of the file.
        kind: what it should be, for messages.

    Raises:
        ConfigError: it is not text.
        OSError: it can't be read.
    """
    try:
        return Path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name} is no {kind}: {error}") from error


def write_synced(file: TextIO, text: str) -> None:
    """Write, and flush to disk."""
    file.write(text)
    file.flush()
    os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Flush a folder to disk: until then, a new file may have no name after a crash."""
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def whole_file(name: str, *, follows_links: bool = True) -> Iterator[BinaryIO]:
    """Open a file to be written; an existing one remains until this one is complete.

    If the block fails, no file is left. A special file, such as a pipe, is written directly.
    The temporary file has an unguessable name in the same folder: others with write access to it
    can't have put a link there.

    Args:
        name: of the file.
        follows_links: if the name is a link, whether its target is written; else the file replaces
            the link.

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
    """Return the umask; there is no way to read it without setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
