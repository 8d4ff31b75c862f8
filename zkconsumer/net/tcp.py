"""Transports over TCP; the errors of the operating system become ours.

The socket options are those of the original (Kafka 0.8.2.2 ``BlockingChannel``): no delay,
keep-alive, and a receive buffer of ``socket.receive.buffer.bytes`` for fetchers.
"""

import contextlib
import errno
import os
import select
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import ConnectFailed, ConnectionLost, RequestTimedOut, TransportError
from zkconsumer.net.resolving import Outcome, SocketAddress, addresses_of
from zkconsumer.printable import printable
from zkconsumer.scope import Mailbox

if TYPE_CHECKING:
    import ssl


class TcpTransport:
    """A connected socket. One thread uses it; any thread may close it.

    The descriptor is closed only when no thread uses it: a thread that is about to wait on a closed
    descriptor could find its number reused, and read from another connection.
    """

    def __init__(self, connected: socket.socket, address: str) -> None:
        self._socket = connected
        self._address = address
        self._closed = False
        self._in_use = False
        # Reentrant: a signal handler that shuts down may interrupt a close.
        self._lock = threading.RLock()

    @property
    def address(self) -> str:
        """See ``Transport``."""
        return self._address

    def set_timeout_ms(self, timeout_ms: int) -> None:
        """See ``Transport``."""
        with self._use():
            self._socket.settimeout(max(timeout_ms, 1) / 1000)

    def send(self, data: bytes) -> None:
        """See ``Transport``."""
        with self._use():
            self._socket.sendall(data)

    def receive_into(self, buffer: memoryview) -> int:
        """See ``Transport``."""
        return self._receive(self._socket.recv_into, buffer)

    def receive_expected(self, buffer: memoryview) -> int:
        """See ``HasDescriptor``."""
        return self._receive(self._fill, buffer)

    def _fill(self, buffer: memoryview) -> int:
        """Receive dozens of pieces without waiting for the GIL after each, if the core is here."""
        from zkconsumer.records.engine import ENGINE, Engine  # noqa: PLC0415 - few frames are large

        timeout_s = self._socket.gettimeout()
        if ENGINE is Engine.PURE or timeout_s is None:
            return self._socket.recv_into(buffer)
        from zkconsumer.native import _core  # noqa: PLC0415 - it is loaded

        timeout_ms = round(timeout_s * 1000)
        return _core.receive_into(self._socket.fileno(), buffer, timeout_ms=timeout_ms)

    def _receive(self, receive: Callable[[memoryview], int], buffer: memoryview) -> int:
        with self._use():
            count = receive(buffer)
            if not count and self._closed:
                # The receive that our own shutdown wakes sees the end of the stream.
                raise ConnectionLost(f"{self._address}: closed by us")
            return count

    @contextlib.contextmanager
    def delegate(self) -> Iterator[int]:
        """Delegate the descriptor to non-blocking native code.

        The socket counts as in use meanwhile: ``close`` shuts it down, which native code sees as
        the end of the stream, but the descriptor is closed only when native code has released it.

        Raises:
            ConnectionLost: the socket is closed.
        """
        with self._use():
            yield self._socket.fileno()

    def close(self) -> None:
        """See ``Transport``. The shutdown wakes a blocked receive."""
        with self._lock:
            self._closed = True
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            if not self._in_use:
                self._socket.close()

    @contextlib.contextmanager
    def _use(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise ConnectionLost(f"{self._address}: closed by us")
            self._in_use = True
        try:
            yield
        except OSError as error:
            raise self._mapped(error) from error
        finally:
            self._end_use()

    def _end_use(self) -> None:
        with self._lock:
            self._in_use = False
            if self._closed:
                self._socket.close()

    def _mapped(self, error: OSError) -> TransportError:
        if isinstance(error, TimeoutError):
            return RequestTimedOut(f"{self._address}: no response in time")
        reason = "closed by us" if self._closed else str(error)
        return ConnectionLost(f"{self._address}: {reason}")


class TcpConnector:
    """Opens TCP connections. Thread: any; several may connect at a time.

    Args:
        receive_buffer_bytes: SO_RCVBUF; None, 0 or -1 keeps the system's default.
        clock: measures time-outs.
    """

    def __init__(
        self, receive_buffer_bytes: int | None = None, *, clock: Clock | None = None
    ) -> None:
        self._receive_buffer_bytes = receive_buffer_bytes or 0
        self._clock = clock or SystemClock()
        self._connecting: set[socket.socket] = set()
        self._resolving: set[Mailbox[Outcome]] = set()
        self._stopped = False

    def stop(self) -> None:
        """Interrupt connecting, and refuse later calls; open connections stay open. Thread: any.

        A machine that is down never responds: without this, callers would wait for the time-out.
        """
        self._stopped = True
        for outcome in list(self._resolving):
            outcome.put(_stopped())
        for unconnected in list(self._connecting):
            with contextlib.suppress(OSError):
                unconnected.shutdown(socket.SHUT_RDWR)

    def sibling(self) -> "TcpConnector":
        """Return another connector with the same settings, stopped separately."""
        return TcpConnector(self._receive_buffer_bytes, clock=self._clock)

    def connect(self, host: str, port: int, *, timeout_ms: int) -> TcpTransport:
        """See ``Connector``."""
        address = f"{printable(host)}:{port}"
        try:
            return TcpTransport(self.open(host, port, timeout_ms=timeout_ms), address)
        except (OSError, OverflowError) as error:  # OverflowError: an invalid port
            raise ConnectFailed(f"{address}: can't connect: {error}") from error

    def open(self, host: str, port: int, *, timeout_ms: int) -> socket.socket:
        """Return a non-blocking socket, connected to the first address of a host that accepts.

        Each address gets an equal share of the time that is left: so one that does not respond,
        such as IPv6 without a route, leaves as much time to each of the others.

        Args:
            host: the host's name or address.
            port: the port.
            timeout_ms: time limit of the lookup and all addresses together.

        Raises:
            OSError: the name is unknown, nothing listens, or time is up.

        Thread: any.
        """
        end_ms = self._clock.now_ms() + timeout_ms
        addresses = self._addresses(host, port, timeout_ms)
        error: OSError = TimeoutError("timed out")
        for index, (family, address) in enumerate(addresses):
            left_ms = end_ms - self._clock.now_ms()
            if left_ms <= 0 and index:
                break
            try:
                return self._connect(family, address, left_ms // (len(addresses) - index))
            except OSError as failure:
                error = failure
        raise error

    def _addresses(self, host: str, port: int, timeout_ms: int) -> Sequence[SocketAddress]:
        """Look up a host; ``stop`` either interrupts the lookup or is noticed before it."""
        outcome: Mailbox[Outcome] = Mailbox()
        self._resolving.add(outcome)
        try:
            if self._stopped:
                raise _stopped()
            return addresses_of(host, port, timeout_ms, outcome)
        finally:
            self._resolving.discard(outcome)

    def _connect(
        self, family: socket.AddressFamily, target: tuple[Any, ...], timeout_ms: int
    ) -> socket.socket:
        unconnected = socket.socket(family, socket.SOCK_STREAM)
        try:
            unconnected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            unconnected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if self._receive_buffer_bytes > 0:
                # Before connecting, since the negotiated window depends on it.
                unconnected.setsockopt(
                    socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer_bytes
                )
            self._connecting.add(unconnected)
            try:
                self._await_connected(unconnected, target, timeout_ms)
            finally:
                self._connecting.discard(unconnected)
        except BaseException:
            unconnected.close()
            raise
        return unconnected

    def _await_connected(
        self, unconnected: socket.socket, target: tuple[Any, ...], timeout_ms: int
    ) -> None:
        """Connect; ``stop`` either shuts the socket down or is noticed afterwards."""
        unconnected.settimeout(0)
        code = unconnected.connect_ex(target)
        if code == errno.EINPROGRESS and not self._stopped:
            connected = select.poll()
            connected.register(unconnected, select.POLLOUT)
            if not connected.poll(max(timeout_ms, 1)):
                raise TimeoutError("timed out")
            code = unconnected.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if self._stopped:
            raise _stopped()
        if code:
            raise OSError(code, os.strerror(code))


def _stopped() -> OSError:
    return ConnectionAbortedError("closed by us")


def open_socket(
    host: str, port: int, *, timeout_ms: int, clock: Clock, tls: "ssl.SSLContext | None" = None
) -> socket.socket:
    """Return a connected socket, whose time-out is the time that is left.

    Args:
        host: the host's name or address.
        port: the port.
        timeout_ms: time limit of lookup, connecting and TLS.
        clock: measures the time.
        tls: encrypts, and verifies the host; None: no TLS.

    Raises:
        OSError: no connection could be opened, or not in time.

    Thread: any.
    """
    end_ms = clock.now_ms() + timeout_ms
    connected = TcpConnector(clock=clock).open(host, port, timeout_ms=timeout_ms)
    try:
        connected.settimeout(max(1, end_ms - clock.now_ms()) / 1000)
        return connected if tls is None else tls.wrap_socket(connected, server_hostname=host)
    except BaseException:
        connected.close()
        raise
