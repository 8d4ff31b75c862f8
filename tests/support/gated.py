"""Clients that keep a server waiting, and a server of ours in a thread that they keep waiting."""

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
    taking_ms=300,
    taken_bytes=1_000,
)
PATIENT: Final = ConnectionLimits(connections=8, spare=2, per_address=4)
LARGE: Final = 16 << 20
"""More than the buffers of two sockets hold."""
HEAD: Final = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"


class PaperPage:
    """An application that can be made to work long."""

    def __init__(self) -> None:
        self.working = 0
        self._done = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
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
        """Let all work be done. Thread: any."""
        self._done.set()

    async def _stream(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        piece: Message = {"type": "http.response.body", "body": b"x" * 1_000, "more_body": True}
        while not self._done.is_set():
            await send(piece)
            await asyncio.sleep(0.01)  # as news come
        await send({"type": "http.response.body", "body": b""})


class GatedPage:
    """A page server in a thread.

    Attributes:
        app: what answers.
        server: it.
        port: on loopback.
    """

    def __init__(self, limits: ConnectionLimits, token: str | None) -> None:
        self.app = PaperPage()
        guarded: ASGIApp = Guard(self.app, Tokens(token), Hosts(any_name=True), ManualClock())
        self.server = PageServer(guarded, lambda: None, limits=limits)
        self.port = 0

    def connect(self, source: str = "127.0.0.1", *, receive_buffer: int = 0) -> socket.socket:
        """Connect from an address of this machine, and say nothing."""
        return connect(self.port, source, receive_buffer=receive_buffer)

    def get(self, path: str, **headers: str) -> HTTPResponse:
        """Ask on a connection of its own; the body is read."""
        return get(self.port, path, **headers)


def get(port: int, path: str, *, source: str = "127.0.0.1", **headers: str) -> HTTPResponse:
    """Ask on a connection of its own; the body is read."""
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
    """Ask by any method."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10, source_address=(source, 0))
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        response.read()
        return response
    finally:
        connection.close()


def connect(port: int, source: str = "127.0.0.1", *, receive_buffer: int = 0) -> socket.socket:
    """Connect from an address of this machine, and say nothing.

    Args:
        port: on loopback.
        source: the address; all of 127.0.0.0/8 are this machine's.
        receive_buffer: how much may come that is not read, in bytes; 0: as much as is usual.
    """
    found = socket.socket()
    try:
        if receive_buffer:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        found.bind((source, 0))
        found.settimeout(10)
        found.connect(("127.0.0.1", port))
    except BaseException:
        found.close()
        raise
    return found


def is_closed(client: socket.socket, within_s: float = 0) -> bool:
    """Whether the server has closed it, or does so in time; what it said before is read."""
    readable, _, _ = select.select([client], [], [], within_s)
    if not readable:
        return False
    try:
        return not client.recv(1 << 16)
    except ConnectionError:
        return True


def until_closed(client: socket.socket) -> None:
    """Wait until the server has closed it."""
    wait_until(lambda: is_closed(client, 0.1), what="the server to close the connection")


@contextmanager
def gated(limits: ConnectionLimits, token: str | None = None) -> Iterator[GatedPage]:
    """Serve on a free port of loopback."""
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
    """So many connections that say nothing, from several addresses; those that came about."""
    with ExitStack() as stack:
        opened = []
        for number in range(count):
            source = f"127.0.1.{number % sources + 1}"
            opened.append(stack.enter_context(connect(port, source)))
        yield opened


@contextmanager
def descriptors(soft: int) -> Iterator[None]:
    """Processes that are started meanwhile may open so many files."""
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))
