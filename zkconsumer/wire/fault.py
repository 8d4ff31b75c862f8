"""What goes wrong inside a message, on its way up to whoever knows the message's name."""

from collections.abc import Iterable


class Fault(Exception):
    """A field that can't be read or written; every level it passes puts itself in front.

    Attributes:
        reason: what is wrong.
        position: the byte of the frame; 0 while writing.
        steps: the way to the field, the innermost step first.
    """

    def __init__(self, reason: str, *, position: int = 0, steps: Iterable[str] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position
        self.steps = list(steps)

    @property
    def path(self) -> str:
        """The way to the field, such as ``topics[0].partitions[3].error_code``."""
        return ".".join(reversed(self.steps)).replace(".[", "[")
