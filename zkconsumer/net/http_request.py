"""Sends one HTTP request; the response is bounded in time and size, no redirect is followed.

The time-out covers the whole exchange, however slowly the server sends.
"""

import http.client
import re
import socket
import ssl
from collections.abc import Mapping
from typing import Final, cast
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import ConnectFailed
from zkconsumer.net.client_credentials import basic_auth
from zkconsumer.net.deadline_socket import DeadlineSocket
from zkconsumer.net.tcp import open_socket
from zkconsumer.printable import printable

_CHUNK_BYTES: Final = 64 << 10
_SHOWN_CHARS: Final = 200
"""The longest text of an error, which may quote the server."""
_WORDS: Final = re.compile(r"[^\s/?&=:;,]{5,}")
"""Matches a word that may be a secret, or a part of one."""


def http_request(  # noqa: PLR0913 - one setting each, by name
    url: SplitResult,
    *,
    headers: Mapping[str, str],
    body: bytes | None = None,
    timeout_ms: int,
    max_bytes: int,
    ssl_context: ssl.SSLContext | None = None,
    proxy: SplitResult | None = None,
    clock: Clock | None = None,
) -> tuple[int, bytes]:
    """Send a request and read its response.

    Args:
        url: a URL of the scheme ``http`` or ``https``.
        headers: the headers of the request.
        body: the body of a POST; None: send a GET.
        timeout_ms: time limit of the whole: host lookup, connecting, TLS, proxy, response.
        max_bytes: the largest body that a response may have.
        ssl_context: for ``https``; None: trust the system's certificate authorities.
        proxy: the proxy to connect through; None: connect directly.
        clock: measures the time-out.

    Returns:
        The status and the whole body; b"" if the body of an error response did not arrive.

    Raises:
        ConnectFailed: no response, or an incomplete one, within the time-out.
        ValueError: the body is larger than ``max_bytes``.

    Thread: any.
    """
    clock = clock or SystemClock()
    try:
        deadline_ms = clock.now_ms() + timeout_ms
        raw = _connected(url, proxy, deadline_ms, ssl_context, clock)
        with raw:
            connection = _http_over(raw, url, clock, deadline_ms)
            target = f"{url.path or '/'}{'?' + url.query if url.query else ''}"
            if proxy is not None and url.scheme == "http":
                target, headers = f"http://{url.netloc}{target}", {**_login(proxy), **headers}
            connection.request("GET" if body is None else "POST", target, body, dict(headers))
            response = connection.getresponse()
            try:
                return response.status, _body(response, max_bytes)
            except (OSError, http.client.HTTPException):
                if response.status < 300:
                    raise
                return response.status, b""  # the status says enough
    except (OSError, http.client.HTTPException) as error:
        reason = printable(str(error)[:_SHOWN_CHARS]) or type(error).__name__
        raise ConnectFailed(f"{url.scheme}://{url.netloc.rpartition('@')[2]}: {reason}") from error


def proxy_of_environment(url: SplitResult) -> SplitResult | None:
    """Return the proxy for a URL from variables such as ``https_proxy``; None if there is none.

    Raises:
        ConnectFailed: the variable holds no valid URL of a proxy.
    """
    proxy = getproxies().get(url.scheme)
    # ``no_proxy`` lists hosts, with or without ports.
    names = (url.hostname or "", url.netloc.rpartition("@")[2])
    if not proxy or any(map(proxy_bypass, names)):
        return None
    try:
        found = urlsplit(proxy if "//" in proxy else f"http://{proxy}")
        if found.hostname and found.port != 0:
            return found
    except ValueError:  # not chained: it quotes a part of the URL, maybe of a password
        pass
    raise ConnectFailed(
        f"{url.scheme}_proxy: give http://host:port, with special characters of a user or password "
        "percent-encoded"
    )


def quoted(data: bytes, secrets: str) -> str:
    """Return the start of a server's response for an error message, without words of our secrets.

    Many servers repeat the values that they refuse.
    """
    text = data.decode("utf-8", "replace")
    for word in sorted(set(_WORDS.findall(secrets)), key=len, reverse=True):
        text = text.replace(word, "...")
    return printable(text[:_SHOWN_CHARS])


def _connected(
    url: SplitResult,
    proxy: SplitResult | None,
    deadline_ms: int,
    ssl_context: ssl.SSLContext | None,
    clock: Clock,
) -> socket.socket:
    is_secure = url.scheme == "https"
    context = (ssl_context or ssl.create_default_context()) if is_secure else None
    host, port = url.hostname or "", url.port or (443 if is_secure else 80)
    timeout_ms = max(1, deadline_ms - clock.now_ms())  # loading the authorities takes a while
    if proxy is None:
        return open_socket(host, port, timeout_ms=timeout_ms, clock=clock, tls=context)
    raw = open_socket(proxy.hostname or "", proxy.port or 80, timeout_ms=timeout_ms, clock=clock)
    if context is None:
        return raw
    try:
        connection = _http_over(raw, url, clock, deadline_ms)
        target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        connection.request("CONNECT", target, headers=_login(proxy))
        status = connection.getresponse().status
        if status == 200:
            raw.settimeout(max(1, deadline_ms - clock.now_ms()) / 1000)
            return context.wrap_socket(raw, server_hostname=host)
    except BaseException:
        raw.close()
        raise
    raw.close()
    raise OSError(f"the proxy {proxy.hostname} responded with {status}")


def _http_over(
    raw: socket.socket, url: SplitResult, clock: Clock, deadline_ms: int
) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection(url.hostname or "", url.port)
    connection.sock = cast("socket.socket", DeadlineSocket(raw, clock, deadline_ms))
    return connection


def _login(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": basic_auth(pair)}


def _body(response: http.client.HTTPResponse, max_bytes: int) -> bytes:
    data = bytearray()
    while some := response.read1(_CHUNK_BYTES):
        data += some
        if len(data) > max_bytes:
            raise ValueError(f"its response is longer than {max_bytes} bytes")
    if response.length:
        raise http.client.IncompleteRead(bytes(data), response.length)
    return bytes(data)
