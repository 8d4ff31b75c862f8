"""Replies of the control thread that wake the caller when they come."""

from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from zkconsumer.errors import ZkConsumerError, without_frames
from zkconsumer.membership.zookeeper.threads.messages import ControlTask
from zkconsumer.membership.zookeeper.threads.reply import Reply

T = TypeVar("T")


class ObservedReply(Reply[T], Generic[T]):
    """A ``Reply`` that can also be checked without waiting.

    Args:
        signal: called when the reply is given; must only notify.

    Attributes:
        error: the error given instead of a value, after ``look``.
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
        """Return whether a value or an error was given. Not to be mixed with ``wait``.

        Raises:
            BaseException: the error, if it is not one of ours.
        """
        if not self._given:
            try:
                _, self._given = self.wait(0)
            except ZkConsumerError as error:
                self._given, self.error = True, without_frames(error)
        return self._given


def task(work: Callable[[], T], reply: Reply[T]) -> ControlTask:
    """Make a task of the control thread, whose outcome is the reply."""
    return ControlTask(partial(reply.settle, work), reply.fail)
