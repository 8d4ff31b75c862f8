"""Limits how much waits unread in an output pipe, and detects that its reader has gone.

Data in a pipe counts as written, but its reader may never read it: ``| head -1`` reads one line,
and a pipe holds a thousand. So the pipe is first reduced to one page, and each write waits until
the reader has consumed everything; the more the reader has consumed, the more data may wait, up to
the pipe's default size, which it has after the first megabyte.
"""

import fcntl
import os
import select
import signal
import stat
import threading
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from termios import FIONREAD
from typing import Final

from zkconsumer.scope import ThreadScope

_GET_SIZE: Final[int | None] = getattr(fcntl, "F_GETPIPE_SZ", None)
_SET_SIZE: Final[int | None] = getattr(fcntl, "F_SETPIPE_SZ", None)
_PAGE: Final = 4096
_SHARE: Final = 16
"""The unread data is at most one part in this many of the data that was written."""
PATIENCE_MS: Final = 5_000
"""After this time without reading, the pipe gets its default size: the reader may wait for our
end."""
_CLOSE_MS: Final = 1_000


class PipeWindow:
    """Limits the unread data in a pipe. Thread: one.

    Only Linux has the system calls; on other systems, and for other files, this has no effect.

    Args:
        descriptor: the descriptor of the output.
        grace_ms: how long to wait for a reader that reads nothing.
    """

    def __init__(self, descriptor: int, *, grace_ms: int = PATIENCE_MS) -> None:
        self._descriptor = descriptor
        self._limit_ms = grace_ms
        self._written = 0
        self._usual = _size_of(descriptor)
        self._size = self._usual
        if self._usual > _PAGE:
            self._resize(_PAGE)

    @property
    def is_open(self) -> bool:
        """Whether the pipe has its default size."""
        return self._size >= self._usual

    def wrote(self, size: int) -> bool:
        """Record ``size`` written bytes; wait for the reader while the limit is low.

        Returns:
            False if the reader has gone without reading all of them.
        """
        if self.is_open:
            return True
        self._written += size
        if self._size <= _PAGE and not self._drained():
            return False
        if self._written >= 2 * _SHARE * self._size:
            self._resize(2 * self._size)
        return True

    def restore(self) -> None:
        """Restore the default size, since others may write to the pipe afterwards."""
        if not self.is_open:
            self._resize(self._usual)

    def _drained(self) -> bool:
        """Wait until a pipe of one page is empty, which is when it is writable again."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        events = dict(poll.poll(self._limit_ms)).get(self._descriptor)
        if events is None:
            self.restore()
            return True
        return not events & select.POLLERR or _unread(self._descriptor) == 0

    def _resize(self, size: int) -> None:
        if _SET_SIZE is None:
            return
        try:
            self._size = fcntl.fcntl(self._descriptor, _SET_SIZE, min(size, self._usual))
        except OSError:
            # More data is unread than would fit, or the kernel does not allow this size.
            self._size = self._usual


@contextmanager
def watching_reader(descriptor: int, gone: Callable[[], None]) -> Iterator[None]:
    """Call ``gone``, on a thread of its own, when the reader of a pipe has gone.

    Otherwise only the next write would notice that, and a consumer without messages would never
    end.
    """
    if not _is_pipe(descriptor):
        yield
        return
    ours, theirs = os.pipe()
    scope = ThreadScope("output")

    def watch() -> None:
        poll = select.poll()
        poll.register(descriptor, 0)  # errors are always reported
        poll.register(ours, select.POLLIN)
        reported = dict(poll.poll())
        if ours not in reported:
            gone()

    def stop() -> None:
        os.write(theirs, b".")

    scope.spawn("reader", watch, stop=stop)
    try:
        yield
    finally:
        scope.close(_CLOSE_MS)
        os.close(ours)
        os.close(theirs)


def stop_ourselves() -> None:
    """End the command as SIGTERM does, even while the main thread waits."""
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, signal.SIGTERM)


def _is_pipe(descriptor: int) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError:
        return False


def _size_of(descriptor: int) -> int:
    """Return the capacity of a pipe; 0 if it is no pipe, or the capacity is unknown."""
    if _GET_SIZE is None or not _is_pipe(descriptor):
        return 0
    with suppress(OSError):
        return fcntl.fcntl(descriptor, _GET_SIZE)
    return 0


def _unread(descriptor: int) -> int:
    """Return the number of bytes waiting in a pipe."""
    number = array("i", [0])
    with suppress(OSError):
        fcntl.ioctl(descriptor, FIONREAD, number)
    return number[0]
