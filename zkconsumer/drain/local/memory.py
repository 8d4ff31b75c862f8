"""Divides a local engine's memory among its parts. Pure."""

from dataclasses import dataclass, replace
from typing import Self

_MB = 1 << 20
_BASE_MB = 148
"""The memory of the interpreter and its libraries before reading, in MB."""
TABLE_MB = 48
"""The additional memory of the Iceberg library, in MB."""
_LEAST_SHARE = 8 * _MB
_MOST_FILES = 32
_ON_THEIR_WAY = 2
"""The number of an upload's parts in flight while the next one is gathered."""
_SHARES = 8
"""The number of shares of a thread's memory: two responses in flight, one decompressed, its
columns, the buffered rows of open files, and the writer's output.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Memory limits of each part of the work, in bytes.

    Attributes:
        threads: the number of ranges that are read at once.
        fetch_bytes: the size of one fetch request.
        part_bytes: the size of records processed together.
        group_bytes: the size of rows buffered for one write.
        open_files: the number of files that a thread may write at once.
    """

    threads: int
    fetch_bytes: int
    part_bytes: int
    group_bytes: int
    open_files: int

    @classmethod
    def of(cls, memory_mb: int, cores: int, *, held_bytes: int = 0, libraries_mb: int = 0) -> Self:
        """Divide the memory.

        Args:
            memory_mb: the approximate memory limit of the process.
            cores: the number of threads that may compute at once.
            held_bytes: the memory buffered by each file that is being written.
            libraries_mb: the memory of optional libraries.
        """
        free = max(memory_mb - _BASE_MB - libraries_mb, 0) * _MB
        least = _LEAST_SHARE + (1 + _ON_THEIR_WAY) * held_bytes
        threads = max(1, min(cores, free // least))
        files, uploads = _MOST_FILES, 0
        if held_bytes:
            most = free // threads // 2 // held_bytes - _ON_THEIR_WAY
            files = max(1, min(_MOST_FILES, most))
            uploads = (files + _ON_THEIR_WAY) * held_bytes
        part = max((free // threads - uploads) // _SHARES, _MB)
        return cls(
            threads=threads,
            fetch_bytes=min(part, 4 * _MB),
            part_bytes=min(part, 16 * _MB),
            group_bytes=min(2 * part, 64 * _MB),
            open_files=files,
        )

    def halved(self) -> "Shares":
        """Return shares for a small side output: half the buffered bytes."""
        return replace(self, group_bytes=max(self.group_bytes // 2, 1))
