"""A gate in front of a TCP server, with which tests break and restore the network."""

import selectors
import socket
from types import TracebackType
from typing import Self

from zkconsumer.scope import ThreadScope

CHUNK_BYTES = 1 << 16


class TcpGate:
    """Forwards connections to ``host:port`` while open; closed, it resets old and new ones.

    It can also act like a network that drops packets: connections stay and new ones succeed, but no
    data passes. As with TCP, data sent meanwhile arrives once the gate is open again.

    Use it as a context manager. Clients connect to ``127.0.0.1:port``.

    Attributes:
        sent: the data sent by clients, by connection, if ``keeps_sent``.
    """

    def __init__(self, host: str, port: int, *, keeps_sent: bool = False) -> None:
        self._target = (host, port)
        self.sent: list[bytearray] = []
        self._keeps_sent = keeps_sent
        self._sent_by: dict[socket.socket, bytearray] = {}
        self._open = True
        self._stopped = False
        self._swallows = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._wake_receiver, self._wake_sender = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._peers: dict[socket.socket, socket.socket] = {}
        self._scope = ThreadScope("tcp-gate")
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wake_receiver, selectors.EVENT_READ)
        self._scope.spawn("forward", self._run, stop=self._stop)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        left_over = self._scope.close(5_000)
        for sock in (self._listener, self._wake_receiver, self._wake_sender):
            sock.close()
        assert left_over == []

    def shut(self) -> None:
        """Reset all connections, and every new one."""
        self._open = False
        self._wake_sender.send(b"!")

    def swallow(self) -> None:
        """Stop forwarding in both directions without closing, like a link that drops packets."""
        self._swallows = True
        self._wake_sender.send(b"!")

    def open(self) -> None:
        """Forward new connections again."""
        self._open, self._swallows = True, False
        self._wake_sender.send(b"!")

    def forward_to(self, host: str, port: int) -> None:
        """Forward new connections to another server."""
        self._target = (host, port)

    def _stop(self) -> None:
        self._stopped = True
        self._wake_sender.send(b"!")

    def _run(self) -> None:
        while not self._stopped:
            if self._swallows:
                self._wake_receiver.recv(CHUNK_BYTES)
                continue
            for key, _ in self._selector.select():
                ready = key.fileobj
                assert isinstance(ready, socket.socket)
                if ready is self._listener:
                    self._accept()
                elif ready is self._wake_receiver:
                    ready.recv(CHUNK_BYTES)
                elif ready in self._peers:
                    self._forward(ready)
            if not self._open:
                self._drop_all()
        self._drop_all()
        self._selector.close()

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        if not self._open:
            client.close()
            return
        try:
            server = socket.create_connection(self._target, 5)
        except OSError:
            client.close()
            return
        if self._keeps_sent:
            self.sent.append(bytearray())
            self._sent_by[client] = self.sent[-1]
        for sock, other in ((client, server), (server, client)):
            self._peers[sock] = other
            self._selector.register(sock, selectors.EVENT_READ)

    def _forward(self, source: socket.socket) -> None:
        try:
            data = source.recv(CHUNK_BYTES)
            if data:
                if source in self._sent_by:
                    self._sent_by[source] += data
                self._peers[source].sendall(data)
                return
        except OSError:
            pass
        self._drop(source)

    def _drop(self, connected: socket.socket) -> None:
        for end in (connected, self._peers[connected]):
            del self._peers[end]
            self._selector.unregister(end)
            end.close()

    def _drop_all(self) -> None:
        while self._peers:
            self._drop(next(iter(self._peers)))
