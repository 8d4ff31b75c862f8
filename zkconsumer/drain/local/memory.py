"""How the memory that a local engine may take is shared out. Pure."""

from dataclasses import dataclass
from typing import Self

_MB = 1 << 20
_BASE_MB = 148
"""What the interpreter and its libraries take before anything is read."""
_LEAST_SHARE = 8 * _MB
_SHARES = 8
"""Of a thread's memory: two answers on their way, what is unpacked of one, its columns, the rows of
the files that are open, and what the writer makes of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """What each part of the work may take, in bytes.

    Attributes:
        threads: how many ranges are read at once.
        fetch_bytes: asked for at once.
        part_bytes: of the records that are looked at together.
        group_bytes: of the rows that wait for being written together.
    """

    threads: int
    fetch_bytes: int
    part_bytes: int
    group_bytes: int

    @classmethod
    def of(cls, memory_mb: int, cores: int) -> Self:
        """Share out.

        Args:
            memory_mb: about what the process may take.
            cores: how many threads may compute at once.
        """
        free = max(memory_mb - _BASE_MB, 0) * _MB
        threads = max(1, min(cores, free // _LEAST_SHARE))
        part = max(free // threads // _SHARES, _MB)
        return cls(
            threads=threads,
            fetch_bytes=min(part, 4 * _MB),
            part_bytes=min(part, 16 * _MB),
            group_bytes=min(2 * part, 64 * _MB),
        )
