"""Split writes into the parts that a server accepts. Pure."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def parts_of(
    items: Iterable[T], size_of: Callable[[T], int], *, most_bytes: int
) -> Iterator[list[T]]:
    """Yield items in order, as many at a time as fit; a larger one is a part of its own."""
    part: list[T] = []
    used = 0
    for item in items:
        size = size_of(item)
        if part and used + size > most_bytes:
            yield part
            part, used = [], 0
        part.append(item)
        used += size
    if part:
        yield part
