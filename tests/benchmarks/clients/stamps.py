"""Makes and reads values with the time of their production (monotonic clock) and a number.

``time.monotonic_ns`` and Java's ``System.nanoTime`` read the same clock on Linux.
"""

import struct
import time

_STAMP = struct.Struct(">qi")
LAST = -1
"""The number of the last message."""


def stamped(number: int, value: bytes) -> bytes:
    """Return a value of the same length, with the time and the number at its start."""
    return _STAMP.pack(time.monotonic_ns(), number) + value[_STAMP.size :]


class Delays:
    """Collects the delays of messages."""

    def __init__(self) -> None:
        self.found_ns: list[int] = []

    def take(self, value: bytes) -> bool:
        """Record a message that was delivered just now; return False for the last one."""
        now_ns = time.monotonic_ns()
        sent_ns, number = _STAMP.unpack_from(value)
        self.found_ns.append(now_ns - sent_ns)
        return bool(number != LAST)
