"""Serves conversations over real TCP on 127.0.0.1: the same fakes, with sockets under them."""

import contextlib
import selectors
import socket
from types import TracebackType
from typing import Self

from tests.fakes.conversation import Conversation, Listener
from zkconsumer.clock import Clock, SystemClock
from zkconsumer.scope import ThreadScope

LOOPBACK = "127.0.0.1"
_READ_BYTES = 1 << 16
_STOP_MS = 5_000


class LoopbackServer:
    """Serves any number of listeners from one thread. Use it as a context manager.

    ``listen`` may be called before or after it has started. Thread: any.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._selector = selectors.DefaultSelector()
        self._wake_receiver, self._wake_sender = socket.socketpair()
        self._wake_receiver.settimeout(0)
        self._wake_sender.settimeout(0)
        self._selector.register(self._wake_receiver, selectors.EVENT_READ, None)
        self._scope = ThreadScope("loopback-server")
        self._links: dict[socket.socket, _Link] = {}
        self._stopping = False

    def __enter__(self) -> Self:
        self._scope.spawn("serve", self._run, stop=self._stop)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        left = self._scope.close(_STOP_MS)
        died_of = self._scope.first_error()
        if error is None and (left or died_of is not None):
            raise RuntimeError("the loopback server did not end well") from died_of

    def listen(self, listener: Listener) -> int:
        """Listen on a free port of 127.0.0.1, and return its number."""
        server = socket.create_server((LOOPBACK, 0))
        server.settimeout(0)
        self._selector.register(server, selectors.EVENT_READ, listener)
        self._wake()
        port: int = server.getsockname()[1]
        return port

    def _wake(self) -> None:
        # The socket is full of wakeups or closed: in both cases there is nobody to wake.
        with contextlib.suppress(OSError):
            self._wake_sender.send(b"!")

    def _stop(self) -> None:
        self._stopping = True
        self._wake()

    def _run(self) -> None:
        try:
            while not self._stopping:
                for key, _ in self._selector.select(self._wait_s()):
                    self._serve(key)
                for link in list(self._links.values()):
                    self._flush(link)
        finally:
            self._close_all()

    def _wait_s(self) -> float | None:
        deadlines = [link.conversation.next_deadline_ms() for link in self._links.values()]
        due = [deadline for deadline in deadlines if deadline is not None]
        return max(0, min(due) - self._clock.now_ms()) / 1000 if due else None

    def _serve(self, key: selectors.SelectorKey) -> None:
        ready = key.fileobj
        assert isinstance(ready, socket.socket)
        if ready is self._wake_receiver:
            ready.recv(_READ_BYTES)
        elif ready in self._links:
            self._read(self._links[ready])
        elif key.data is not None:
            self._accept(ready, key.data)

    def _accept(self, server: socket.socket, listener: Listener) -> None:
        connected, _ = server.accept()
        conversation = listener()
        if conversation is None:
            # The port accepts and closes: as close to "down" as one process can get.
            connected.close()
            return
        connected.settimeout(_STOP_MS / 1000)
        conversation.on_change(self._wake)
        self._links[connected] = _Link(connected, conversation)
        self._selector.register(connected, selectors.EVENT_READ, None)

    def _read(self, link: "_Link") -> None:
        try:
            data = link.socket.recv(_READ_BYTES)
        except OSError:
            data = b""
        if data:
            link.conversation.receive(data, self._clock.now_ms())
        else:
            self._drop(link)

    def _flush(self, link: "_Link") -> None:
        # Read this first: then everything written before the end is in what is taken below.
        is_over = link.conversation.is_over
        try:
            link.socket.sendall(link.conversation.take_outgoing(self._clock.now_ms()))
        except OSError:
            self._drop(link)
            return
        if is_over:
            self._drop(link)

    def _drop(self, link: "_Link") -> None:
        if self._links.pop(link.socket, None) is not None:
            self._selector.unregister(link.socket)
            link.conversation.hang_up()
            link.socket.close()

    def _close_all(self) -> None:
        for link in list(self._links.values()):
            self._drop(link)
        for key in list(self._selector.get_map().values()):
            registered = key.fileobj
            assert isinstance(registered, socket.socket)
            registered.close()
        self._wake_sender.close()
        self._selector.close()


class _Link:
    """A socket and its conversation."""

    def __init__(self, connected: socket.socket, conversation: Conversation) -> None:
        self.socket = connected
        self.conversation = conversation
