"""The step whose result a member awaits: one at a time, each in a round of its own."""

from enum import Enum, auto


class PendingStep(Enum):
    """The kind of an awaited step."""

    GIVING_UP = auto()
    TAKING_OVER = auto()
    JOINING = auto()
    ASSIGNING = auto()
    SYNCING = auto()


_CALLBACKS = frozenset({PendingStep.GIVING_UP, PendingStep.TAKING_OVER})


class Steps:
    """The pending step.

    Attributes:
        open: the pending step; None: none.
        round: the number that its result must have.
        begun_ms: when it began.
    """

    def __init__(self) -> None:
        self.open: PendingStep | None = None
        self.round = 0
        self.begun_ms = 0

    def begin(self, step: PendingStep, now_ms: int) -> int:
        """Begin a step; return its round."""
        assert self.open is None, f"{step} before {self.open} is answered"
        self.open = step
        self.round += 1
        self.begun_ms = now_ms
        return self.round

    def end(self) -> PendingStep:
        """End the pending step and return it."""
        ended = self.open
        assert ended is not None
        self.open = None
        return ended

    def drop_request(self) -> bool:
        """Drop the pending step unless it runs the listener; return whether it was dropped."""
        if self.open is None or self.open in _CALLBACKS:
            return False
        self.drop()
        return True

    def drop(self) -> None:
        """Drop the pending step."""
        self.open = None
        self.round += 1
