"""Copies messages to lines for the console consumer, and counts the written ones."""

from collections.abc import Callable, Iterator
from enum import Enum, auto

from zkconsumer.cli.consume.format import Formatter, Message


class CurrentMessage(Enum):
    """The state of the message being copied."""

    ASKING = auto()
    """The next message was requested, and may or may not have been handed over."""

    HOLDING = auto()
    """A message was handed over, but is not wholly written."""

    WRITTEN = auto()
    """All messages that were handed over are written."""


class Copier:
    """Copies messages to an output until they end, or a limit is reached.

    An exception can interrupt it anywhere. An automatic commit covers a message once its successor
    is requested, an explicit commit once the message is handed over. So an explicit commit is
    allowed only while ``cursor`` is ``WRITTEN``; and since the next message is requested only after
    the line has left the process, no unwritten message is ever committed.

    Attributes:
        count: the number of wholly written messages.
        cursor: the state of the message being copied.
    """

    def __init__(self, formatter: Formatter, write: Callable[[bytes], None]) -> None:
        self._formatter = formatter
        self._write = write
        self.count = 0
        self.cursor = CurrentMessage.WRITTEN

    def pending(self) -> int | None:
        """Return the number, from 0 on, of a partly written message; None if there is none."""
        return self.count if self.cursor is CurrentMessage.HOLDING else None

    def copy(self, messages: Iterator[Message], limit: int | None = None) -> None:
        """Copy up to ``limit`` messages; pass on exceptions of the iterator and the output."""
        while limit is None or self.count < limit:
            self.cursor = CurrentMessage.ASKING
            message = next(messages, None)
            if message is None:
                return
            self.cursor = CurrentMessage.HOLDING
            self._write(self._formatter(message))
            self.count += 1
            self.cursor = CurrentMessage.WRITTEN
