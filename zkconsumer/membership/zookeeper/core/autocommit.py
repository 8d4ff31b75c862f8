"""Computes when the next automatic commit is due. Pure.

Source: Kafka 0.8.2.2 ``KafkaScheduler`` as the connector uses it: first after one interval, then at
a fixed rate.
"""


class CommitTimer:
    """A fixed-rate timer; an interval that was missed is skipped."""

    def __init__(self, *, enabled: bool, interval_ms: int, now_ms: int) -> None:
        self._interval_ms = max(1, interval_ms)
        self.due_ms: int | None = now_ms + self._interval_ms if enabled else None

    def take(self, now_ms: int) -> bool:
        """Return whether a commit is due now; if so, schedule the next one."""
        if self.due_ms is None or now_ms < self.due_ms:
            return False
        missed = (now_ms - self.due_ms) // self._interval_ms
        self.due_ms += (missed + 1) * self._interval_ms
        return True
