"""When to commit by itself what earlier polls handed out. Pure.

Source: Kafka ``ConsumerCoordinator.maybeAutoCommitOffsetsAsync``.
"""

from typing import Final

_LONGEST_MS: Final = 300_000
"""No commit takes so long: if its end was not heard by then, a signal handler kept it from us."""


class AutoCommit:
    """The timer of ``enable_auto_commit``; one commit at a time.

    Args:
        enabled: without it nothing is ever due.
        interval_ms: from one commit to the next.
        retry_ms: the pause before the next try where one failed; it doubles with each in a row.
    """

    def __init__(self, *, enabled: bool, interval_ms: int, retry_ms: int) -> None:
        self.enabled = enabled
        self._interval_ms = interval_ms
        self._retry_ms = min(retry_ms, interval_ms)
        self._due_ms: int | None = None
        self._under_way_since_ms: int | None = None
        self._failures = 0

    def is_due(self, now_ms: int) -> bool:
        """Return whether to commit now; the first is due one interval after the first question."""
        if not self.enabled or self._is_under_way(now_ms):
            return False
        if self._due_ms is None:
            self._due_ms = now_ms + self._interval_ms
        return now_ms >= self._due_ms

    def began(self, now_ms: int) -> None:
        """A commit is under way."""
        self._under_way_since_ms = now_ms

    def ended(self, now_ms: int, *, failed: bool) -> None:
        """It is not any more."""
        self._under_way_since_ms = None
        delay_ms = self._interval_ms
        if failed:
            # What does not pass, such as a topic that was deleted, is not to be hammered at.
            delay_ms = min(delay_ms, self._retry_ms << min(self._failures, 20))
        self._failures = self._failures + 1 if failed else 0
        self._due_ms = now_ms + delay_ms

    def postponed(self, now_ms: int) -> None:
        """All that was handed out is committed, or is nothing: one interval from now."""
        if not self._is_under_way(now_ms):
            self._due_ms = now_ms + self._interval_ms

    def _is_under_way(self, now_ms: int) -> bool:
        since_ms = self._under_way_since_ms
        return since_ms is not None and now_ms - since_ms < _LONGEST_MS
