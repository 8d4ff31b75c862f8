"""The broker's end of a connection without a network: bytes in, bytes out, time as an argument.

A fake is written once as a ``Conversation``; ``memory_transport`` and ``loopback`` connect it.
"""

from collections.abc import Callable
from typing import Protocol


class Conversation(Protocol):
    """One connection, seen from the server. Thread: any, one call at a time."""

    @property
    def is_over(self) -> bool:
        """Whether the server has closed it, once everything outgoing is taken."""
        ...

    def on_change(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` whenever something else than ``receive`` may have made outgoing bytes."""
        ...

    def receive(self, data: bytes, now_ms: int) -> None:
        """Take bytes that the client sent."""
        ...

    def take_outgoing(self, now_ms: int) -> bytes:
        """Return the bytes to send to the client now; empty until something changes or is due."""
        ...

    def next_deadline_ms(self) -> int | None:
        """When ``take_outgoing`` is due although nothing changed; None: never."""
        ...

    def hang_up(self) -> None:
        """Notice that the client closed the connection."""
        ...


Listener = Callable[[], Conversation | None]
"""Accepts a connection; None refuses it."""
