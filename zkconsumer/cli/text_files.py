"""Reads text files, and writes files that must be on disk before anything is done."""

import os
from pathlib import Path
from typing import TextIO

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
