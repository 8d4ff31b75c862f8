"""The values that stand for what a peer does not report. Pure."""

from typing import Final

NO_OFFSET: Final = -1
"""An unknown offset; where no record matches, its timestamp, too."""

NO_EPOCH: Final = -1
"""An unknown leader epoch."""

NO_BROKER: Final = -1
"""No preferred replica, or an unknown leader."""

NO_TOPIC_ID: Final = bytes(16)

NO_OPERATIONS: Final = -(1 << 31)
"""Authorized operations that were not requested."""
