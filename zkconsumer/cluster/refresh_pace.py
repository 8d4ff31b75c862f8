"""Decides how often to request metadata. Pure.

Source: Kafka 3.9 ``Metadata.timeToAllowUpdate``, ``timeToNextUpdate`` and
``requestUpdateForNewTopics``; KIP-580.
"""

from zkconsumer.backoff import Backoff

MOST_RETRY_MS = 1_000
"""``retry.backoff.max.ms``: the longest pause after failures."""

MISSING_MS = 1_000
"""The longest pause while a topic or a leader is missing, if a request costs little."""

MOST_MISSING_MS = 10_000
"""The same if it costs much: requests to brokers of 0.10 and before are for all topics."""

_SHARE = 20
"""The pause after a response is this many times its duration, within these two limits."""

REFUSED_MS = 10_000
"""The pause after failed authentication: too many wrong passwords may lock a user out."""


class RefreshPace:
    """Computes the interval between requests for metadata.

    Args:
        refresh_ms: the maximum age of a complete response.
        backoff_ms: the minimum interval, from which longer ones grow.
    """

    def __init__(self, *, refresh_ms: int, backoff_ms: int) -> None:
        self._refresh_ms = refresh_ms
        self._backoff_ms = backoff_ms
        self._retry = Backoff(backoff_ms, max(backoff_ms, MOST_RETRY_MS))
        self._missing_backoff = Backoff(backoff_ms, max(backoff_ms, MOST_MISSING_MS))
        self._missing_ms = MISSING_MS
        self._failed = 0
        self._missing = 0
        self._refused = False

    def on_response(self, *, missing: bool, took_ms: int = 0) -> None:
        """Record a response.

        Args:
            missing: whether a topic or a leader is missing in it.
            took_ms: how long it took.
        """
        self._failed, self._refused = 0, False
        self._missing_ms = max(MISSING_MS, self._backoff_ms, _SHARE * took_ms)
        self._missing = self._missing + 1 if missing else 0

    def failed(self, *, refused: bool) -> None:
        """Record a failure; ``refused``: whether authentication failed."""
        self._failed += 1
        self._refused = refused

    def interval_ms(self, *, wanted: bool, has_new_topics: bool = False) -> int:
        """Return the interval after the last request.

        Args:
            wanted: whether an update was requested since.
            has_new_topics: whether topics were added since, which can't be fetched until requested.
        """
        if self._refused:
            return max(self._backoff_ms, REFUSED_MS)
        if self._failed:
            return self._retry.delay_ms(self._failed - 1, 0)
        if has_new_topics:
            return 0
        if wanted:
            return self._backoff_ms
        if self._missing:
            missing_ms = self._missing_backoff.delay_ms(self._missing - 1, 0)
            return min(self._refresh_ms, self._missing_ms, missing_ms)
        return self._refresh_ms
