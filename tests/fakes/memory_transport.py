"""A network in memory: ``Connector`` and ``Transport`` for tests that need no sockets.

It has no threads: the server's side runs in the thread that sends or receives. It passes the same
contract suite as TCP.
"""

import threading

from tests.fakes.conversation import Conversation, Listener
from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import ConnectFailed, ConnectionLost, RequestTimedOut


class MemoryTransport:
    """The client's end of a connection in memory."""

    def __init__(self, address: str, conversation: Conversation, clock: Clock) -> None:
        self._address = address
        self._conversation = conversation
        self._clock = clock
        self._timeout_ms = 0
        self._incoming = b""
        self._changed = threading.Event()
        self._closed = False
        conversation.on_change(self._changed.set)

    @property
    def address(self) -> str:
        """See ``Transport``."""
        return self._address

    def set_timeout_ms(self, timeout_ms: int) -> None:
        """See ``Transport``."""
        self._require_open()
        self._timeout_ms = timeout_ms

    def send(self, data: bytes) -> None:
        """See ``Transport``."""
        self._require_open()
        if self._conversation.is_over:
            raise ConnectionLost(f"{self._address}: the peer closed the connection")
        self._conversation.receive(data, self._clock.now_ms())

    def receive_into(self, buffer: memoryview) -> int:
        """See ``Transport``."""
        deadline_ms = self._clock.now_ms() + self._timeout_ms
        while True:
            # Cleared before the state is read, so that a later change ends the wait below.
            self._changed.clear()
            self._require_open()
            now_ms = self._clock.now_ms()
            # Read this first: then everything written before the end is in what is taken below.
            is_over = self._conversation.is_over
            self._incoming += self._conversation.take_outgoing(now_ms)
            if self._incoming:
                count = min(len(self._incoming), len(buffer))
                buffer[:count] = self._incoming[:count]
                self._incoming = self._incoming[count:]
                return count
            if is_over:
                return 0
            if now_ms >= deadline_ms:
                raise RequestTimedOut(f"{self._address}: no response in time")
            due_ms = self._conversation.next_deadline_ms()
            until_ms = deadline_ms if due_ms is None else min(due_ms, deadline_ms)
            self._changed.wait((until_ms - now_ms) / 1000)

    def close(self) -> None:
        """See ``Transport``."""
        if not self._closed:
            self._closed = True
            self._conversation.hang_up()
            self._changed.set()

    def _require_open(self) -> None:
        if self._closed:
            raise ConnectionLost(f"{self._address}: closed by us")


class MemoryNetwork:
    """Addresses in memory and their listeners; a ``Connector``. Thread: any.

    Args:
        clock: for time-outs, and the time that listeners get.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._listeners: dict[tuple[str, int], Listener] = {}

    def listen(self, host: str, port: int, listener: Listener) -> None:
        """Register a listener at an address."""
        self._listeners[host, port] = listener

    def connect(self, host: str, port: int, *, timeout_ms: int) -> MemoryTransport:  # noqa: ARG002 - answers at once
        """See ``Connector``."""
        address = f"{host}:{port}"
        listener = self._listeners.get((host, port))
        conversation = listener() if listener is not None else None
        if conversation is None:
            raise ConnectFailed(f"{address}: can't connect: nobody listens there")
        return MemoryTransport(address, conversation, self._clock)
