"""Answers of the control thread that ring the caller's bell when they come."""

from collections.abc import Callable
from typing import Generic, TypeVar

from zkconsumer.connector.messages import ControlTask
from zkconsumer.connector.reply import Reply
from zkconsumer.errors import ZkConsumerError, without_frames

T = TypeVar("T")


class ObservedReply(Reply[T], Generic[T]):
    """A ``Reply`` that can also be looked at without waiting.

    Args:
        signal: called when it was given; must only put.

    Attributes:
        error: what came instead of a value, after ``look``.
    """

    __slots__ = ("_given", "_signal", "error")

    def __init__(self, signal: Callable[[], None]) -> None:
        super().__init__()
        self._signal = signal
        self._given = False
        self.error: ZkConsumerError | None = None

    def give(self, value: T) -> None:
        """See ``Reply``."""
        super().give(value)
        self._signal()

    def fail(self, error: BaseException) -> None:
        """See ``Reply``."""
        super().fail(error)
        self._signal()

    def look(self) -> bool:
        """Return whether it was given, be it an error. Not to be mixed with ``wait``.

        Raises:
            BaseException: the error that was given, where it is none of ours.
        """
        if not self._given:
            try:
                _, self._given = self.wait(0)
            except ZkConsumerError as error:
                self._given, self.error = True, without_frames(error)
        return self._given


def task(work: Callable[[], T], reply: Reply[T]) -> ControlTask:
    """Have this done by the control thread; its outcome is the reply."""

    def run() -> None:
        try:
            reply.give(work())
        except ZkConsumerError as error:
            reply.fail(without_frames(error))
        except BaseException as error:
            # The end of that thread, but whoever waits must not wait for ever.
            reply.fail(error)
            raise

    return ControlTask(run, reply.fail)
