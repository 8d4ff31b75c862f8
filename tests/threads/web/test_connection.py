"""Slow clients of the web server: each is closed in time, and delays no other client."""

import select
import socket
import threading
from contextlib import ExitStack
from dataclasses import replace

import pytest

from tests.support.gated import (
    HEAD,
    LARGE,
    PATIENT,
    QUICK,
    GatedPage,
    gated,
    is_closed,
    until_closed,
)
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.web.security import HEADERS

TOKEN = "0123456789abcdef-secret"


def read_all(client: socket.socket) -> bytes:
    """Return all that comes until the server closes the connection."""
    found = b""
    while piece := client.recv(1 << 16):
        found += piece
    return found


def work(page: GatedPage, client: socket.socket) -> None:
    """Let the page work on a request of this client."""
    before = page.app.working
    client.sendall(HEAD % b"/work")
    wait_until(lambda: page.app.working > before, what="the page to work on it")


def test_a_silent_client_is_closed() -> None:
    """So is a client that is silent after its first request, or after half of one."""
    with gated(QUICK) as page, page.connect() as silent, page.connect() as idle:
        idle.sendall(HEAD % b"/")
        assert b"200 OK" in idle.recv(1_000)
        with page.connect() as half:
            half.sendall(HEAD[:20])
            until_closed(half)
        until_closed(silent)
        until_closed(idle)


def test_a_request_head_that_comes_byte_by_byte_gains_no_time() -> None:
    """The head of a later request has the same time limit as the first one."""
    with gated(QUICK) as page, page.connect() as slow:
        slow.sendall(HEAD % b"/")
        assert b"200 OK" in slow.recv(1_000)
        slow.sendall(b"GET / HTTP/1.1\r\nX: ")
        while not is_closed(slow, 0.02):
            try:
                slow.sendall(b"x")
            except ConnectionError:
                break


@pytest.mark.parametrize("path", [b"/body", b"/work", b"/"])
def test_a_body_that_comes_byte_by_byte_gains_no_time(path: bytes) -> None:
    """Its limit holds while the page waits for it, while it works, and after the response."""
    with gated(QUICK) as page, page.connect() as slow:
        slow.sendall(b"GET %s HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\n" % path)
        while not is_closed(slow, 0.02):
            try:
                slow.sendall(b"x")
            except ConnectionError:
                break
        page.app.end_work()
        assert page.get("/healthz").status == 200


def test_a_body_without_end_is_not_read() -> None:
    """TCP holds the rest back in the client's machine, and the client can read the response."""
    with gated(PATIENT) as page, page.connect() as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n")
        sent = 0
        while select.select([], [client], [], 0.5)[1]:
            sent += client.send(bytes(65_536))
            assert sent < 64 << 20
        assert b"200 OK" in client.recv(1_000)


@pytest.mark.parametrize("path", [b"/large", b"/stream"])
def test_a_response_that_is_not_read_is_abandoned(path: bytes) -> None:
    """A large response is, and so is one that never ends."""
    with gated(QUICK) as page, page.connect(receive_buffer=4_096) as client:
        client.sendall(HEAD % path)
        wait_until(lambda: len(page.server.server_state.connections) == 1, what="the request")
        wait_until(lambda: not page.server.server_state.connections, what="it to be given up")
        page.app.end_work()


def test_a_response_may_be_read_slowly() -> None:
    """It may take longer than the limit in all, if something is read within each limit."""
    pause, limits = threading.Event(), replace(QUICK, reading_ms=1_000)
    with gated(limits) as page, page.connect(receive_buffer=65_536) as client:
        client.sendall(HEAD % b"/large")
        taken = 0
        for _ in range(20):
            taken += len(client.recv(65_536))
            pause.wait(limits.reading_ms / 1000 / 8)
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert taken + len(read_all(client)) > LARGE


def test_an_address_closes_its_own_silent_connections_first() -> None:
    """Other addresses keep theirs, and a connection with a request in work is never closed."""
    with gated(PATIENT) as page, ExitStack() as stack:
        other = stack.enter_context(page.connect("127.0.0.2"))
        busy = stack.enter_context(page.connect("127.0.0.3"))
        work(page, busy)
        mine = [stack.enter_context(page.connect("127.0.0.3")) for _ in range(6)]
        until_closed(mine[0])
        until_closed(mine[1])
        assert not any(is_closed(sock) for sock in (other, busy, *mine[2:]))
        page.app.end_work()
        assert b"200 OK" in busy.recv(1_000)


def test_the_health_check_is_answered_when_all_connections_are_in_use() -> None:
    """Other requests get 503 with Retry-After, and the security headers."""
    with gated(PATIENT) as page, ExitStack() as stack:
        for number in range(PATIENT.connections):
            work(page, stack.enter_context(page.connect(f"127.0.0.{number + 1}")))
        silent = [stack.enter_context(page.connect("127.0.0.99")) for _ in range(3)]
        until_closed(silent[0])
        for _ in range(3):
            assert page.get("/healthz").status == 200
            refused = page.get("/")
            assert refused.status == 503
            assert refused.getheader("Retry-After") == "5"
            assert refused.getheader("Connection") == "close"
            assert all(refused.getheader(name.decode()) for name, _ in HEADERS)
        page.app.end_work()
        wait_until(lambda: page.get("/").status == 200, what="a place to be free")


def test_an_authenticated_connection_is_not_closed_for_others() -> None:
    """However many connections without a token come, the one with a token stays open."""
    with gated(PATIENT, TOKEN) as page, ExitStack() as stack:
        known = stack.enter_context(page.connect())
        known.sendall(
            b"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n\r\n" % TOKEN.encode()
        )
        assert b"200 OK" in known.recv(1_000)
        anonymous = [
            stack.enter_context(page.connect(f"127.0.0.{number % 9 + 1}")) for number in range(30)
        ]
        until_closed(anonymous[0])
        assert not is_closed(known)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\nHost: a\r\n", b"414"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"a: b\r\n" * 101, b"431"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"a: b\r\n" * 20_000, b"400"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nB: " + b"b" * 100_000 + b"\r\n", b"400"),
        (b"TRACE / HTTP/1.1\r\nHost: a\r\n", b"403"),
        (b"GET / HTTP/1.1\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade\r\n", b"200"),
    ],
)
def test_malformed_requests_are_answered_and_logged_once(
    head: bytes, status: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Clients that send garbage can't fill the log."""
    with gated(replace(PATIENT, next_ms=100)) as page:
        for _ in range(20):
            with page.connect() as client:
                client.sendall(head + b"\r\n")
                assert client.recv(1_000).split()[1] == status
    assert len(caplog.records) == (status == b"400")


def test_an_internal_error_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """Its traceback is logged once, however often a client causes it."""
    with gated(PATIENT) as page:
        for _ in range(5):
            assert page.get("/fault").status == 500
    assert caplog.text.count("Traceback") == 1


def test_pipelined_requests_are_answered_in_turn() -> None:
    """No request is lost, and the connection stays usable."""
    with gated(PATIENT) as page, page.connect() as client:
        client.sendall((HEAD % b"/") * 500 + b"GET / HTTP/1.0\r\n\r\n")
        assert read_all(client).count(b"200 OK") == 501


def test_shutdown_does_not_wait_for_slow_clients(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Silent clients, half requests and unread responses are cut; work in progress is finished."""
    with ExitStack() as stack:
        page = stack.enter_context(gated(PATIENT))
        clients = [
            stack.enter_context(page.connect(f"127.0.0.{number}", receive_buffer=4_096))
            for number in range(1, 7)
        ]
        for client, sent in zip(clients, (b"", b"GET", HEAD % b"/large") * 2, strict=True):
            client.sendall(sent)
        busy = stack.enter_context(page.connect("127.0.0.9"))
        work(page, busy)
        clock = SystemClock()
        began_ms = clock.now_ms()
        page.server.end()
        page.app.end_work()
        assert b"200 OK" in busy.recv(1_000)
        wait_until(lambda: not page.server.server_state.connections, what="all to be let go")
        assert clock.now_ms() - began_ms < 5_000
    assert caplog.text == ""
