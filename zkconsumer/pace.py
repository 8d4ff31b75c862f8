"""Pace lines that repeat: logged at once, then once a minute, with the number left out. Pure."""

from dataclasses import dataclass
from typing import Final

EVERY_MS: Final = 60_000


@dataclass(slots=True)
class Pace:
    """Decides when a line that was logged is logged again.

    Attributes:
        logged_ms: when it was last logged.
        left_out: how often it has been left out since then.
    """

    logged_ms: int
    left_out: int = 0

    def is_due(self, now_ms: int) -> bool:
        """Return whether the last line is a minute old."""
        return now_ms - self.logged_ms >= EVERY_MS

    def repeat(self, now_ms: int) -> str | None:
        """Count the line again; return what to append to it, or None if it is to be left out."""
        if self.is_due(now_ms):
            return self.logged(now_ms)
        self.left_out += 1
        return None

    def logged(self, now_ms: int) -> str:
        """Note that the line is logged; return what to append to it: how many were left out."""
        times, seconds = self.left_out, (now_ms - self.logged_ms) // 1000
        self.logged_ms, self.left_out = now_ms, 0
        return f" ({times} more in the last {seconds} s)" if times else ""
