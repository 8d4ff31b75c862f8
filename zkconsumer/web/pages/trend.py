"""Sparklines: a group's lag over time. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from zkconsumer.web.pages.formatting import short

HEIGHT: Final = 20
_STEP: Final = 2
_BRIDGED: Final = 2
"""How many missing values are bridged without a gap: not every group has a value each minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """A sparkline, from 0 to ``width`` and (downwards) to ``HEIGHT``.

    Attributes:
        lines: the points of each line, as in SVG; a long time without samples leaves a gap.
        width: of the whole time range.
        message: a description in words.
    """

    lines: tuple[str, ...]
    width: int
    message: str


def trend_of(lags: Sequence[int | None]) -> Trend | None:
    """Return the sparkline of equidistant values; None if all are missing.

    Each has its own scale: it shows a group's trend, not how the group compares with others.
    """
    known = [lag for lag in lags if lag is not None]
    if not known:
        return None
    largest = max(known)
    lines: list[list[str]] = []
    last = -_BRIDGED - 2
    for place, lag in enumerate(lags):
        if lag is None:
            continue
        if place - last > _BRIDGED + 1:
            lines.append([])
        last = place
        # Leave space for the line's width at both ends.
        y = HEIGHT - 1 - (HEIGHT - 2) * lag / largest if largest else HEIGHT - 1
        lines[-1].append(f"{place * _STEP},{y:.1f}")
    # A single sample is drawn as a dot: a line to itself.
    drawn = tuple(" ".join(line if len(line) > 1 else line * 2) for line in lines)
    message = (
        f"in the last hour from {short(known[0])} to {short(known[-1])}, at most {short(largest)}"
    )
    return Trend(lines=drawn, width=max(1, len(lags) - 1) * _STEP, message=message)
