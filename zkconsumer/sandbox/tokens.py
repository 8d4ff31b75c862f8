"""Issues unsigned tokens, which brokers of 2.0 and later accept by default."""

import base64
import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Final

from zkconsumer.clock import SystemClock
from zkconsumer.sandbox.ports import LOOPBACK
from zkconsumer.scope import ThreadScope

LIFETIME_S: Final = 3_600
_POLL_S: Final = 0.05
_CLOSE_MS: Final = 5_000
_MOST_BYTES: Final = 64 << 10


def unsigned_token(subject: str, now_ms: int, lifetime_s: int = 60) -> str:
    """Return an unsigned token (RFC 7519), which brokers accept until it expires.

    Args:
        subject: the name of the token's user.
        now_ms: the present time, in ms since the epoch.
        lifetime_s: the time until it expires.
    """
    seconds = now_ms // 1000
    claims = {"sub": subject, "iat": seconds, "exp": seconds + lifetime_s}
    parts = [json.dumps(part).encode() for part in ({"alg": "none"}, claims)]
    return "".join(base64.urlsafe_b64encode(part).decode().rstrip("=") + "." for part in parts)


class TokenServer:
    """Issues tokens by the client credentials grant, until it is closed, in a thread of its own.

    Args:
        subject: the name of the tokens' user.
    """

    def __init__(self, subject: str) -> None:
        clock = SystemClock()

        def grant() -> str:
            return unsigned_token(subject, clock.wall_ms(), LIFETIME_S)

        self._server = _Server(grant)
        self._scope = ThreadScope("sandbox-tokens")
        self._scope.spawn(
            "serve", lambda: self._server.serve_forever(_POLL_S), stop=self._server.shutdown
        )

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://{LOOPBACK}:{self._server.server_port}/token"

    def close(self) -> None:
        """Stop the server."""
        self._scope.close(_CLOSE_MS)
        self._server.server_close()


class _Server(HTTPServer):
    def __init__(self, grant: Callable[[], str]) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.grant = grant


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 5

    def do_POST(self) -> None:
        """Respond with a token."""
        length = self.headers.get("Content-Length", "0")
        self.rfile.read(min(int(length), _MOST_BYTES) if length.isdecimal() else 0)
        response = {
            "access_token": self.server.grant(),
            "token_type": "Bearer",
            "expires_in": LIFETIME_S,
        }
        data = json.dumps(response).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Log nothing."""
