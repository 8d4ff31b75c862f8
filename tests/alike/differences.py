"""Cases that come out differently because that was decided, each with its reason."""

from typing import Final

BY_DECISION: Final[dict[str, str]] = {}
