"""The values that mean that a peer does not report something. Pure."""

from typing import Final

NO_OFFSET: Final = -1
"""An unknown offset; also the timestamp of a lookup that no record matches."""

NO_EPOCH: Final = -1
"""An unknown leader epoch."""

NO_BROKER: Final = -1
"""No preferred replica, or an unknown leader."""

NO_TOPIC_ID: Final = bytes(16)

NO_OPERATIONS: Final = -(1 << 31)
"""Authorized operations that were not requested."""
