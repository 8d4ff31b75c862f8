"""The page's server in a thread, and clients that keep it waiting."""

import asyncio
import resource
import select
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.support.manual_clock import ManualClock
from tests.support.waiting import wait_until
from zkconsumer.inbound.table import ConnectionLimits
from zkconsumer.scope import ThreadScope
from zkconsumer.web.guarding import Guard
from zkconsumer.web.security import Hosts, Tokens
from zkconsumer.web.serving import PageServer

QUICK: Final = ConnectionLimits(
    connections=8,
    spare=2,
    per_address=4,
    head_ms=300,
    body_ms=300,
    next_ms=300,
    reading_ms=300,
    read_bytes=1_000,
)
PATIENT: Final = ConnectionLimits(connections=8, spare=2, per_address=4)
LARGE: Final = 16 << 20
"""A size that exceeds the buffers of both sockets."""
HEAD: Final = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"


class SlowPage:
    """An application whose requests can be made to take long."""

    def __init__(self) -> None:
        self.working = 0
        self._done = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        path = scope["path"]
        if path == "/work":
            self.working += 1
            while not self._done.is_set():
                await asyncio.sleep(0.01)
        if path == "/stream":
            await self._stream(send)
            return
        if path == "/body":
            while (await receive()).get("more_body"):
                pass
        if path == "/fault":
            raise LookupError
        await send({"type": "http.response.start", "status": 200, "headers": []})
        body = b"x" * LARGE if path == "/large" else path.encode()
        await send({"type": "http.response.body", "body": body})

    def end_work(self) -> None:
        """Let all requests complete. Thread: any."""
        self._done.set()

    async def _stream(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        piece: Message = {"type": "http.response.body", "body": b"x" * 1_000, "more_body": True}
        while not self._done.is_set():
            await send(piece)
            await asyncio.sleep(0.01)  # like a stream of events
        await send({"type": "http.response.body", "body": b""})


class GatedPage:
    """A running page server.

    Attributes:
        app: the application.
        server: the server.
        port: the server's port on loopback.
    """

    def __init__(self, limits: ConnectionLimits, token: str | None) -> None:
        self.app = SlowPage()
        guarded: ASGIApp = Guard(self.app, Tokens(token), Hosts(any_name=True), ManualClock())
        self.server = PageServer(guarded, lambda: None, limits=limits)
        self.port = 0

    def connect(self, source: str = "127.0.0.1", *, receive_buffer: int = 0) -> socket.socket:
        """Connect from an address of this machine, and send nothing."""
        return connect(self.port, source, receive_buffer=receive_buffer)

    def get(self, path: str, **headers: str) -> HTTPResponse:
        """Send a GET request on a new connection, and read the response's body."""
        return get(self.port, path, **headers)


def get(port: int, path: str, *, source: str = "127.0.0.1", **headers: str) -> HTTPResponse:
    """Send a GET request on a new connection, and read the response's body."""
    return request(port, "GET", path, source=source, headers=headers)


def request(
    port: int,
    method: str,
    path: str,
    *,
    source: str,
    headers: Mapping[str, str],
    body: bytes | None = None,
) -> HTTPResponse:
    """Send a request of any method on a new connection, and read the response's body."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10, source_address=(source, 0))
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        response.read()
        return response
    finally:
        connection.close()


def connect(port: int, source: str = "127.0.0.1", *, receive_buffer: int = 0) -> socket.socket:
    """Connect from an address of this machine, and send nothing.

    Args:
        port: the port on loopback.
        source: the source address, any of 127.0.0.0/8.
        receive_buffer: size of the socket's receive buffer, bytes; 0: the default.
    """
    client = socket.socket()
    try:
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.bind((source, 0))
        client.settimeout(10)
        client.connect(("127.0.0.1", port))
    except BaseException:
        client.close()
        raise
    return client


def is_closed(client: socket.socket, within_s: float = 0) -> bool:
    """Whether the server closes the connection within this time; data that arrives is dropped."""
    readable, _, _ = select.select([client], [], [], within_s)
    if not readable:
        return False
    try:
        return not client.recv(1 << 16)
    except ConnectionError:
        return True


def until_closed(client: socket.socket) -> None:
    """Wait until the server has closed the connection."""
    wait_until(lambda: is_closed(client, 0.1), what="the server to close the connection")


@contextmanager
def gated(limits: ConnectionLimits, token: str | None = None) -> Iterator[GatedPage]:
    """Run a page server on a free port of loopback during the context."""
    page = GatedPage(limits, token)
    scope = ThreadScope("gated-page")
    with socket.create_server(("127.0.0.1", 0), backlog=1_024) as bound:
        page.port = bound.getsockname()[1]
        scope.spawn("serve", lambda: page.server.run(sockets=[bound]), stop=page.server.end)
        try:
            wait_until(lambda: page.server.started, what="the page to be served")
            yield page
        finally:
            assert not scope.close(10_000)


@contextmanager
def silent(port: int, count: int, sources: int = 20) -> Iterator[list[socket.socket]]:
    """Open ``count`` connections from several addresses that send nothing."""
    with ExitStack() as stack:
        opened = []
        for number in range(count):
            source = f"127.0.1.{number % sources + 1}"
            opened.append(stack.enter_context(connect(port, source)))
        yield opened


@contextmanager
def descriptors(soft: int) -> Iterator[None]:
    """Set the soft limit of open files for processes that are started during the context."""
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))
