"""Results of reading nodes of ZooKeeper. Pure values."""

from dataclasses import dataclass
from typing import TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A node that could not be read, and why."""

    reason: str


Read: TypeAlias = T | Unreadable | None
"""The node at a path; None if absent."""
