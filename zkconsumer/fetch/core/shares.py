"""Share out a response among the partitions of its request: for all readers. Pure.

An entry that is larger than a partition's part is requested whole. Several of these take turns,
within a bound; the first comes whatever its size, for else it never would.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeVar

K = TypeVar("K")

MIN_PART_BYTES: Final = 4096
"""The least part of a response, however many partitions share it."""


class Wanted(NamedTuple):
    """How much to request of a partition.

    Attributes:
        usual_bytes: the size of a request if its next entry is not larger.
        needed_bytes: the size that its next entry is known to need; 0: not known.
    """

    usual_bytes: int
    needed_bytes: int


def share_out(
    wanted: Mapping[K, Wanted],
    *,
    part_bytes: int,
    large_bytes: int,
    may_be_large: Callable[[K], bool] = lambda _: True,
) -> dict[K, int]:
    """Return the size to request of each, in their order; left out is who has to wait for a turn.

    Args:
        wanted: the partitions, in the order of their turns.
        part_bytes: who needs more than this is large.
        large_bytes: bounds what is requested of large ones together, but for the first.
        may_be_large: called for a large one that could have its turn.
    """
    sizes: dict[K, int] = {}
    left_bytes = large_bytes
    for key, one in wanted.items():
        if one.needed_bytes > part_bytes:
            if left_bytes < min(large_bytes, one.needed_bytes) or not may_be_large(key):
                continue
            left_bytes -= one.needed_bytes
        sizes[key] = max(one)
    return sizes
