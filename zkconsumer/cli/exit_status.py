"""The exit statuses of all commands, beside 0: done, and what was asked about is well."""

from typing import Final

COULD_NOT: Final = 1
"""Something could not be read or done."""

REFUSED: Final = 2
"""Wrong usage, or refused: nothing was done."""

NOT_WELL: Final = 3
"""What was asked about is not well."""

INTERRUPTED: Final = 130
