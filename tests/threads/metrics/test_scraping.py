"""The port of metrics: other clients cost the consumer neither file descriptors nor threads."""

import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.gated import LARGE, QUICK, connect, get, is_closed, silent, until_closed
from tests.support.waiting import wait_until
from zkconsumer.inbound.table import ConnectionLimits
from zkconsumer.metrics.scraping import LIMITS, ScrapeServer
from zkconsumer.scope import ThreadScope

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

SLOW = replace(QUICK, connections=40, spare=0, per_address=20)


def write(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
    """A WSGI application that returns its environment or a large body, or fails."""
    path = environ["PATH_INFO"]
    if path == "/fault":
        raise LookupError
    start_response("200 OK", [("Content-Type", "text/plain")])
    if path == "/large":
        return [b"x" * LARGE]
    names = ("REQUEST_METHOD", "QUERY_STRING", "HTTP_ACCEPT", "HTTP_ACCEPT_ENCODING")
    return [path.encode(), *(f" {environ[name]}".encode() for name in names)]


@contextmanager
def scraped(limits: ConnectionLimits = LIMITS) -> Iterator[int]:
    """Serve on a free port of loopback, and yield the port."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = ScrapeServer(listening, write, limits=limits)
    try:
        yield listening.getsockname()[1]
    finally:
        server.close()
        server.close()


def exchange(port: int, sent: bytes) -> bytes:
    """Send bytes, and read until the server closes the connection."""
    with connect(port) as client:
        client.sendall(sent)
        found = b""
        while piece := client.recv(1 << 16):
            found += piece
        return found


def test_the_application_gets_the_request_as_it_was_sent() -> None:
    """That includes the headers by which Prometheus negotiates; a head may come in pieces."""
    with scraped() as port:
        head = (
            b"GET /metrics?name[]=a HTTP/1.1\r\nHost: a\r\nAccept: b\r\nAccept-Encoding: gzip\r\n"
        )
        found = exchange(port, head + b"\r\n")
        assert found.startswith(b"HTTP/1.0 200 OK\r\n")
        assert found.endswith(b"\r\n\r\n/metrics GET name[]=a b gzip")
        with connect(port) as client:
            client.sendall(head[:30])
            assert get(port, "/").status == 200
            client.sendall(head[30:] + b"\r\n")
            assert b"200 OK" in client.recv(1_000)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 20_000, b"431"),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n", b"431"),
        (b"GET /" + b"a" * 20_000, b"431"),
        (b"\x16\x03\x01\x02\x00\x01\n\n", b"400"),
        (b"GET\r\n\r\n", b"400"),
        (b"BREW / HTTP/1.1\r\n\r\n", b"501"),
        (b"GET / HTTP/9.9\r\n\r\n", b"505"),
        (b"POST / HTTP/1.1\r\nContent-Length: 99999\r\n\r\n", b"200"),
        (b"HEAD / HTTP/1.1\r\n\r\n", b"200"),
    ],
)
def test_malformed_requests_are_answered(
    sent: bytes, status: bytes, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nothing is logged or printed for them."""
    with scraped() as port:
        assert status in exchange(port, sent).split(b"\r\n")[0]
    assert caplog.text == ""
    assert capfd.readouterr() == ("", "")


def test_an_internal_error_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """Its traceback is logged once, however often it is requested."""
    with scraped() as port:
        for _ in range(3):
            assert get(port, "/fault").status == 500
    assert caplog.text.count("Traceback") == 1


def test_silent_clients_use_up_no_resources() -> None:
    """Hundreds of them need one thread and few connections, and requests are answered."""
    with scraped() as port:
        threads = threading.active_count()
        with silent(port, 500) as clients:
            assert get(port, "/metrics").status == 200
            assert threading.active_count() == threads
            wait_until(
                lambda: sum(not is_closed(client) for client in clients) <= LIMITS.connections,
                what="the others to be closed",
            )
            assert get(port, "/metrics").status == 200


def test_slow_clients_are_closed() -> None:
    """One sends its request byte by byte, another one does not read the response."""
    with scraped(SLOW) as port, ExitStack() as stack:
        greedy = stack.enter_context(connect(port, receive_buffer=4_096))
        greedy.sendall(b"GET /large HTTP/1.0\r\n\r\n")
        for _ in range(2):
            slow = stack.enter_context(connect(port))
            while not is_closed(slow, 0.02):
                try:
                    slow.sendall(b"x")
                except ConnectionError:
                    break
        taken = 0
        try:
            while piece := greedy.recv(1 << 20):
                taken += len(piece)
        except ConnectionError:
            pass
        assert taken < LARGE


def test_closing_waits_only_for_responses_that_are_read() -> None:
    """A response that is read slowly is sent to its end; idle connections are closed."""
    with ExitStack() as stack:
        server = stack.enter_context(ExitStack())
        port = server.enter_context(scraped())
        client = stack.enter_context(connect(port))
        quiet = stack.enter_context(connect(port))
        client.sendall(b"GET /large HTTP/1.0\r\n\r\n")
        assert client.recv(12) == b"HTTP/1.0 200"
        scope = ThreadScope("test")
        scope.spawn("end", server.close, stop=lambda: None)
        until_closed(quiet)
        taken = 0
        while piece := client.recv(1 << 20):
            taken += len(piece)
        assert not scope.close(10_000)
        assert taken > LARGE
        with pytest.raises(ConnectionRefusedError):
            connect(port)
