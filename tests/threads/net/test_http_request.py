"""What the HTTP client does over a proxy and TLS."""

import contextlib
import socket
import ssl
from collections.abc import Iterator
from urllib.parse import SplitResult, urlsplit

import pytest

from tests.support.certificates import Certificates
from tests.support.tls_peer import server_context
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConnectFailed
from zkconsumer.net.http_request import http_request
from zkconsumer.scope import ThreadScope

LONG_MS = 10_000


def heading(connected: socket.socket) -> str:
    """Receive up to an empty line."""
    data = b""
    while b"\r\n\r\n" not in data:
        some = connected.recv(1 << 16)
        if not some:
            break
        data += some
    return data.decode()


@pytest.fixture
def tunnel(certificates: Certificates) -> Iterator[tuple[SplitResult, list[str]]]:
    """A proxy that is the server as well: its URL, and the heads that it receives."""
    received: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError), server.accept()[0] as connected:
                received.append(heading(connected))
                connected.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                context = server_context(certificates)
                with context.wrap_socket(connected, server_side=True) as inner:
                    received.append(heading(inner))
                    inner.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")

        def end() -> None:
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)

        scope = ThreadScope("proxy")
        scope.spawn("serve", serve, stop=end)
        yield urlsplit(f"http://us:pw@127.0.0.1:{server.getsockname()[1]}"), received
        assert scope.close(LONG_MS) == []


def test_tls_goes_through_a_proxy(
    tunnel: tuple[SplitResult, list[str]], certificates: Certificates
) -> None:
    """The proxy learns the address and our login at it; the request is for the server only."""
    proxy, received = tunnel
    answer = http_request(
        urlsplit("https://127.0.0.1:8443/a?b=c"),
        headers={"X": "y"},
        timeout_ms=LONG_MS,
        max_bytes=10,
        ssl_context=ssl.create_default_context(cafile=certificates.authority),
        proxy=proxy,
    )
    assert answer == (200, b"hi")
    assert received[0].startswith("CONNECT 127.0.0.1:8443 HTTP/1.1")
    assert "Proxy-Authorization: Basic dXM6cHc=" in received[0]
    assert received[1].startswith("GET /a?b=c HTTP/1.1")
    assert "X: y" in received[1]
    assert "Proxy-Authorization" not in received[1]


@pytest.mark.parametrize(
    ("host", "at_proxy"), [("other.invalid", "other.invalid:443"), ("[::1]", "[::1]:443")]
)
def test_the_host_behind_a_proxy_is_verified(
    tunnel: tuple[SplitResult, list[str]], certificates: Certificates, host: str, at_proxy: str
) -> None:
    """It is by its own name, not by the proxy's, which the certificate is for."""
    proxy, received = tunnel
    with pytest.raises(ConnectFailed, match="not valid for"):
        http_request(
            urlsplit(f"https://{host}/a"),
            headers={},
            timeout_ms=LONG_MS,
            max_bytes=10,
            ssl_context=ssl.create_default_context(cafile=certificates.authority),
            proxy=proxy,
        )
    assert received[0].startswith(f"CONNECT {at_proxy} HTTP/1.1")
    assert len(received) == 1


class LateClock(SystemClock):
    """A clock that advances a minute with each reading."""

    late_ms = 0

    def now_ms(self) -> int:
        self.late_ms += 60_000
        return super().now_ms() + self.late_ms


def test_no_time_out_is_negative() -> None:
    """Steps before the connect, such as loading authorities, may use up all the time."""
    url = urlsplit("http://localhost:1/")
    with pytest.raises(ConnectFailed) as failed:
        http_request(url, headers={}, timeout_ms=LONG_MS, max_bytes=10, clock=LateClock())
    assert "-" not in str(failed.value)
