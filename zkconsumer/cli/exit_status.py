"""The exit statuses of all commands, besides 0: done, and no problems found."""

from typing import Final

COULD_NOT: Final = 1
"""A read or an operation failed."""

REFUSED: Final = 2
"""The usage was wrong, or the command refused: nothing was done."""

NOT_WELL: Final = 3
"""The command found problems."""

INTERRUPTED: Final = 130
