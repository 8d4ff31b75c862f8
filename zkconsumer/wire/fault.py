"""The error of a field, before the name of its message is known."""

from collections.abc import Iterable

from zkconsumer.errors import DecodeError, LocalProtocolError


class Fault(Exception):
    """A field can't be read or written; each enclosing level appends its name to ``steps``.

    Attributes:
        reason: the error message.
        position: the byte offset in the frame; 0 while writing.
        steps: the path to the field, the innermost step first.
    """

    def __init__(self, reason: str, *, position: int = 0, steps: Iterable[str] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position
        self.steps = list(steps)

    @property
    def path(self) -> str:
        """The path to the field, such as ``topics[0].partitions[3].error_code``."""
        return ".".join(reversed(self.steps)).replace(".[", "[")

    def unreadable(self, name: str) -> DecodeError:
        """Return the error of a received message with this name."""
        return DecodeError(name, self.path, self.position, self.reason)

    def unsendable(self, name: str) -> LocalProtocolError:
        """Return the error of a message with this name that can't be encoded."""
        return LocalProtocolError(f"{name}: {self.reason} (field {self.path or '-'})")
