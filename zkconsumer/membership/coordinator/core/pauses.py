"""The pauses between failed tries: arithmetic, with the randomness passed in."""

from collections.abc import Callable

from zkconsumer.backoff import Backoff
from zkconsumer.membership.coordinator.core.states import GroupSettings


class Pauses:
    """Pauses that double with each failure in a row (KIP-580).

    Args:
        settings: the first and the longest pause.
        random: returns numbers in [0, 1).

    Attributes:
        until_ms: when the next try is due.
        count: how often a pause began or ended: identifies a pause.
    """

    def __init__(self, settings: GroupSettings, random: Callable[[], float]) -> None:
        self._backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        self._random = random
        self._failed = 0
        self.until_ms = 0
        self.count = 0

    def pause(self, now_ms: int) -> None:
        """Record a failed try."""
        self.until_ms = now_ms + self._backoff.delay_ms(self._failed, self._random())
        self._failed += 1
        self.count += 1

    def over(self) -> None:
        """Record a successful try."""
        self._failed = 0
        self.until_ms = 0
        self.count += 1
