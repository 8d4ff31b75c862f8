"""Bounds the pause that a broker's quota imposes."""

from typing import Final

from zkconsumer.model import Broker
from zkconsumer.repeats import Repeats

MOST_THROTTLE_MS: Final = 300_000
"""Far beyond the pauses of quotas that people set. The pump in C has the same bound."""


def throttle_pause_ms(broker: Broker, throttle_ms: int, repeats: Repeats) -> int:
    """Return how long to send a broker nothing; a pause beyond the bound is cut, with a warning.

    Args:
        broker: which asks for it.
        throttle_ms: what it asks for, milliseconds: up to 24 days fit into the field.
        repeats: for the warning.
    """
    if throttle_ms > MOST_THROTTLE_MS:
        text = (
            f"{broker} asks for a pause of {throttle_ms} ms for its quota: it is asked again after "
            f"{MOST_THROTTLE_MS} ms; look at the quotas that it has for this client"
        )
        repeats.happened(f"{broker}: its quota", text)
    return max(0, min(throttle_ms, MOST_THROTTLE_MS))
