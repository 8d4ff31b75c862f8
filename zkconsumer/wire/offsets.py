"""Checks offsets in responses, which no checksum covers."""

from typing import Final

from zkconsumer.wire.absent import NO_OFFSET

_MOST: Final = 2**63 - 1
"""Not an offset of a record, since the next offset must be an int64, too."""


def is_offset(value: int) -> bool:
    """Return whether ``value`` can be the offset of a record, or of the next one."""
    return 0 <= value < _MOST


def is_offset_or_none(value: int) -> bool:
    """Return whether ``value`` is an offset, or means that there is none."""
    return value == NO_OFFSET or is_offset(value)


def is_committed_offset(value: int) -> bool:
    """Return whether ``value`` is a next offset to read, or means that none is committed."""
    return value >= NO_OFFSET
