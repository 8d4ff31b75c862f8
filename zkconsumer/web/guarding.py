"""Admits only authorized requests, and sets the security headers of every response."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zkconsumer.clock import Clock
from zkconsumer.web.security import (
    HEADERS,
    HEADERS_MAX,
    OPEN_PATHS,
    TARGET_MAX,
    Hosts,
    Tokens,
    comes_from_the_page,
)
from zkconsumer.web.throttling import GuessThrottle

log = logging.getLogger(__name__)

TOO_MANY_GUESSES: Final = "Too many wrong tokens came from your address: try again in a minute."
HAS_CAPACITY: Final = "zkconsumer.has_capacity"
"""The scope's key for whether there is capacity for requests other than ``/healthz``."""
AUTHENTICATE: Final = "zkconsumer.authenticate"
"""The scope's key for the function to call once its client has shown the token."""
_UNGUARDED_PATH: Final = "/healthz"
_RETRY_S: Final = 5
_HOST_MAX: Final = 64
_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_AUTHORIZATION: Final = b"authorization"


class Guard:
    """An ASGI middleware that checks the host and the token of each request."""

    def __init__(self, app: ASGIApp, tokens: Tokens, hosts: Hosts, clock: Clock) -> None:
        self._app = app
        self._tokens = tokens
        self._hosts = hosts
        self._clock = clock
        self._throttle = GuessThrottle()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return

        begun = False

        async def send_safely(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                given = list(message.get("headers", ()))
                names = {name for name, _ in given}
                if b"cache-control" not in names:
                    given.append((b"cache-control", b"no-store"))
                message["headers"] = [
                    *given,
                    *(header for header in HEADERS if header[0] not in names),
                ]
            await send(message)

        refusal = _of_a_size_no_page_needs(scope) or self._refusal(scope, header_map(scope))
        try:
            await (refusal or self._app)(scope, receive, send_safely)
        except asyncio.CancelledError:
            # The server is shutting down, and its grace period is over: not an error.
            if not begun:
                await PlainTextResponse("The server is shutting down.\n", 503)(
                    scope, receive, send_safely
                )

    def _refusal(self, scope: Scope, headers: Mapping[str, str]) -> Response | None:
        path, method = scope["path"], scope["method"]
        if path != _UNGUARDED_PATH and not scope.get(HAS_CAPACITY, True):
            return PlainTextResponse(
                "Too many requests at present: try again.\n", 503, {"Retry-After": str(_RETRY_S)}
            )
        if not self._hosts.accepts(headers.get("host")):
            return PlainTextResponse(
                "This page is not served under that name: see --allow-host.\n", 421
            )
        if method not in _SAFE_METHODS and not comes_from_the_page(headers):
            return PlainTextResponse("The request does not come from this page.\n", 403)
        admitted, wait_ms = self._admits(scope, headers)
        if admitted or path in OPEN_PATHS or path.startswith("/static/"):
            return None
        if method in _SAFE_METHODS and "text/html" in headers.get("accept", ""):
            onward = scope.get("raw_path", path.encode()).decode("latin-1")
            query = scope.get("query_string", b"").decode("latin-1")
            page_request = f"{onward}?{query}" if query else onward
            return RedirectResponse(f"/login?next={quote(page_request, safe='')}", 303)
        if wait_ms:
            return PlainTextResponse(f"{TOO_MANY_GUESSES}\n", 429, retry_after(wait_ms))
        return PlainTextResponse(
            "A token is needed: Authorization: Bearer ...\n",
            401,
            {"WWW-Authenticate": 'Bearer realm="zkconsumer"'},
        )

    def _admits(self, scope: Scope, headers: Mapping[str, str]) -> tuple[bool, int]:
        """Return whether a request has full access, and how long its address's tokens are ignored.

        A refused token is removed, so that no code after the guard can depend on it.
        """
        if not self._tokens.wanted:
            scope["signed_in"] = False
            return True, 0
        wall_ms, now_ms, host = self._clock.wall_ms(), self._clock.now_ms(), client_host(scope)
        scope["signed_in"] = admitted = self._tokens.has_session(headers, wall_ms)
        wait_ms = 0
        if not admitted and "authorization" in headers:
            wait_ms = self._throttle.wait_ms(host, now_ms)
            admitted = not wait_ms and self._tokens.admits(headers, wall_ms)
            if not admitted:
                if not wait_ms and headers["authorization"].lower().startswith("bearer "):
                    note_wrong_token(self._throttle, host, now_ms)
                scope["headers"] = [
                    header for header in scope["headers"] if header[0] != _AUTHORIZATION
                ]
        if admitted:
            scope.get(AUTHENTICATE, _no_credentials)()
        return admitted, wait_ms


def note_wrong_token(throttle: GuessThrottle, host: str, now_ms: int) -> None:
    """Count a wrong token of an address; log a warning once the address is throttled."""
    throttle.failed(host, now_ms)
    if throttle.wait_ms(host, now_ms):
        log.warning("wrong tokens from %r: at most one every few seconds is checked", host)


def client_host(scope: Scope) -> str:
    """Return the client's address, behind a trusted proxy as that reports it; "" if unknown."""
    client = scope.get("client")
    return str(client[0])[:_HOST_MAX] if client else ""


def retry_after(wait_ms: int) -> dict[str, str]:
    """Return the ``Retry-After`` header."""
    return {"Retry-After": str(-(-wait_ms // 1000))}


def _of_a_size_no_page_needs(scope: Scope) -> Response | None:
    if len(scope.get("raw_path", b"")) + len(scope.get("query_string", b"")) > TARGET_MAX:
        return PlainTextResponse("The address is too long.\n", 414)
    if len(scope["headers"]) > HEADERS_MAX:
        return PlainTextResponse("There are too many headers.\n", 431)
    return None


def _no_credentials() -> None:
    """Do nothing, for a scope without a connection that could be marked as authorized."""


def header_map(scope: Scope) -> dict[str, str]:
    """Return a request's headers; cookies are joined, of others that repeat the first counts."""
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        if name == "cookie" and name in found:
            found[name] = f"{found[name]}; {value}"
        else:
            found.setdefault(name, value)
    return found
