"""Counts the tries of a rebalance, and computes when the next one is due. Pure.

Source: ``rebalance.max.retries`` and ``rebalance.backoff.ms`` of Kafka 0.8.2.2, counted per
trigger. Unlike there, tries go on beyond the limit, at longer intervals.
"""

from collections.abc import Callable

from zkconsumer.backoff import Backoff
from zkconsumer.membership.zookeeper.core.states import RebalanceSettings


class Retries:
    """Counts the failed tries since the last successful round.

    Args:
        settings: the limit of tries and their pauses.
        random: returns numbers in [0, 1) that spread the retries of members that failed together.
    """

    def __init__(self, settings: RebalanceSettings, random: Callable[[], float]) -> None:
        self._settings = settings
        self._random = random
        self._backoff = Backoff(settings.backoff_ms, settings.backoff_ms)
        self._blocked_until_ms: int | None = None
        self.failed = 0
        self.counted = True
        self.reported = False
        self.reason = ""

    def rested(self) -> None:
        """Forget all failures after a successful round."""
        self.start_over()
        self.reported = False

    def start_over(self) -> None:
        """Allow a new trigger the full number of tries."""
        self.failed = 0
        self.counted = True

    def registered(self) -> None:
        """Record that nothing blocks the registration any longer."""
        self._blocked_until_ms = None

    def blocked(self, now_ms: int) -> None:
        """Record that the registration is blocked, most likely by our own node from before a crash.

        That node is deleted with its session: until then, tries don't count.
        """
        if self._blocked_until_ms is None:
            self._blocked_until_ms = now_ms + 2 * self._settings.session_timeout_ms
        if now_ms < self._blocked_until_ms:
            self.counted = False

    def fail(self, reason: str) -> int:
        """Record a failed try; return how long to wait before the next."""
        self.failed += 1 if self.counted else 0
        self.reason = reason
        return self._backoff.delay_ms(0, self._random())

    @property
    def exhausted(self) -> bool:
        """Whether the last try allowed by ``rebalance.max.retries`` has failed."""
        return self.failed >= self._settings.max_retries

    @property
    def long_delay_ms(self) -> int:
        """The pause after all tries failed."""
        return self._settings.backoff_ms * self._settings.max_retries

    def audit_delay_ms(self) -> int | None:
        """Return how long to wait before the next audit, spread at random; None: none follows."""
        interval_ms = self._settings.audit_interval_ms
        if interval_ms <= 0:
            return None
        return Backoff(interval_ms, interval_ms).delay_ms(0, self._random())
