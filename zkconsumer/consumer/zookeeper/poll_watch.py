"""A member whose caller does not poll any more must not keep its partitions from the group.

Scala's members know no such thing: whoever hangs keeps what he has. A caller who polls has said in
``max.poll.interval.ms`` how long his work may take.
"""

from zkconsumer.clock import Clock


class PollWatch:
    """Looks whether polls come. Thread: control, but for what is said otherwise.

    Args:
        limit_ms: ``max.poll.interval.ms``.
        clock: the time.

    Attributes:
        fell_silent: the member had to leave; set by the control thread, taken back by the caller's.
    """

    def __init__(self, limit_ms: int, clock: Clock) -> None:
        self.limit_ms = limit_ms
        self._clock = clock
        self._last_ms = clock.now_ms()
        self._watching = False
        self.fell_silent = False

    def polled(self) -> None:
        """The caller is here. Thread: the caller's."""
        self._last_ms = self._clock.now_ms()

    def watch(self, *, joined: bool) -> None:
        """Return whether there is anything to lose. Thread: the caller's."""
        self._watching = joined

    @property
    def due_ms(self) -> int | None:
        """When to look; None: not before something else happens."""
        return self._last_ms + self.limit_ms if self._watching else None

    def take(self, now_ms: int) -> bool:
        """Return whether it is to leave now; said once."""
        due_ms = self.due_ms
        if due_ms is None or now_ms < due_ms:
            return False
        self._watching = False
        self.fell_silent = True
        return True
