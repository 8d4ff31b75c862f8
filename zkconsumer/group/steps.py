"""The step that a member waits for: one at a time, each in a round of its own."""

from enum import Enum, auto


class PendingStep(Enum):
    """What is awaited."""

    GIVING_UP = auto()
    TAKING_OVER = auto()
    JOINING = auto()
    ASSIGNING = auto()
    SYNCING = auto()


_CALLBACKS = frozenset({PendingStep.GIVING_UP, PendingStep.TAKING_OVER})


class Steps:
    """The open step.

    Attributes:
        open: what is awaited; None: nothing.
        round: the number that its answer must bear.
        begun_ms: since when.
    """

    def __init__(self) -> None:
        self.open: PendingStep | None = None
        self.round = 0
        self.begun_ms = 0

    def begin(self, step: PendingStep, now_ms: int) -> int:
        """Wait for this; gives its round."""
        assert self.open is None, f"{step} before {self.open} is answered"
        self.open = step
        self.round += 1
        self.begun_ms = now_ms
        return self.round

    def end(self) -> PendingStep:
        """It was answered."""
        ended = self.open
        assert ended is not None
        self.open = None
        return ended

    def drop_request(self) -> bool:
        """Wait no more, unless for the listener, which runs to its end; tells whether we did."""
        if self.open is None or self.open in _CALLBACKS:
            return False
        self.drop()
        return True

    def drop(self) -> None:
        """Wait no more for anything."""
        self.open = None
        self.round += 1
