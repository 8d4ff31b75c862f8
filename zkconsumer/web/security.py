"""Access to the pages: tokens, cookies, host names, and the headers of every response. Pure.

GET changes nothing. A POST must come from the page itself.
"""

import hashlib
import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from zkconsumer.errors import ConfigError

LEAST_TOKEN_LENGTH: Final = 16
TARGET_MAX: Final = 8_192
"""The limit of a request's path and query, in bytes."""
HEADERS_MAX: Final = 100
"""The maximum number of headers of a request."""
SESSION_MS: Final = 12 * 3_600_000
"""The lifetime of a login."""

HEADERS: Final = (
    (
        b"content-security-policy",
        b"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
        b"object-src 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # Not "no-referrer": with that, browsers send our own forms with the origin "null".
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
"""The headers of all responses, errors included: scripts and styles only from our own files."""

OPEN_PATHS: Final = frozenset({"/login", "/healthz"})
"""The paths that need no token, besides ``/static/``."""


def check_token(token: str) -> str:
    """Return a valid token.

    Raises:
        ConfigError: it is too short to be a secret, or can't be sent in a header.
    """
    token = token.strip()
    if len(token) < LEAST_TOKEN_LENGTH:
        raise ConfigError(
            f"the token has {len(token)} characters: it needs at least {LEAST_TOKEN_LENGTH} "
            "(openssl rand -hex 24 makes a good one)"
        )
    if not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError("the token may contain only visible ASCII characters")
    return token


class Tokens:
    """Checks the token of a request: in a header, or as a cookie issued for it.

    The cookie holds the time of the login, signed with the token, so it survives a restart of the
    server but not a change of the token.

    Args:
        token: the secret; None: none is required.
    """

    def __init__(self, token: str | None) -> None:
        self._key = None if token is None else token.encode()

    @property
    def wanted(self) -> bool:
        """Whether a token is required."""
        return self._key is not None

    @property
    def cookie_name(self) -> str:
        """The cookie's name; it depends on the token, since servers on one host share cookies."""
        return f"zkconsumer-{self._sign('name')[:8]}"

    def accepts(self, token: str) -> bool:
        """Return whether a token is the secret, by a comparison in constant time."""
        return self._key is not None and hmac.compare_digest(
            hashlib.sha256(token.encode(errors="replace")).digest(),
            hashlib.sha256(self._key).digest(),
        )

    def cookie(self, now_ms: int) -> str:
        """Return the value of a cookie for a login now."""
        return f"{now_ms}.{self._sign(str(now_ms))}"

    def admits(self, headers: Mapping[str, str], now_ms: int) -> bool:
        """Return whether a request has full access.

        Args:
            headers: the request's headers, names in lower case.
            now_ms: the current time.
        """
        if not self.wanted:
            return True
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.accepts(token.strip()):
            return True
        return self.has_session(headers, now_ms)

    def has_session(self, headers: Mapping[str, str], now_ms: int) -> bool:
        """Return whether the request has the cookie of a valid login."""
        ours = self.cookie_name
        for part in headers.get("cookie", "").split(";"):
            name, _, value = part.strip().partition("=")
            if name == ours and self._is_ours(value, now_ms):
                return True
        return False

    def _is_ours(self, value: str, now_ms: int) -> bool:
        stamp, _, signature = value.partition(".")
        if not hmac.compare_digest(signature.encode(), self._sign(stamp).encode()):
            return False
        return 0 <= now_ms - int(stamp) < SESSION_MS

    def _sign(self, what: str) -> str:
        return hmac.new(self._key or b"", f"page:{what}".encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """The host names by which the server may be addressed.

    A server on loopback without a token could be read by any web site that resolves its own name to
    127.0.0.1 (DNS rebinding); so only known names are allowed there.

    Attributes:
        any_name: whether all names are allowed.
        names: allowed besides localhost and loopback addresses; in lower case, without ports.
    """

    any_name: bool
    names: frozenset[str] = frozenset()

    def accepts(self, host: str | None) -> bool:
        """Return whether the header ``Host`` has an allowed name."""
        if self.any_name:
            return True
        try:
            name = urlsplit(f"//{host or ''}").hostname or ""
        except ValueError:
            return False
        return name in self.names or name == "localhost" or is_loopback(name)


def is_loopback(host: str) -> bool:
    """Return whether a host is a loopback address or ``localhost``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def comes_from_the_page(headers: Mapping[str, str]) -> bool:
    """Return whether a POST was sent by the page itself, or by a program with the token.

    Browsers send the origin of a form; a program that sends none must send the token in a header,
    which no other site can make a browser do.
    """
    origin = headers.get("origin")
    if origin is not None:
        try:
            return urlsplit(origin).netloc.lower() == headers.get("host", "").lower() != ""
        except ValueError:
            return False
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    return "authorization" in headers


def safe_onward(address: str) -> str:
    """Return the URL to go to after a login; "/" if it is not one of our own pages."""
    if not address.startswith("/") or address.startswith(("//", "/\\", "/login", "/logout")):
        return "/"
    return (
        "/"
        if any(not (" " < character < "\x7f") or character == "\\" for character in address)
        else address
    )
