"""The page as a process, while strangers do what they can to take it down."""

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.gated import (
    HEAD,
    connect,
    descriptors,
    get,
    is_closed,
    request,
    silent,
    until_closed,
)
from tests.support.served_page import ServedPage, served, until_read
from tests.support.waiting import PROMPT_MS, wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

TOKEN = "0123456789abcdef-secret"
HEADERS = b"Host: localhost\r\nOrigin: http://localhost\r\n"
FORM_WITHOUT_END = b"POST /login HTTP/1.1\r\n%sContent-Length: 99\r\n\r\n" % HEADERS
BEARER = b"GET %%s HTTP/1.1\r\n%sAuthorization: Bearer %s\r\n\r\n" % (HEADERS, TOKEN.encode())
LOG_MAX = 1_000
"""Bytes of log that an attack may cost."""


class Attacked:
    """A page, and what shows that it is well."""

    def __init__(self, page: ServedPage, log: Path) -> None:
        self.page = page
        self.log = log
        self.port = urlsplit(page.address).port or 0

    def is_well(self) -> bool:
        """Whether a health check from another address is answered at once."""
        clock = SystemClock()
        began_ms = clock.now_ms()
        status = get(self.port, "/healthz", source="127.0.0.77").status
        return status == 200 and clock.now_ms() - began_ms < PROMPT_MS

    def message(self) -> str:
        """The log."""
        return self.log.read_text()

    def open_files(self) -> int:
        """How many files the process has open."""
        assert self.page.process is not None
        return len(os.listdir(f"/proc/{self.page.process.pid}/fd"))


@contextmanager
def attacked(cluster: Sandbox, tmp_path: Path, *arguments: str) -> Iterator[Attacked]:
    """Serve with a token, and with as many descriptors as services usually have."""
    log = tmp_path / "log"
    pace = () if "--interval-ms" in arguments else ("--interval-ms", "500")
    with ExitStack() as stack:
        with descriptors(1_024):
            page = stack.enter_context(
                served(
                    cluster.zookeeper_connect,
                    log,
                    *pace,
                    *arguments,
                    ZKCONSUMER_TOKEN=TOKEN,
                )
            )
        until_read(page)
        yield Attacked(page, log)


@pytest.mark.parametrize("count", [500, 1_100])
def test_silent_connections_cost_nobody_the_page(
    cluster: Sandbox, tmp_path: Path, count: int
) -> None:
    """The page and its health check are there all the time, and it ends at once."""
    patient = ("--client-timeout-ms", "60000")  # so nobody gets a place because that is over
    with attacked(cluster, tmp_path, *patient) as it, silent(it.port, count // 2):
        assert it.is_well()
        with silent(it.port, count - count // 2):
            assert it.is_well()
            right = {"Authorization": f"Bearer {TOKEN}"}
            assert get(it.port, "/groups", source="127.0.0.78", **right).status == 200
            assert it.open_files() < 600
            clock = SystemClock()
            began_ms = clock.now_ms()
            assert it.page.end() == 0
            assert clock.now_ms() - began_ms < PROMPT_MS
        assert len(it.message()) < LOG_MAX


def test_slow_clients_are_let_go_while_others_are_served(cluster: Sandbox, tmp_path: Path) -> None:
    """Half of heads and bodies, pages and events that nobody takes; then it ends at once."""
    quick = ("--client-timeout-ms", "1500", "--interval-ms", "200")
    with attacked(cluster, tmp_path, *quick) as it, ExitStack() as stack:

        def client(source: str, sent: bytes, receive_buffer: int = 0) -> None:
            found = stack.enter_context(connect(it.port, source, receive_buffer=receive_buffer))
            found.sendall(sent)

        quiet_files = it.open_files()
        for number in range(2, 12):
            client(f"127.0.0.{number}", HEAD[:30])
            client(f"127.0.0.{number}", FORM_WITHOUT_END)
            client(f"127.0.0.{number}", (HEAD % b"/static/parts.css") * 200, 2_048)
            client(f"127.0.0.{number}", (BEARER % b"/metrics") * 50, 2_048)
            client(f"127.0.0.{number}", BEARER % b"/events", 1)
        wait_until(lambda: it.open_files() > quiet_files + 8, what="them to be accepted")
        listener = connect(it.port)
        stack.enter_context(listener)
        listener.sendall(BEARER % b"/events")
        wait_until(lambda: it.is_well() and it.open_files() <= quiet_files + 4, what="them to go")
        assert b"200 OK" in listener.recv(1_000)
        assert not is_closed(listener)
        again = stack.enter_context(silent(it.port, 100))
        assert it.page.end(signal.SIGTERM) == 0
        until_closed(again[0])
        assert len(it.message()) < LOG_MAX


def test_it_recovers_when_it_had_no_descriptors_left(cluster: Sandbox, tmp_path: Path) -> None:
    """As others of the same process may use them up: one line of log, and it goes on."""
    with attacked(cluster, tmp_path) as it:
        process = it.page.process
        assert process is not None
        before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        # Below what it has open: nothing more can be opened, whatever is closed.
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (5, before[1]))
        with silent(it.port, 200):
            wait_until(lambda: "no connection can be accepted" in it.message(), what="the line")
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)
            wait_until(it.is_well, what="it to be well")
        assert it.message().count("no connection can be accepted") == 1
        assert "Traceback" not in it.message()


def test_guesses_and_garbage_fill_no_log(cluster: Sandbox, tmp_path: Path) -> None:
    """Hundreds of requests of a stranger: a line of each kind."""
    with attacked(cluster, tmp_path) as it:
        for number in range(200):
            with connect(it.port, f"127.0.0.{number % 5 + 2}") as client:
                client.sendall(b"\x16\x03\x01 garbage\r\n\r\n")
                assert client.recv(1_000).startswith(b"HTTP/1.1 400")
            guess = {"Authorization": f"Bearer guess-{number:016}"}
            status = get(it.port, "/", source="127.0.0.2", **guess).status
            assert status == (401 if number < 10 else 429)
        right = {"Authorization": f"Bearer {TOKEN}"}
        assert get(it.port, "/", source="127.0.0.3", **right).status == 200
        assert it.is_well()
        assert it.page.end() == 0
        assert len(it.message().splitlines()) == 2
        assert "guess-" not in it.message()


def test_a_trusted_proxy_says_who_guesses(cluster: Sandbox, tmp_path: Path) -> None:
    """Else all who come by it would be refused for one of them; it makes cookies secure, too."""
    with attacked(cluster, tmp_path, "--trusted-proxy", "127.0.0.2") as it:

        def status(token: str, client: str, source: str = "127.0.0.2") -> int:
            headers = {"Authorization": f"Bearer {token}", "X-Forwarded-For": client}
            return get(it.port, "/api/state", source=source, **headers).status

        wrong = "wrong-token-wrong-token"
        assert [status(wrong, "10.0.0.1") for _ in range(11)] == [401] * 10 + [429]
        assert status(TOKEN, "10.0.0.2") == 200
        assert "'10.0.0.1'" in it.message()
        # Who is no such proxy may say what it wants.
        assert [status(wrong, f"10.1.0.{number}", "127.0.0.9") for number in range(11)][-1] == 429
        form = {"origin": "https://localhost", "host": "localhost", "x-forwarded-proto": "https"}
        body = f"token={TOKEN}".encode()
        for source, secure in (("127.0.0.2", True), ("127.0.0.3", False)):
            response = request(it.port, "POST", "/login", source=source, body=body, headers=form)
            assert response.status == 303
            assert ("; secure" in str(response.getheader("Set-Cookie")).lower()) is secure
