"""Decides when to commit the records of earlier polls automatically. Pure.

Source: Kafka ``ConsumerCoordinator.maybeAutoCommitOffsetsAsync``.
"""

from typing import Final

_LONGEST_MS: Final = 300_000
"""A commit that takes longer counts as ended: an interrupt must have lost its outcome."""


class AutoCommit:
    """Decides when an automatic commit is due; at most one is under way. Thread: the caller's.

    Args:
        enabled: whether there are automatic commits; if not, none is ever due.
        interval_ms: the time between two commits.
        retry_ms: the pause after a failed commit; it doubles with each failure in a row.
    """

    def __init__(self, *, enabled: bool, interval_ms: int, retry_ms: int) -> None:
        self.enabled = enabled
        self._interval_ms = interval_ms
        self._retry_ms = min(retry_ms, interval_ms)
        self._due_ms: int | None = None
        self._under_way_since_ms: int | None = None
        self._failures = 0

    def start(self, now_ms: int) -> None:
        """Schedule the first commit one interval from now; later calls have no effect."""
        if self._due_ms is None:
            self._due_ms = now_ms + self._interval_ms

    def is_due(self, now_ms: int) -> bool:
        """Return whether to commit now; False before ``start``."""
        if not self.enabled or self._is_under_way(now_ms):
            return False
        return self._due_ms is not None and now_ms >= self._due_ms

    def on_begun(self, now_ms: int) -> None:
        """Record that a commit has begun."""
        self._under_way_since_ms = now_ms

    def on_ended(self, now_ms: int, *, failed: bool) -> None:
        """Record that the commit has ended and schedule the next one."""
        self._under_way_since_ms = None
        delay_ms = self._interval_ms
        if failed:
            # A persistent failure, such as a deleted topic, must not be retried at a high rate.
            delay_ms = min(delay_ms, self._retry_ms << min(self._failures, 20))
        self._failures = self._failures + 1 if failed else 0
        self._due_ms = now_ms + delay_ms

    def postpone(self, now_ms: int) -> None:
        """Schedule the next commit one interval from now, since nothing is left to commit."""
        if not self._is_under_way(now_ms):
            self._due_ms = now_ms + self._interval_ms

    def _is_under_way(self, now_ms: int) -> bool:
        since_ms = self._under_way_since_ms
        return since_ms is not None and now_ms - since_ms < _LONGEST_MS
