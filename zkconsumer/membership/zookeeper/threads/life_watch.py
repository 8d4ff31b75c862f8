"""The interface by which a member checks that its caller is still alive."""

from typing import Protocol


class LifeWatch(Protocol):
    """Decides when a member must leave because its caller stopped polling; see ``PollWatch``."""

    @property
    def due_ms(self) -> int | None:
        """When to check next; None: never."""
        ...

    def take(self, now_ms: int, /) -> bool:
        """Return whether the member must leave now."""
        ...
