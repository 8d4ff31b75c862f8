"""Accepts connections, monitors them, and closes those that keep the server waiting."""

import asyncio
import contextlib
import fcntl
import logging
import socket
import struct
import termios
from collections.abc import Callable
from typing import Final

from zkconsumer.clock import SystemClock
from zkconsumer.inbound.listener import Listener
from zkconsumer.inbound.pacing import PacedLog
from zkconsumer.inbound.table import (
    ConnectionLimits,
    ConnectionProgress,
    ConnectionTable,
    WaitingFor,
    address_key,
)

log = logging.getLogger(__name__)

_CHECKS: Final = 8
_CHECK_MAX_MS: Final = 500
_CLOSE_S: Final = 1.0
_CROWDED: Final = "closed waiting connections to make room for others"


class Watched(asyncio.BaseProtocol):
    """A connection's protocol; it calls ``ConnectionSlot.leave`` when the connection is lost.

    Attributes:
        wire: its transport; None: it is not connected yet.
        given: the number of bytes of responses that were given to the transport.
    """

    wire: asyncio.Transport | None = None
    given: int = 0

    @property
    def body_open(self) -> bool:
        """Whether the body of the current request is incomplete."""
        return False

    def progress(self) -> ConnectionProgress:
        """Return the progress of the connection."""
        if self.wire is None:
            return ConnectionProgress()
        unread, buffered = _unread_bytes(self.wire)
        return ConnectionProgress(
            unread=unread,
            read=self.given - unread,
            body_open=self.body_open,
            buffered=buffered,
        )

    def cut(self) -> None:
        """Close immediately, discarding unsent data; do nothing if it is not connected yet."""
        if self.wire is not None:
            self.wire.abort()


class ConnectionSlot:
    """A connection's entry, by which it reports to the gate. Thread: the event loop's."""

    def __init__(self, gate: "Gate", number: int) -> None:
        self._gate = gate
        self._number = number

    def waits(self, waits: WaitingFor | None) -> None:
        """Report what the connection waits for; None: it waits for the server."""
        self._gate.table.wait(self._number, waits, self._gate.now_ms())

    def begin(self) -> bool:
        """Report that a request has arrived; see ``ConnectionTable.begin``."""
        return self._gate.table.begin(self._number, self._gate.now_ms())

    def authenticate(self) -> None:
        """Report that the client has shown a token."""
        self._gate.table.authenticate(self._number)

    def leave(self) -> None:
        """Report that the connection is closed."""
        self._gate.forget(self._number)


class Gate:
    """Accepts connections on a listening socket, within limits. Thread: the event loop's.

    Args:
        limits: the limits of connections.
        make: creates the protocol of a connection.
        paced: the log for lines that clients can cause.

    Attributes:
        table: the open connections.
    """

    def __init__(
        self,
        limits: ConnectionLimits,
        make: Callable[[ConnectionSlot], Watched],
        *,
        paced: PacedLog,
    ) -> None:
        self.table = ConnectionTable(limits)
        self._make = make
        self._paced = paced
        self._clock = SystemClock()
        self._protocols: dict[int, Watched] = {}
        self._joining: set[asyncio.Task[None]] = set()
        self._listener: Listener | None = None
        self._empty = asyncio.Event()
        self._empty.set()
        self._next_check: asyncio.TimerHandle | None = None
        self._last_call: asyncio.TimerHandle | None = None
        shortest_ms = min(limits.head_ms, limits.body_ms, limits.next_ms, limits.reading_ms)
        self._check_interval_s = min(_CHECK_MAX_MS, max(10, shortest_ms // _CHECKS)) / 1000

    def now_ms(self) -> int:
        """Return the current time."""
        return self._clock.now_ms()

    def open(self, listening: socket.socket) -> None:
        """Start to accept on a socket, in the running event loop."""
        self._listener = Listener(listening, self._take, relieve=self._relieve, paced=self._paced)
        self._check()

    def stop_accepting(self, grace_s: float) -> None:
        """Accept no more, and close the connections that wait for a request.

        Args:
            grace_s: how long clients may continue to read their responses, in seconds.
        """
        if self._listener is not None:
            self._listener.close()
        for number in self.table.waiting(but=WaitingFor.READING):
            self._cut(number)
        self._last_call = asyncio.get_running_loop().call_later(grace_s, self._cut_waiting)

    async def close(self) -> None:
        """Close all connections; wait up to a second until they are closed."""
        self.stop_accepting(0)
        for number in list(self._protocols):
            self._cut(number)
        await self.emptied(_CLOSE_S)
        for timer in (self._next_check, self._last_call):
            if timer is not None:
                timer.cancel()

    async def emptied(self, timeout_s: float) -> None:
        """Wait until all connections are closed, or the time is up."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._empty.wait(), timeout_s)

    def forget(self, number: int) -> None:
        """Drop a closed connection."""
        self.table.close(number)
        self._protocols.pop(number, None)
        if not self._protocols:
            self._empty.set()

    def _take(self, accepted: socket.socket, host: str) -> None:
        admission = self.table.admit(address_key(host), self.now_ms())
        if admission.evicted or admission.number is None:
            self._paced.warning(_CROWDED, "%s (now for %s)", _CROWDED, host)
        for evicted in admission.evicted:
            self._cut(evicted)
        if admission.number is None:
            accepted.close()
            return
        self._empty.clear()
        self._protocols[admission.number] = self._make(ConnectionSlot(self, admission.number))
        task = asyncio.get_running_loop().create_task(self._join(admission.number, accepted))
        self._joining.add(task)
        task.add_done_callback(self._joining.discard)

    async def _join(self, number: int, accepted: socket.socket) -> None:
        protocol = self._protocols[number]
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: protocol, accepted)
        except OSError as error:
            # The connection was closed before it was registered.
            log.debug("a connection could not be accepted: %s", error)
            accepted.close()
            self.forget(number)
        if number not in self.table:
            protocol.cut()

    def _cut(self, number: int) -> None:
        self.table.close(number)
        self._protocols[number].cut()

    def _cut_waiting(self) -> None:
        for number in self.table.waiting():
            self._cut(number)

    def _relieve(self) -> None:
        """Close the connection that has waited longest, to free its descriptor."""
        number = self.table.longest_waiting()
        if number is not None:
            self._cut(number)

    def _check(self) -> None:
        self._next_check = asyncio.get_running_loop().call_later(
            self._check_interval_s, self._check
        )
        now_ms, buffered = self.now_ms(), {}
        for number, protocol in list(self._protocols.items()):
            progress = protocol.progress()
            overdue = self.table.overdue(number, progress, now_ms)
            if overdue is not None:
                log.debug("closed a connection after a time-out: it waited for %s", overdue.value)
                self._cut(number)
            elif progress.buffered:
                buffered[number] = progress.buffered
        for number in self.table.over_memory_limit(buffered):
            self._paced.warning(
                "clients read too slowly",
                "closed a connection: clients read their responses too slowly",
            )
            self._cut(number)
        self._paced.flush()


def _unread_bytes(transport: asyncio.Transport) -> tuple[int, int]:
    """Return how many written bytes the client's machine has not acknowledged.

    Returns:
        The number of all such bytes, and of those that are still in this process's memory.
    """
    buffered = transport.get_write_buffer_size()
    found = transport.get_extra_info("socket")
    in_kernel = 0
    if found is not None and found.fileno() >= 0:
        with contextlib.suppress(OSError):
            reported = fcntl.ioctl(found.fileno(), termios.TIOCOUTQ, bytes(4))
            (in_kernel,) = struct.unpack("i", reported)
    return buffered + in_kernel, buffered
