"""Makes a member leave when its caller stops polling, so that others get its partitions.

Scala members do not do this: a member that hangs keeps its partitions. A caller that polls has
limited its processing time with ``max.poll.interval.ms``.
"""

from zkconsumer.clock import Clock


class PollWatch:
    """Decides when a member must leave. Thread: control, unless noted otherwise.

    Attributes:
        fell_silent: whether the member had to leave; set by the control thread, reset by the
            caller's.
    """

    def __init__(self, limit_ms: int, clock: Clock) -> None:
        self.limit_ms = limit_ms
        self._clock = clock
        self._last_ms = clock.now_ms()
        self._watching = False
        self.fell_silent = False

    def on_poll(self) -> None:
        """Record a poll. Thread: the caller's."""
        self._last_ms = self._clock.now_ms()

    def watch(self, *, joined: bool) -> None:
        """Watch only while the member has joined. Thread: the caller's."""
        self._watching = joined

    @property
    def due_ms(self) -> int | None:
        """The time of the next check; None: only after the next event."""
        return self._last_ms + self.limit_ms if self._watching else None

    def take(self, now_ms: int) -> bool:
        """Return whether the member must leave now; True only once for each silence."""
        due_ms = self.due_ms
        if due_ms is None or now_ms < due_ms:
            return False
        self._watching = False
        self.fell_silent = True
        return True
