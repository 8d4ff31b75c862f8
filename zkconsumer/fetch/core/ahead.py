"""Estimate where a set ends from its headers, to send the next request before unpacking. Pure.

The estimate is unverified. Native core only: in Python, reading the headers takes as long as
unpacking.
"""

from typing import NamedTuple

from zkconsumer.records.engine import ENGINE, Engine

if ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core

_LIKELY_EXPANSION = 4
"""Assumed ratio of a compressed set's size in memory to its size in the log."""


class HeaderSummary(NamedTuple):
    """Summarize the headers of a set.

    Attributes:
        next_offset: the offset after its last whole entry.
        leader_epoch: the leader epoch in this entry; -1: none.
        needed_bytes: size of the entry that is cut off at the end; 0: none is.
        memory_bytes: estimated size in memory once unpacked.
    """

    next_offset: int
    leader_epoch: int
    needed_bytes: int
    memory_bytes: int


def look_ahead(data: memoryview, fetch_offset: int) -> HeaderSummary | None:
    """Summarize the headers of a set, without verifying them.

    Args:
        data: the set as received.
        fetch_offset: the requested offset.

    Returns:
        None if they are unsupported, no whole entry lies at the offset, or the core is not native.
    """
    if ENGINE is not Engine.NATIVE:
        return None
    seen = _core.look_ahead(data, fetch_offset)
    if seen is None:
        return None
    next_offset, leader_epoch, needed_bytes, is_compressed = seen
    memory_bytes = len(data) * (_LIKELY_EXPANSION if is_compressed else 1)
    return HeaderSummary(next_offset, leader_epoch, needed_bytes, memory_bytes)
