"""The loop of the console consumer: messages in, lines out, and an account of what got through."""

from collections.abc import Callable, Iterator
from enum import Enum, auto

from zkconsumer.cli.consume.format import Formatter, Message


class CurrentMessage(Enum):
    """What is in our hand between two messages."""

    ASKING = auto()
    """The next message was asked for, and may have been handed over or not."""

    HOLDING = auto()
    """A message was handed over and is not wholly written."""

    WRITTEN = auto()
    """Every message that was handed over is written."""


class Copier:
    """Copies messages to an output until the messages, or the count that is wanted, are over.

    It can be interrupted anywhere by an exception. A message counts as done for an automatic commit
    when its successor is asked for, and as done for a commit of ours when it is handed over; so
    the last written message may be committed by us only while ``cursor`` says ``WRITTEN``, and what
    is asked for only after the line before has left the process is never committed unwritten.

    Attributes:
        count: how many messages are wholly written.
        cursor: the message being copied.
    """

    def __init__(self, formatter: Formatter, write: Callable[[bytes], None]) -> None:
        self._formatter = formatter
        self._write = write
        self.count = 0
        self.cursor = CurrentMessage.WRITTEN

    def pending(self) -> int | None:
        """Return the number, from 0, of the message that is not wholly written yet; or None."""
        return self.count if self.cursor is CurrentMessage.HOLDING else None

    def copy(self, messages: Iterator[Message], limit: int | None = None) -> None:
        """Copy up to ``limit`` messages; what the iterator and the output raise comes through."""
        while limit is None or self.count < limit:
            self.cursor = CurrentMessage.ASKING
            message = next(messages, None)
            if message is None:
                return
            self.cursor = CurrentMessage.HOLDING
            self._write(self._formatter(message))
            self.count += 1
            self.cursor = CurrentMessage.WRITTEN
