"""Sends one HTTP request; its response is bounded in time and size, no redirect is followed.

The time is for all of it: a server that sends a byte now and then gains nothing by that.
"""

import http.client
import re
import socket
import ssl
from collections.abc import Mapping
from typing import Final, cast
from urllib.parse import SplitResult

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import ConnectFailed
from zkconsumer.net.bounded_connect import connected
from zkconsumer.net.deadline_socket import DeadlineSocket
from zkconsumer.printable import printable

_CHUNK_BYTES: Final = 64 << 10
_SHOWN_CHARS: Final = 200
"""Of an error, which may quote what a server sent."""
_WORDS: Final = re.compile(r"[^\s/?&=:;,]{5,}")
"""What may be a secret, or a part of one."""


def http_request(  # noqa: PLR0913 - one setting each, by name
    url: SplitResult,
    *,
    headers: Mapping[str, str],
    body: bytes | None = None,
    timeout_ms: int,
    max_bytes: int,
    ssl_context: ssl.SSLContext | None = None,
    clock: Clock | None = None,
) -> tuple[int, bytes]:
    """Send a request and read its response.

    Args:
        url: of the scheme ``http`` or ``https``.
        headers: of the request.
        body: what to POST; None: a GET.
        timeout_ms: for the host's name, connecting and TLS, and again for everything after it.
        max_bytes: the most that a response's body may have.
        ssl_context: for ``https``; None: by the machine's authorities.
        clock: measures the time-out.

    Returns:
        The status, and the whole body.

    Raises:
        ConnectFailed: there is no response, or not a whole one in time.
        ValueError: the body is larger than that.

    Thread: any.
    """
    clock = clock or SystemClock()
    try:
        raw = _connected(url, timeout_ms, ssl_context, clock)
        try:
            connection = http.client.HTTPConnection(url.hostname or "", url.port)
            bounded = DeadlineSocket(raw, clock, clock.now_ms() + timeout_ms)
            connection.sock = cast("socket.socket", bounded)
            target = f"{url.path or '/'}{'?' + url.query if url.query else ''}"
            method = "GET" if body is None else "POST"
            connection.request(method, target, body, dict(headers))
            response = connection.getresponse()
            return response.status, _body(response, max_bytes)
        finally:
            raw.close()
    except (OSError, http.client.HTTPException) as error:
        reason = printable(str(error)[:_SHOWN_CHARS]) or type(error).__name__
        raise ConnectFailed(f"{url.scheme}://{url.netloc.rpartition('@')[2]}: {reason}") from error


def without_words_of(secrets: str, text: str) -> str:
    """Return what a server sent without what it repeats of our secrets, as many do."""
    for word in sorted(set(_WORDS.findall(secrets)), key=len, reverse=True):
        text = text.replace(word, "...")
    return text


def _connected(
    url: SplitResult, timeout_ms: int, ssl_context: ssl.SSLContext | None, clock: Clock
) -> socket.socket:
    host, is_secure = url.hostname or "", url.scheme == "https"
    raw = connected(host, url.port or (443 if is_secure else 80), timeout_ms, clock)
    if not is_secure:
        return raw
    try:
        context = ssl_context or ssl.create_default_context()
        return context.wrap_socket(raw, server_hostname=host)
    except BaseException:
        raw.close()
        raise


def _body(response: http.client.HTTPResponse, max_bytes: int) -> bytes:
    data = bytearray()
    while some := response.read1(_CHUNK_BYTES):
        data += some
        if len(data) > max_bytes:
            raise ValueError(f"its response is longer than {max_bytes} bytes")
    if response.length:
        raise http.client.IncompleteRead(bytes(data), response.length)
    return bytes(data)
