"""Reads text files; writes files atomically, and syncs them to disk."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from zkconsumer.cli.output import show
from zkconsumer.errors import ConfigError


def read_text(name: str, kind: str = "file of offsets") -> str:
    """Return the text of a file.

    Args:
        name: of the file.
        kind: the kind of file, for messages.

    Raises:
        ConfigError: it is not text.
        OSError: the file can't be read.
    """
    try:
        return Path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name} is no {kind}: {error}") from error


def write_output(name: str, text: str) -> None:
    """Write to standard output (``-``), or to a file as ``whole_file`` does.

    Raises:
        OSError: the file can't be written.
    """
    if name == "-":
        show(text)
        return
    with whole_file(name) as file:
        file.write(text.encode())


def sync_folder(path: Path) -> None:
    """Sync the folder of a file to disk, without which a new file may be missing after a crash."""
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def whole_file(name: str, *, follows_links: bool = True) -> Iterator[BinaryIO]:
    """Open a file for writing; an existing file is replaced when the new one is complete.

    If the block fails, no new file remains. A special file, such as a pipe, is written directly.
    The temporary file in the same folder has an unguessable name, so that nobody else with write
    access to the folder can have created a link there.

    Args:
        name: of the file.
        follows_links: whether to replace the target of a link; False: the file replaces the link.

    Raises:
        OSError: the file can't be written.
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
    """Return the umask, which can't be read without setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
