"""An OAuth 2 token endpoint on loopback."""

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Self
from urllib.parse import parse_qs

from zkconsumer.scope import ThreadScope


class TokenEndpoint(HTTPServer):
    """A token endpoint with scripted responses, which serves during its context.

    Attributes:
        responses: the next responses: status and body; or raw bytes.
        grant: returns a token when no scripted response is left.
        requested: Authorization header and form fields of each request.
        paths: the path of each request.
        proxy_logins: the Proxy-Authorization header of each request.
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
        """The endpoint's URL."""
        return f"http://127.0.0.1:{self.server_port}/token"

    def __enter__(self) -> Self:
        self._scope.spawn("serve", lambda: self.serve_forever(0.01), stop=self.shutdown)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._scope.close(5_000) == []
        self.server_close()

    def next_response(self) -> tuple[int, bytes] | bytes:
        """Return the next response."""
        if self.responses:
            return self.responses.pop(0)
        return granted(self.grant())


def granted(token: str, lifetime_s: object = 100) -> tuple[int, bytes]:
    """Return a response that grants a token."""
    return 200, json.dumps({"access_token": token, "expires_in": lifetime_s}).encode()


class _Handler(BaseHTTPRequestHandler):
    server: TokenEndpoint

    def do_POST(self) -> None:
        """Send the next response."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.requested.append((self.headers["Authorization"], parse_qs(body)))
        self.server.paths.append(self.path)
        self.server.proxy_logins.append(self.headers["Proxy-Authorization"])
        response = self.server.next_response()
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
        """Log nothing."""
