"""Which numbers can be offsets; for answers whose numbers no checksum covers."""

from typing import Final

NO_OFFSET: Final = -1
"""What brokers answer where there is none."""

_MOST: Final = 2**63 - 1
"""The one behind an offset has to be an int64, too."""


def is_offset(value: int) -> bool:
    """Return whether a record can have this offset, or the next one will."""
    return 0 <= value < _MOST


def is_offset_or_none(value: int) -> bool:
    """Return whether a broker means something by it: an offset, or that there is none."""
    return value == NO_OFFSET or is_offset(value)


def is_committed_offset(value: int) -> bool:
    """Whether it says where to read next, up to the last int64, or that nothing is committed."""
    return value >= NO_OFFSET
