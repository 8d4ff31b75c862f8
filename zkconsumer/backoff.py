"""How long to wait before trying again: arithmetic, with the randomness passed in."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays that grow by ``factor`` up to a bound, lengthened at random by up to ``jitter``.

    Members that fail together must not retry together. The random share is put *on top*: so many
    tries of the configured length are what outlasts a dead member's session, and must do so still.
    """

    initial_ms: int
    max_ms: int
    factor: float = 2.0
    jitter: float = 0.2

    def delay_ms(self, attempt: int, random: float) -> int:
        """The delay after failed attempt number ``attempt`` (from 0), ``random`` in [0, 1)."""
        full = min(float(self.max_ms), self.initial_ms * self.factor ** min(attempt, 64))
        return int(full * (1 + self.jitter * random))
