"""Serves a WSGI application on one thread, within limits.

It is for small responses that are computed quickly, such as a page of metrics. Connections that
keep it waiting are closed in favour of others, so no client can use up the process's descriptors.
"""

import asyncio
import contextlib
import io
import logging
import socket
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Final

from zkconsumer.inbound.gate import ConnectionSlot, Gate, Watched
from zkconsumer.inbound.pacing import PacedLog
from zkconsumer.inbound.table import ConnectionLimits, WaitingFor
from zkconsumer.scope import ThreadScope

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

log = logging.getLogger(__name__)

LIMITS: Final = ConnectionLimits(connections=40, spare=0, per_address=20)
_HEAD_MAX: Final = 16_384
_GRACE_S: Final = 2.0
_CLOSE_MS: Final = 5_000


class ScrapeServer:
    """Serves on a listening socket until it is closed, on a thread of its own.

    Args:
        listening: the socket; closed with the server.
        app: the application; called on that thread.
        limits: the limits of connections.
    """

    def __init__(
        self,
        listening: socket.socket,
        app: "WSGIApplication",
        *,
        limits: ConnectionLimits = LIMITS,
    ) -> None:
        self._listening = listening
        self._app = app
        self._limits = limits
        self._loop = asyncio.new_event_loop()
        self._ending = asyncio.Event()
        self._scope = ThreadScope("metrics")
        self._scope.spawn("serve", self._run, stop=self._request_end)

    def close(self) -> None:
        """Close the server; responses in progress have two seconds to complete. Idempotent."""
        self._scope.close(_CLOSE_MS)

    def _request_end(self) -> None:
        # The loop is closed if the server has ended before.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ending.set)

    def _run(self) -> None:
        with self._listening, asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        paced = PacedLog()
        gate = Gate(self._limits, lambda session: _Scrape(session, self._app), paced=paced)
        loggers = [logging.getLogger(name) for name in ("asyncio", __name__)]
        for logger in loggers:
            logger.addFilter(paced)
        try:
            gate.open(self._listening)
            await self._ending.wait()
            gate.stop_accepting(_GRACE_S)
            await gate.emptied(_GRACE_S)
        finally:
            await gate.close()
            for logger in loggers:
                logger.removeFilter(paced)


class _Scrape(asyncio.Protocol, Watched):
    """One connection: one request, one response."""

    def __init__(self, session: ConnectionSlot, app: "WSGIApplication") -> None:
        self._session = session
        self._app = app
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See ``asyncio.Protocol``."""
        assert isinstance(transport, asyncio.Transport)
        self.wire = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """See ``asyncio.Protocol``."""
        del exc
        self._session.leave()

    def data_received(self, data: bytes) -> None:
        """See ``asyncio.Protocol``."""
        self._head += data
        if not _is_whole(self._head) or self.wire is None:
            return
        self._session.begin()
        response = _Exchange(self._head, self._app).response
        self.given = len(response)
        self._session.waits(WaitingFor.READING)
        self.wire.write(response)
        self.wire.close()


def _is_whole(head: bytes) -> bool:
    """Return whether the head is complete, or so long that it will be refused."""
    return b"\n\r\n" in head or b"\n\n" in head or len(head) > _HEAD_MAX


class _Exchange(BaseHTTPRequestHandler):
    """Parses a request's head, and writes the response of a WSGI application.

    Attributes:
        response: the response.
    """

    def __init__(self, head: bytes, app: "WSGIApplication") -> None:
        # Does not call the parent's, which would set up a socket.
        self._app = app
        self.client_address = ("", 0)
        self.rfile = io.BufferedReader(io.BytesIO(head))
        written = io.BytesIO()
        self.wfile = written
        if len(head) > _HEAD_MAX:
            self.requestline, self.request_version, self.command = "", "HTTP/1.0", ""
            self.send_error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        else:
            self.handle_one_request()
        self.response = written.getvalue()

    def do_GET(self) -> None:
        """Call the application, which knows which methods it supports."""
        path, _, query = self.path.partition("?")
        environ = {
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "HTTP_ACCEPT": self.headers.get("Accept", ""),
            "HTTP_ACCEPT_ENCODING": self.headers.get("Accept-Encoding", ""),
        }
        message: list[tuple[str, list[tuple[str, str]]]] = []

        def start(status: str, headers: list[tuple[str, str]], *_: object) -> Any:
            message.append((status, headers))

        try:
            body = b"".join(self._app(environ, start))
        except Exception:
            log.exception("the metrics could not be computed")
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR)
            return
        status, headers = message[-1]
        code, _, reason = status.partition(" ")
        self.send_response(int(code), reason)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    do_HEAD = do_OPTIONS = do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - likewise

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - likewise
        """Log nothing about a request."""
