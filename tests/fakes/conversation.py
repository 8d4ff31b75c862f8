"""The broker's end of a connection without a network: bytes in, bytes out, time as an argument.

A fake is written once as a ``Conversation``; ``memory_transport`` and ``loopback`` carry it.
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
        """The client sent these bytes."""
        ...

    def take_outgoing(self, now_ms: int) -> bytes:
        """What is to be sent to the client now; none until something changes or is due."""
        ...

    def next_deadline_ms(self) -> int | None:
        """When to look again though nothing changed; None for never."""
        ...

    def hang_up(self) -> None:
        """The client closed the connection."""
        ...


Listener = Callable[[], Conversation | None]
"""Accepts a connection; None refuses it."""
