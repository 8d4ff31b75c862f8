"""An endpoint that gives tokens of OAuth 2, on loopback."""

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Self
from urllib.parse import parse_qs

from zkconsumer.scope import ThreadScope


class TokenEndpoint(HTTPServer):
    """Answers what it is told to; a context in which it serves.

    Attributes:
        responses: the next ones: code and body; or bytes, which are all that is said.
        grant: gives a token, where no answer is left.
        requested: the authorization and the form of each request.
        paths: the target of each.
        proxy_logins: the authorization at a proxy of each.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.responses: list[tuple[int, bytes] | bytes] = []
        self.grant: Callable[[], str] = lambda: ""
        self.requested: list[tuple[str, dict[str, list[str]]]] = []
        self.paths: list[str] = []
        self.proxy_logins: list[str | None] = []
        self._scope = ThreadScope("token-endpoint")

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}/token"

    def __enter__(self) -> Self:
        self._scope.spawn("serve", lambda: self.serve_forever(0.01), stop=self.shutdown)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._scope.close(5_000) == []
        self.server_close()

    def next_answer(self) -> tuple[int, bytes] | bytes:
        """Give what comes next."""
        if self.responses:
            return self.responses.pop(0)
        return granted(self.grant())


def granted(token: str, lifetime_s: object = 100) -> tuple[int, bytes]:
    """Make the answer that gives a token."""
    return 200, json.dumps({"access_token": token, "expires_in": lifetime_s}).encode()


class _Handler(BaseHTTPRequestHandler):
    server: TokenEndpoint

    def do_POST(self) -> None:
        """Answer the next one."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.requested.append((self.headers["Authorization"], parse_qs(body)))
        self.server.paths.append(self.path)
        self.server.proxy_logins.append(self.headers["Proxy-Authorization"])
        response = self.server.next_answer()
        if isinstance(response, bytes):
            self.wfile.write(response)
            return
        code, data = response
        self.send_response(code)
        if code == 302:
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
