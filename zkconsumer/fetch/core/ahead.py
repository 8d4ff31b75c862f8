"""Where a set ends, by its headers: the next request can leave before it is unpacked. Pure.

It is a guess. Only the native core looks: in Python it takes no less time than unpacking.
"""

from dataclasses import dataclass

from zkconsumer.records.engine import ENGINE, Engine

if ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core

_LIKELY_EXPANSION = 4
"""How much larger than in the log what is compressed may be."""


@dataclass(frozen=True, slots=True)
class HeaderSummary:
    """What the headers of a set tell.

    Attributes:
        next_offset: behind its last whole entry.
        leader_epoch: that this entry names; -1: none.
        needed_bytes: of the entry that is cut off behind it; 0: none is.
        memory_bytes: about how much it takes when it is unpacked.
    """

    next_offset: int
    leader_epoch: int
    needed_bytes: int
    memory_bytes: int


def look_ahead(data: memoryview, fetch_offset: int) -> HeaderSummary | None:
    """Look at the headers of a set; nothing else is checked.

    Args:
        data: the set as it came.
        fetch_offset: what was asked for.

    Returns:
        None where they are odd, or nothing whole lies at the offset; and without the native core.
    """
    if ENGINE is not Engine.NATIVE:
        return None
    seen = _core.look_ahead(data, fetch_offset)
    if seen is None:
        return None
    next_offset, leader_epoch, needed_bytes, is_compressed = seen
    memory_bytes = len(data) * (_LIKELY_EXPANSION if is_compressed else 1)
    return HeaderSummary(next_offset, leader_epoch, needed_bytes, memory_bytes)
