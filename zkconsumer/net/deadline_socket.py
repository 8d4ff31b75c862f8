"""A socket whose operations all end at one deadline, however slowly bytes arrive."""

import io
import socket

from zkconsumer.clock import Clock


class DeadlineSocket:
    """Has the methods of a socket that ``http.client`` calls; each ends at the deadline.

    Args:
        raw: the connected socket.
        clock: for the deadline.
        deadline_ms: the deadline, by that clock.
    """

    def __init__(self, raw: socket.socket, clock: Clock, deadline_ms: int) -> None:
        self._raw = raw
        self._clock = clock
        self._deadline_ms = deadline_ms

    def makefile(self, mode: str) -> io.BufferedReader:
        """See ``socket``: return a reader of the response."""
        del mode
        return io.BufferedReader(DeadlineReader(self))

    def sendall(self, data: bytes) -> None:
        """See ``socket``."""
        self._bound()
        self._raw.sendall(data)

    def receive(self, buffer: "memoryview[int]") -> int:
        """See ``socket.recv_into``."""
        self._bound()
        return self._raw.recv_into(buffer)

    def close(self) -> None:
        """Leave the socket open: the code that opened it closes it after the response."""

    def _bound(self) -> None:
        left_ms = self._deadline_ms - self._clock.now_ms()
        if left_ms <= 0:
            raise TimeoutError("timed out")
        self._raw.settimeout(left_ms / 1000)


class DeadlineReader(io.RawIOBase):
    """Reads the bytes that a socket receives.

    Args:
        source: the socket.
        max_bytes: reading fails after this many; None: no bound.
    """

    def __init__(self, source: DeadlineSocket, max_bytes: int | None = None) -> None:
        super().__init__()
        self._source = source
        self._left = max_bytes

    def readable(self) -> bool:
        """See ``RawIOBase``."""
        return True

    def readinto(self, buffer: "memoryview[int]") -> int:  # type: ignore[override] # as it is called
        """See ``RawIOBase``."""
        count = self._source.receive(buffer)
        if self._left is not None:
            self._left -= count
            if self._left < 0:
                raise OSError("its responses are too long")
        return count
