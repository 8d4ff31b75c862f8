"""The page as a process, while hostile clients try to take it down."""

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
"""The most bytes that an attack may add to the log."""


class AttackedPage:
    """A page under attack, and what shows that it works."""

    def __init__(self, page: ServedPage, log: Path) -> None:
        self.page = page
        self.log = log
        self.port = urlsplit(page.address).port or 0

    def is_well(self) -> bool:
        """Return whether a health check from another address succeeds at once."""
        clock = SystemClock()
        began_ms = clock.now_ms()
        status = get(self.port, "/healthz", source="127.0.0.77").status
        return status == 200 and clock.now_ms() - began_ms < PROMPT_MS

    def log_text(self) -> str:
        """Return the log."""
        return self.log.read_text()

    def open_files(self) -> int:
        """Return how many files the process has open."""
        assert self.page.process is not None
        return len(os.listdir(f"/proc/{self.page.process.pid}/fd"))


@contextmanager
def attacked(cluster: Sandbox, tmp_path: Path, *arguments: str) -> Iterator[AttackedPage]:
    """Serve with a token, and with the usual limit of file descriptors."""
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
        yield AttackedPage(page, log)


@pytest.mark.parametrize("count", [500, 1_100])
def test_silent_connections_do_not_block_the_page(
    cluster: Sandbox, tmp_path: Path, count: int
) -> None:
    """The page and its health check work all the time, and it ends at once."""
    patient = ("--client-timeout-ms", "60000")  # so that no place is freed by a timeout
    with (
        attacked(cluster, tmp_path, *patient) as attacked_page,
        silent(attacked_page.port, count // 2),
    ):
        assert attacked_page.is_well()
        with silent(attacked_page.port, count - count // 2):
            assert attacked_page.is_well()
            right = {"Authorization": f"Bearer {TOKEN}"}
            assert get(attacked_page.port, "/groups", source="127.0.0.78", **right).status == 200
            assert attacked_page.open_files() < 600
            clock = SystemClock()
            began_ms = clock.now_ms()
            assert attacked_page.page.end() == 0
            assert clock.now_ms() - began_ms < PROMPT_MS
        assert len(attacked_page.log_text()) < LOG_MAX


def test_slow_clients_are_disconnected_while_others_are_served(
    cluster: Sandbox, tmp_path: Path
) -> None:
    """They send incomplete requests, or don't read responses; the end is still prompt."""
    quick = ("--client-timeout-ms", "1500", "--interval-ms", "200")
    with attacked(cluster, tmp_path, *quick) as attacked_page, ExitStack() as stack:

        def client(source: str, sent: bytes, receive_buffer: int = 0) -> None:
            found = stack.enter_context(
                connect(attacked_page.port, source, receive_buffer=receive_buffer)
            )
            found.sendall(sent)

        quiet_files = attacked_page.open_files()
        for number in range(2, 12):
            client(f"127.0.0.{number}", HEAD[:30])
            client(f"127.0.0.{number}", FORM_WITHOUT_END)
            client(f"127.0.0.{number}", (HEAD % b"/static/parts.css") * 200, 2_048)
            client(f"127.0.0.{number}", (BEARER % b"/metrics") * 50, 2_048)
            client(f"127.0.0.{number}", BEARER % b"/events", 1)
        wait_until(lambda: attacked_page.open_files() > quiet_files + 8, what="them to be accepted")
        listener = connect(attacked_page.port)
        stack.enter_context(listener)
        listener.sendall(BEARER % b"/events")
        wait_until(
            lambda: attacked_page.is_well() and attacked_page.open_files() <= quiet_files + 4,
            what="them to be closed",
        )
        assert b"200 OK" in listener.recv(1_000)
        assert not is_closed(listener)
        again = stack.enter_context(silent(attacked_page.port, 100))
        assert attacked_page.page.end(signal.SIGTERM) == 0
        until_closed(again[0])
        assert len(attacked_page.log_text()) < LOG_MAX


def test_it_recovers_after_running_out_of_descriptors(cluster: Sandbox, tmp_path: Path) -> None:
    """The shortage is one line in the log, and the page recovers."""
    with attacked(cluster, tmp_path) as attacked_page:
        process = attacked_page.page.process
        assert process is not None
        before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        # The limit is below the number of open files, so nothing can be opened even after a close.
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (5, before[1]))
        with silent(attacked_page.port, 200):
            wait_until(
                lambda: "no connection can be accepted" in attacked_page.log_text(), what="the line"
            )
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)
            wait_until(attacked_page.is_well, what="it to be well")
        assert attacked_page.log_text().count("no connection can be accepted") == 1
        assert "Traceback" not in attacked_page.log_text()


def test_guesses_and_garbage_do_not_fill_the_log(cluster: Sandbox, tmp_path: Path) -> None:
    """Hundreds of requests of a stranger log one line of each kind."""
    with attacked(cluster, tmp_path) as attacked_page:
        for number in range(200):
            with connect(attacked_page.port, f"127.0.0.{number % 5 + 2}") as client:
                client.sendall(b"\x16\x03\x01 garbage\r\n\r\n")
                assert client.recv(1_000).startswith(b"HTTP/1.1 400")
            guess = {"Authorization": f"Bearer guess-{number:016}"}
            status = get(attacked_page.port, "/", source="127.0.0.2", **guess).status
            assert status == (401 if number < 10 else 429)
        right = {"Authorization": f"Bearer {TOKEN}"}
        assert get(attacked_page.port, "/", source="127.0.0.3", **right).status == 200
        assert attacked_page.is_well()
        assert attacked_page.page.end() == 0
        assert len(attacked_page.log_text().splitlines()) == 2
        assert "guess-" not in attacked_page.log_text()


def test_a_trusted_proxy_names_the_client_that_guesses(cluster: Sandbox, tmp_path: Path) -> None:
    """Otherwise all of its clients would be refused; it also makes cookies secure."""
    with attacked(cluster, tmp_path, "--trusted-proxy", "127.0.0.2") as attacked_page:

        def status(token: str, client: str, source: str = "127.0.0.2") -> int:
            headers = {"Authorization": f"Bearer {token}", "X-Forwarded-For": client}
            return get(attacked_page.port, "/api/state", source=source, **headers).status

        wrong = "wrong-token-wrong-token"
        assert [status(wrong, "10.0.0.1") for _ in range(11)] == [401] * 10 + [429]
        assert status(TOKEN, "10.0.0.2") == 200
        assert "'10.0.0.1'" in attacked_page.log_text()
        # The header of an untrusted client is ignored.
        assert [status(wrong, f"10.1.0.{number}", "127.0.0.9") for number in range(11)][-1] == 429
        form = {"origin": "https://localhost", "host": "localhost", "x-forwarded-proto": "https"}
        body = f"token={TOKEN}".encode()
        for source, secure in (("127.0.0.2", True), ("127.0.0.3", False)):
            response = request(
                attacked_page.port, "POST", "/login", source=source, body=body, headers=form
            )
            assert response.status == 303
            assert ("; secure" in str(response.getheader("Set-Cookie")).lower()) is secure
