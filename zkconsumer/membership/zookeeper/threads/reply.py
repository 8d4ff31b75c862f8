"""A result that one thread waits for and another provides; safe with signal handlers."""

from collections.abc import Callable
from typing import Generic, TypeVar

from zkconsumer.errors import ZkConsumerError, without_frames
from zkconsumer.scope import Mailbox, naps

T = TypeVar("T")


class Reply(Generic[T]):
    """A value or an error, given once.

    Built on ``Mailbox``: it holds no lock that a signal handler could need while it interrupts the
    waiting thread.
    """

    __slots__ = ("_box",)

    def __init__(self) -> None:
        self._box: Mailbox[tuple[T | None, BaseException | None]] = Mailbox()

    def set_result(self, value: T) -> None:
        """Provide the value."""
        self._box.put((value, None))

    def set_error(self, error: BaseException) -> None:
        """Provide an error, which is raised in the waiting thread."""
        self._box.put((None, error))

    def complete(self, work: Callable[[], T]) -> None:
        """Provide what ``work`` returns or raises, so that the waiting thread never hangs.

        Raises:
            BaseException: an error not of our own: it is provided, too, and ends the thread.
        """
        try:
            self.set_result(work())
        except ZkConsumerError as error:
            self.set_error(without_frames(error))
        except BaseException as error:
            self.set_error(error)
            raise

    def wait(self, timeout_ms: int | None) -> tuple[T | None, bool]:
        """Return the value and True, or None and False after the time-out.

        Raises:
            BaseException: the error that was given.
        """
        for nap_ms in naps(timeout_ms):
            response = self._box.get(nap_ms)
            if response is not None:
                value, error = response
                if error is not None:
                    raise error
                return value, True
        return None, False


class ObservedReply(Reply[T], Generic[T]):
    """A ``Reply`` that can also be checked without waiting.

    Args:
        signal: called when the reply is given; must only notify.

    Attributes:
        error: the error given instead of a value, after ``is_done``.
    """

    __slots__ = ("_given", "_signal", "error")

    def __init__(self, signal: Callable[[], None]) -> None:
        super().__init__()
        self._signal = signal
        self._given = False
        self.error: ZkConsumerError | None = None

    def set_result(self, value: T) -> None:
        """See ``Reply``."""
        super().set_result(value)
        self._signal()

    def set_error(self, error: BaseException) -> None:
        """See ``Reply``."""
        super().set_error(error)
        self._signal()

    def is_done(self) -> bool:
        """Return whether a value or an error was given. Don't mix it with ``wait``.

        Raises:
            BaseException: the error, if it is not one of ours.
        """
        if not self._given:
            try:
                _, self._given = self.wait(0)
            except ZkConsumerError as error:
                self._given, self.error = True, without_frames(error)
        return self._given
