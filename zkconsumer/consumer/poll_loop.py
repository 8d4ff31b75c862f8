"""Runs a poll: repeats the work that is due until there are records to hand out."""

from collections.abc import Callable
from typing import TypeVar

from zkconsumer.clock import Clock
from zkconsumer.consumer.wakeup import Wakeup
from zkconsumer.errors import ConsumerClosed

T = TypeVar("T")


class BrokenOff(ConsumerClosed):
    """The consumer was closed, or ``close`` was requested, while a call waited."""


def deadline_of(clock: Clock, timeout_ms: int) -> int:
    """Return the deadline of a time-out in the clock's whole milliseconds, never too early.

    The current millisecond does not count, as part of it has passed; 0 ms expire immediately.
    """
    return clock.now_ms() + timeout_ms + (timeout_ms > 0)


class PollLoop:
    """Runs the rounds of a poll. Thread: the caller's.

    Args:
        turn: does the work of every round.
        most_ms: the longest wait between two rounds; each round shows the group that we poll.
        death: returns the error of the first thread of the consumer that died, None if none did.
            Without it a poll could wait for ever.
        is_ending: returns whether the consumer was closed, or is to be.
        gathering_wait_ms: returns how long to wait for more records before taking any; 0: do not
            wait.

    Attributes:
        is_resting: whether a poll is waiting: a signal handler that interrupts it finds nothing
            half done, and may close the consumer.
    """

    def __init__(  # noqa: PLR0913 - one part a line, most by name
        self,
        turn: Callable[[], None],
        wakeup: Wakeup,
        clock: Clock,
        *,
        most_ms: int,
        death: Callable[[], BaseException | None] = lambda: None,
        is_ending: Callable[[], bool] = lambda: False,
        gathering_wait_ms: Callable[[], int] = lambda: 0,
    ) -> None:
        self.is_resting = False
        self._turn = turn
        self._wakeup = wakeup
        self._clock = clock
        self._most_ms = most_ms
        self._death = death
        self._is_ending = is_ending
        self._gathering_wait_ms = gathering_wait_ms

    def run(self, timeout_ms: int | None, take: Callable[[], T]) -> T:
        """Run rounds until ``take`` returns a true value, or time is up; return its last result.

        Args:
            timeout_ms: the time limit; None: no limit; 0: one round.
            take: takes the available records.

        Raises:
            Woken: ``wakeup()`` was called.
            BrokenOff: ``close()`` was called.
            Exception: an error of a round or of ``take``, or the error of a thread that died.
        """
        deadline_ms = None if timeout_ms is None else deadline_of(self._clock, timeout_ms)
        while True:
            self.check()
            self._turn()
            wait_ms = min(self._left_ms(deadline_ms), self._gathering_wait_ms())
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
        """Check that the call may continue.

        Raises:
            Woken: ``wakeup()`` was called.
            BrokenOff: ``close()`` was called.
        """
        if self._is_ending():
            raise BrokenOff("the consumer was closed while this call waited")
        self._wakeup.check()

    def _left_ms(self, deadline_ms: int | None) -> int:
        """Return the time until the next round, in ms; 0 or less after the deadline."""
        if deadline_ms is None:
            return self._most_ms
        return min(self._most_ms, deadline_ms - self._clock.now_ms())
