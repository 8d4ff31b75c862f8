"""How many of all possible examples a test run tries: a share, or with ``WHOLE=1`` all."""

import os
from typing import Final

WHOLE: Final = bool(os.environ.get("WHOLE"))
_SHARE: Final = 3
_LEAST: Final = 3
"""Hypothesis's first example is the simplest possible one, such as an empty message."""


def examples(count: int) -> int:
    """Return how many of a property's examples are tried.

    CI draws the same examples in every run, so more of them would only be slower; ``make
    properties`` draws all of them, and different ones each time.
    """
    return count if WHOLE else max(min(count, _LEAST), count // _SHARE)


def sampling_step(count: int) -> int:
    """Return the step width for places of which trying one in ``count`` is enough."""
    return 1 if WHOLE else count
