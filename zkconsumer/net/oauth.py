"""Fetches OAuth 2 tokens with the client-credentials grant when they are needed (KIP-768).

Source: Kafka 3.9 ``HttpAccessTokenRetriever``, RFC 6749 section 4.4.
"""

import base64
import http.client
import json
import logging
import ssl
import urllib.error
import urllib.parse
import urllib.request
from typing import Final

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import AuthenticationFailed, ConnectFailed
from zkconsumer.forking import ForkedLock
from zkconsumer.net.client_credentials import ClientCredentials
from zkconsumer.printable import printable

log = logging.getLogger(__name__)

_MOST_BYTES: Final = 256 << 10
_USED_FOR: Final = 0.8
"""The share of a token's lifetime after which another one is fetched."""
_SHOWN_CHARS: Final = 200
_REFUSALS: Final = frozenset({400, 401, 403})


class FetchedTokens:
    """Fetches and caches tokens of an endpoint. Thread: any.

    Args:
        credentials: our client id, its secret and the endpoint.
        timeout_ms: time limit of a request to the endpoint.
        clock: for the tokens' expiry.
    """

    def __init__(
        self,
        credentials: ClientCredentials,
        *,
        timeout_ms: int = 10_000,
        clock: Clock | None = None,
    ) -> None:
        self._credentials = credentials
        self._context = ssl.create_default_context()
        self._timeout_ms = timeout_ms
        self._clock = clock or SystemClock()
        self._lock = ForkedLock()
        self._token = ""
        self._until_ms = 0
        if credentials.is_readable_on_its_way:
            log.warning(
                "%s: the client secret crosses the network unencrypted: use https",
                credentials.endpoint_url,
            )

    def token(self) -> str:
        """Return a token that is valid for a while.

        Raises:
            AuthenticationFailed: the endpoint refuses our credentials, or returns no token.
            ConnectFailed: the endpoint does not respond; it may later.
        """
        with self._lock:
            if not self._token or self._clock.now_ms() >= self._until_ms:
                sent_ms = self._clock.now_ms()
                token, lifetime_s = self._read(self._requested())
                self._token = token
                self._until_ms = sent_ms + int(lifetime_s * 1000 * _USED_FOR)
            return self._token

    def _requested(self) -> bytes:
        credentials = self._credentials
        form = {"grant_type": "client_credentials"}
        if credentials.scope is not None:
            form["scope"] = credentials.scope
        pair = f"{credentials.client_id}:{credentials.client_secret}"
        request = urllib.request.Request(  # noqa: S310 - the scheme was checked
            credentials.endpoint_url,
            data=urllib.parse.urlencode(form).encode(),
            headers={
                "Authorization": "Basic " + base64.b64encode(pair.encode()).decode(),
                "Accept": "application/json",
            },
        )
        opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=self._context), _NoRedirect()
        )
        try:
            with opener.open(request, timeout=self._timeout_ms / 1000) as response:
                data: bytes = response.read(_MOST_BYTES + 1)
                if response.length and len(data) <= _MOST_BYTES:
                    # ``read`` with a size does not report a truncated response.
                    raise http.client.IncompleteRead(data, response.length)
        except urllib.error.HTTPError as error:
            message = printable(_beginning(error))
            reason = f"{credentials.endpoint_url} answers {error.code}: {message}"
            if error.code in _REFUSALS:
                raise AuthenticationFailed(
                    f"no token for {credentials.client_id}: {reason}"
                ) from None
            raise ConnectFailed(f"no token: {reason}") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = printable(str(error)) or type(error).__name__
            raise ConnectFailed(f"no token: {credentials.endpoint_url}: {reason}") from error
        return data

    def _read(self, data: bytes) -> tuple[str, float]:
        where = self._credentials.endpoint_url
        if len(data) > _MOST_BYTES:
            raise AuthenticationFailed(f"{where}: its answer is longer than {_MOST_BYTES} bytes")
        try:
            response = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise AuthenticationFailed(f"{where}: its answer is no JSON") from error
        token = response.get("access_token") if isinstance(response, dict) else None
        if not isinstance(token, str) or not token:
            raise AuthenticationFailed(f"{where}: its answer holds no access_token")
        lifetime_s = response.get("expires_in", 0)
        if isinstance(lifetime_s, bool) or not isinstance(lifetime_s, int | float):
            lifetime_s = 0
        return token, min(max(0.0, float(lifetime_s)), 86_400.0)


def _beginning(error: urllib.error.HTTPError) -> str:
    """Return the start of an error response; empty if it is truncated."""
    with error:
        try:
            return error.read(_SHOWN_CHARS).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException):
            return ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: the secret is for the endpoint alone."""

    def redirect_request(self, *_: object) -> None:
        """Follow no redirect: it is raised as an HTTP error."""
