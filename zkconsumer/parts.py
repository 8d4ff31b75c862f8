"""Split requests and writes into parts of the size that a server accepts. Pure."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def parts_of(items: Iterable[T], most: int, size_of: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield items in order, as many at a time as fit; a larger item is a part of its own.

    Args:
        items: all items.
        most: the largest size of a part.
        size_of: returns the size of an item.
    """
    part: list[T] = []
    used = 0
    for item in items:
        size = size_of(item)
        if part and used + size > most:
            yield part
            part, used = [], 0
        part.append(item)
        used += size
    if part:
        yield part
