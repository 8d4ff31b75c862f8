"""How often to ask for metadata. Pure.

Source: Kafka 3.9 ``Metadata.timeToAllowUpdate``, ``timeToNextUpdate``; KIP-580.
"""

from zkconsumer.backoff import Backoff

MOST_RETRY_MS = 1_000
"""``retry.backoff.max.ms``: the longest pause while nobody answers."""

MISSING_MS = 1_000
"""The longest pause while a topic or a leader is missing, and asking costs little..."""

MOST_MISSING_MS = 10_000
"""... and where it costs much: brokers of 0.10 and before are asked about all topics for that."""

_SHARE = 20
"""So many times as long as an answer took is the pause after it, within these two."""

REFUSED_MS = 10_000
"""The pause when brokers don't believe who we are: too many wrong passwords may lock a user out."""


class RefreshPace:
    """The time from one question to the next.

    Args:
        refresh_ms: how old an answer may get that has all.
        backoff_ms: the least, and where others begin to grow.
    """

    def __init__(self, *, refresh_ms: int, backoff_ms: int) -> None:
        self._refresh_ms = refresh_ms
        self._backoff_ms = backoff_ms
        self._retry = Backoff(backoff_ms, max(backoff_ms, MOST_RETRY_MS))
        self._look_again = Backoff(backoff_ms, max(backoff_ms, MOST_MISSING_MS))
        self._missing_ms = MISSING_MS
        self._failed = 0
        self._missing = 0
        self._refused = False

    def on_response(self, *, missing: bool, took_ms: int = 0) -> None:
        """Somebody answered.

        Args:
            missing: not all that is wanted is there.
            took_ms: how long it took.
        """
        self._failed, self._refused = 0, False
        self._missing_ms = max(MISSING_MS, self._backoff_ms, _SHARE * took_ms)
        self._missing = self._missing + 1 if missing else 0

    def failed(self, *, refused: bool) -> None:
        """Nobody answered; ``refused``: since we are not who we say."""
        self._failed += 1
        self._refused = refused

    def interval_ms(self, *, wanted: bool) -> int:
        """Counted from the last question; ``wanted``: somebody asked for an answer since."""
        if self._refused:
            return max(self._backoff_ms, REFUSED_MS)
        if self._failed:
            return self._retry.delay_ms(self._failed - 1, 0)
        if wanted:
            return self._backoff_ms
        if self._missing:
            look_again_ms = self._look_again.delay_ms(self._missing - 1, 0)
            return min(self._refresh_ms, self._missing_ms, look_again_ms)
        return self._refresh_ms
