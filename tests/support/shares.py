"""How much of what could be tried one run tries: a share, or with ``WHOLE=1`` all of it."""

import os
from typing import Final

WHOLE: Final = bool(os.environ.get("WHOLE"))
_SHARE: Final = 3
_LEAST: Final = 3
"""The first example that Hypothesis draws is the simplest there is, such as an empty message."""


def examples(count: int) -> int:
    """Return how many of a property's examples are tried.

    CI's never differ from those of the run before, so there many are only slower than few;
    ``make properties`` draws all of them, and others each time.
    """
    return count if WHOLE else max(min(count, _LEAST), count // _SHARE)


def stride(count: int) -> int:
    """Return at which distance places are tried of which one in ``count`` will do."""
    return 1 if WHOLE else count
