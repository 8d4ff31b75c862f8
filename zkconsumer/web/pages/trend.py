"""A line as large as a word: how a group's lag went. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from zkconsumer.web.pages.words import short

HEIGHT: Final = 20
_STEP: Final = 2
_BRIDGED: Final = 2
"""So many values in a row may be missing without a gap: not everybody looks each minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """What is drawn, from 0 to ``width`` and (downwards) to ``HEIGHT``.

    Attributes:
        lines: points of each line, as SVG has them; there is a gap where nothing was seen for long.
        width: of the whole time.
        message: the same in words.
    """

    lines: tuple[str, ...]
    width: int
    message: str


def trend_of(lags: Sequence[int | None]) -> Trend | None:
    """Return the line of these values, which are equally far apart; None where nothing was seen.

    Each line has a scale of its own: it tells where a group goes, not how it stands to others.
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
        # Room for the line's own width at both ends.
        y = HEIGHT - 1 - (HEIGHT - 2) * lag / largest if largest else HEIGHT - 1
        lines[-1].append(f"{place * _STEP},{y:.1f}")
    # A single sample is a dot: a line to where it already is.
    drawn = tuple(" ".join(line if len(line) > 1 else line * 2) for line in lines)
    message = (
        f"in the last hour from {short(known[0])} to {short(known[-1])}, at most {short(largest)}"
    )
    return Trend(lines=drawn, width=max(1, len(lags) - 1) * _STEP, message=message)
