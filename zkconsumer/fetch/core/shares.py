"""Share out a response among the partitions of its request: for all readers. Pure.

An entry that is larger than a partition's part is requested whole. Several of these take turns,
within a bound; the first is requested whatever its size, since it would never fit otherwise.
"""

import sys
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple, TypeVar

from zkconsumer.fetch.core.settings import CoreFetchSettings

K = TypeVar("K")

MIN_PART_BYTES: Final = 4096
"""Minimum part of a response, bytes, however many partitions share it."""


class Wanted(NamedTuple):
    """How much to request of a partition.

    Attributes:
        needed_bytes: the size that its next entry is known to need; 0: not known.
        grown_bytes: the size of its request if it is far behind; 0: it is not.
        most_bytes: limit of its request, unless its next entry needs more.
    """

    needed_bytes: int = 0
    grown_bytes: int = 0
    most_bytes: int = sys.maxsize


class ResponseShares(NamedTuple):
    """How a response is shared out.

    Attributes:
        part_bytes: the part of each partition; a partition that needs more is large.
        grown_bytes: the same for a partition that is far behind; 0: no more than its part.
        large_bytes: limit of what is requested of all large ones together, except the first.
    """

    part_bytes: int
    grown_bytes: int
    large_bytes: int


def shares_of(
    settings: CoreFetchSettings,
    needed_bytes: Collection[int],
    sharing: int,
    *,
    growing: int = 1,
    has_hard_bounds: bool,
) -> ResponseShares:
    """Return how a response is shared out.

    A broker with soft bounds limits the response itself; no part is larger than all of it. With
    hard bounds each partition has an equal part; those with larger entries share half of it all.

    Args:
        settings: sizes of responses, of requests, and of growth.
        needed_bytes: known sizes of the next entries of the partitions to request.
        sharing: how many share the response: those to request, and those with a set to unpack.
        growing: how many of those to request are far behind.
        has_hard_bounds: whether the broker has no limit for the whole response.
    """
    usual_bytes, most_bytes = settings.max_partition_bytes, settings.max_bytes
    grown_bytes = settings.grown_bytes
    if settings.shares_growth:
        grown_bytes //= max(1, growing)
    if not has_hard_bounds:
        return ResponseShares(
            min(usual_bytes, most_bytes), min(grown_bytes, most_bytes), large_bytes=sys.maxsize
        )
    shares = ResponseShares(usual_bytes, grown_bytes, most_bytes // 2)
    for whole_bytes in (most_bytes, most_bytes // 2):
        share_bytes = max(MIN_PART_BYTES, whole_bytes // max(1, sharing))
        shares = shares._replace(
            part_bytes=min(usual_bytes, share_bytes), grown_bytes=min(grown_bytes, share_bytes)
        )
        if max(needed_bytes, default=0) <= shares.part_bytes:
            break
    return shares


def share_out(wanted: Mapping[K, Wanted], shares: ResponseShares) -> dict[K, int]:
    """Return the size to request of each partition, without those that wait for a turn.

    Args:
        wanted: the partitions, in the order of their turns.
        shares: how the response is shared out.
    """
    sizes: dict[K, int] = {}
    left_bytes = large_bytes = shares.large_bytes
    for key, want in wanted.items():
        usual_bytes = shares.part_bytes
        if want.needed_bytes > usual_bytes:
            if left_bytes < min(large_bytes, want.needed_bytes):
                continue
            left_bytes -= want.needed_bytes
        else:
            usual_bytes = max(usual_bytes, min(want.grown_bytes, shares.grown_bytes))
        sizes[key] = max(min(usual_bytes, want.most_bytes), want.needed_bytes)
    return sizes
