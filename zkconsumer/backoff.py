"""Delays between retries: arithmetic, with the randomness passed in."""

from typing import NamedTuple


class Backoff(NamedTuple):
    """Delays that grow by ``factor`` up to ``max_ms``, each extended at random by up to ``jitter``.

    Members that fail together must not retry together. The random part is *added*: the configured
    number and length of the retries outlast the session of a dead member, and still must.
    """

    initial_ms: int
    max_ms: int
    factor: float = 2.0
    jitter: float = 0.2

    def delay_ms(self, attempt: int, random: float) -> int:
        """Return the delay after failed attempt ``attempt`` (from 0), ``random`` in [0, 1)."""
        full = min(float(self.max_ms), self.initial_ms * self.factor ** min(attempt, 64))
        return int(full * (1 + self.jitter * random))
