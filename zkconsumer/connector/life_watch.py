"""Who looks whether the caller of a member is still there."""

from typing import Protocol


class LifeWatch(Protocol):
    """Says when a member is to leave because its caller is gone; see ``PollWatch``."""

    @property
    def due_ms(self) -> int | None:
        """When to look; None: never."""
        ...

    def take(self, now_ms: int, /) -> bool:
        """Return whether to leave now."""
        ...
