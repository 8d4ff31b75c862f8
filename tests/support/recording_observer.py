"""An observer that records all events."""

from typing import TypeVar

from zkconsumer.observe import Event, MemberName

E = TypeVar("E")


class RecordingObserver:
    """An ``Observer`` that records every event, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def observe(self, member: MemberName, event: Event) -> None:
        """See ``Observer``."""
        del member
        self.events.append(event)

    def of(self, kind: type[E]) -> list[E]:
        """The events of one type."""
        return [event for event in list(self.events) if isinstance(event, kind)]
