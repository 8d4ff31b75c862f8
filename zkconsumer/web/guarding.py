"""Lets through whoever may pass, and puts the safe headers on every answer."""

import asyncio
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zkconsumer.clock import Clock
from zkconsumer.web.security import HEADERS, OPEN_PATHS, Hosts, Tokens, comes_from_the_page

_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})


class Guard:
    """An ASGI application around another one.

    Args:
        app: what is guarded.
        tokens: who may see it.
        hosts: under which names.
        clock: ends logins.
    """

    def __init__(self, app: ASGIApp, tokens: Tokens, hosts: Hosts, clock: Clock) -> None:
        self._app = app
        self._tokens = tokens
        self._hosts = hosts
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
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
                message["headers"] = [*given, *(one for one in HEADERS if one[0] not in names)]
            await send(message)

        headers = header_map(scope)
        scope["signed_in"] = self._tokens.wanted and self._tokens.has_session(
            headers, self._clock.wall_ms()
        )
        refusal = self._refusal(scope, headers)
        try:
            await (refusal or self._app)(scope, receive, send_safely)
        except asyncio.CancelledError:
            # The server ends, and has waited long enough; that is no fault to be logged.
            if not begun:
                await PlainTextResponse("The page ends.\n", 503)(scope, receive, send_safely)

    def _refusal(self, scope: Scope, headers: Mapping[str, str]) -> Response | None:
        path, method = scope["path"], scope["method"]
        if not self._hosts.accepts(headers.get("host")):
            return PlainTextResponse(
                "This page is not served under that name: see --allow-host.\n", 421
            )
        if method not in _SAFE_METHODS and not comes_from_the_page(headers):
            return PlainTextResponse("That was not sent by this page.\n", 403)
        if path in OPEN_PATHS or path.startswith("/static/"):
            return None
        if self._tokens.admits(headers, self._clock.wall_ms()):
            return None
        if method in _SAFE_METHODS and "text/html" in headers.get("accept", ""):
            onward = scope.get("raw_path", path.encode()).decode("latin-1")
            query = scope.get("query_string", b"").decode("latin-1")
            asked = f"{onward}?{query}" if query else onward
            return RedirectResponse(f"/login?next={quote(asked, safe='')}", 303)
        return PlainTextResponse(
            "A token is needed: Authorization: Bearer ...\n",
            401,
            {"WWW-Authenticate": 'Bearer realm="zkconsumer"'},
        )


def header_map(scope: Scope) -> dict[str, str]:
    """The headers of a request; several cookies are one, of other names the first counts."""
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        if name == "cookie" and name in found:
            found[name] = f"{found[name]}; {value}"
        else:
            found.setdefault(name, value)
    return found
