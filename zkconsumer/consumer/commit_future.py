"""The outcome of an asynchronous commit, in the form of kafka-python."""

from collections.abc import Callable

from zkconsumer.errors import RebalanceInProgress
from zkconsumer.futures import CallbackFuture
from zkconsumer.membership.protocol import Offsets


class CommitFuture(CallbackFuture[Offsets]):
    """The outcome of ``commit_async``, once it is known: its value are the committed offsets.

    It is resolved where callbacks run: in a later ``poll``, ``commit``, ``unsubscribe`` or
    ``close`` of the consumer, or when the consumer's thread reads ``is_done``.

    Args:
        look: runs the callbacks that are due, if that is possible now.

    Example:
        >>> future = consumer.commit_async()  # doctest: +SKIP
        >>> future.add_errback(lambda error: print("not committed:", error))  # doctest: +SKIP
    """

    __slots__ = ("_look",)

    def __init__(self, look: Callable[[], object]) -> None:
        super().__init__()
        self._look = look

    @property
    def is_done(self) -> bool:
        """Whether the outcome is known; runs due callbacks to find out."""
        if not self._is_done:
            self._look()
        return self._is_done

    def retriable(self) -> bool:
        """Return whether it failed in a way that a poll and another commit may cure."""
        return self.is_done and isinstance(self.exception, RebalanceInProgress)
