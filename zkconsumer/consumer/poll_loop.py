"""Runs a poll: rounds of due work, until there are records to hand out."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from zkconsumer.clock import Clock
from zkconsumer.consumer.wakeup import Wakeup
from zkconsumer.errors import ConsumerClosed

T = TypeVar("T")


class Rounds(Protocol):
    """The work of every round; see ``PollSession``."""

    def turn(self) -> None:
        """Do the work that is due."""
        ...


class BrokenOff(ConsumerClosed):
    """The consumer was closed, or ``close`` was requested, while a call waited."""


def deadline_of(clock: Clock, timeout_ms: int) -> int:
    """Return the deadline of a time-out in the clock's whole milliseconds, never early.

    The current millisecond does not count; a time-out of 0 is over at once.
    """
    return clock.now_ms() + timeout_ms + (timeout_ms > 0)


class PollLoop:
    """Runs the rounds of a poll. Thread: the caller's.

    Args:
        rounds: the work of every round.
        most_ms: the longest wait between two rounds, after which the group is notified of the poll.
        death: returns the error of the consumer's first thread that died; None: all live. Without
            it a poll could wait for ever.
        is_ending: returns whether the consumer was closed, or is to be.
        gather_ms: how long to wait for more records before taking; 0: not at all.

    Attributes:
        is_resting: whether a poll waits now: code that interrupts it finds nothing half done, and
            may close the consumer.
    """

    def __init__(  # noqa: PLR0913 - one part a line, most by name
        self,
        rounds: Rounds,
        wakeup: Wakeup,
        clock: Clock,
        *,
        most_ms: int,
        death: Callable[[], BaseException | None] = lambda: None,
        is_ending: Callable[[], bool] = lambda: False,
        gather_ms: Callable[[], int] = lambda: 0,
    ) -> None:
        self.is_resting = False
        self._rounds = rounds
        self._wakeup = wakeup
        self._clock = clock
        self._most_ms = most_ms
        self._death = death
        self._is_ending = is_ending
        self._gather_ms = gather_ms

    def run(self, timeout_ms: int | None, take: Callable[[], T]) -> T:
        """Run rounds until ``take`` returns something true; after the time-out, its last result.

        Args:
            timeout_ms: None: no limit; 0: one round.
            take: takes available records.

        Raises:
            Woken: ``wakeup()`` was called.
            BrokenOff: ``close()`` was called.
            Exception: the error of a round or of ``take``, or of a thread that died.
        """
        deadline_ms = None if timeout_ms is None else deadline_of(self._clock, timeout_ms)
        while True:
            self.check()
            self._rounds.turn()
            wait_ms = min(self._left_ms(deadline_ms), self._gather_ms())
            if wait_ms <= 0:
                found = take()
                wait_ms = self._left_ms(deadline_ms)
                if found:
                    return found
                if (death := self._death()) is not None:
                    raise death
                if wait_ms <= 0:
                    return found
            self.is_resting = True
            try:
                self._wakeup.wait(wait_ms)
            finally:
                self.is_resting = False

    def check(self) -> None:
        """Check that the call may go on waiting.

        Raises:
            Woken: ``wakeup()`` was called.
            BrokenOff: ``close()`` was called.
        """
        if self._is_ending():
            raise BrokenOff("the consumer was closed while this call waited")
        self._wakeup.check()

    def _left_ms(self, deadline_ms: int | None) -> int:
        """Return the time until the next round, ms; 0 or less: the time-out is over."""
        if deadline_ms is None:
            return self._most_ms
        return min(self._most_ms, deadline_ms - self._clock.now_ms())
