"""Fetches OAuth 2 tokens with the client-credentials grant when they are needed (KIP-768).

Source: Kafka 3.9 ``HttpAccessTokenRetriever``, RFC 6749 section 4.4.
"""

import json
import logging
import ssl
from typing import Final
from urllib.parse import urlencode, urlsplit

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import AuthenticationFailed, ConnectFailed
from zkconsumer.forking import ForkedLock
from zkconsumer.net.client_credentials import ClientCredentials, basic_auth
from zkconsumer.net.http_request import (
    http_request,
    proxy_of_environment,
    quoted,
)

log = logging.getLogger(__name__)

_MOST_BYTES: Final = 256 << 10
_USED_FOR: Final = 0.8
"""The share of a token's lifetime after which another one is fetched."""
_REFUSALS: Final = frozenset({400, 401, 403})


class FetchedTokens:
    """Fetches tokens from an endpoint, and caches them. Thread: any.

    Args:
        credentials: the client id, its secret and the endpoint.
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
        """Return a token that does not expire soon.

        Raises:
            AuthenticationFailed: the endpoint refuses our credentials, or returns no token.
            ConnectFailed: the endpoint does not respond; a retry may succeed.
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
        where, url = credentials.endpoint_url, urlsplit(credentials.endpoint_url)
        try:
            status, data = http_request(
                url,
                headers={
                    "Authorization": basic_auth(
                        f"{credentials.client_id}:{credentials.client_secret}"
                    ),
                    "Accept": "application/json",
                    "Content-Type": "application/x-www-form-urlencoded",
                    "Connection": "close",
                },
                body=urlencode(form).encode(),
                timeout_ms=self._timeout_ms,
                max_bytes=_MOST_BYTES,
                ssl_context=self._context,
                proxy=proxy_of_environment(url),
            )
        except ConnectFailed as error:
            raise ConnectFailed(f"no token: {where}: {error}") from error
        except ValueError as error:
            raise AuthenticationFailed(f"{where}: {error}") from error
        if 200 <= status < 300:
            return data
        reason = f"{where} responded with {status}: {quoted(data, credentials.client_secret)}"
        if status in _REFUSALS:
            raise AuthenticationFailed(f"no token for {credentials.client_id}: {reason}")
        raise ConnectFailed(f"no token: {reason}")

    def _read(self, data: bytes) -> tuple[str, float]:
        where = self._credentials.endpoint_url
        try:
            response = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise AuthenticationFailed(f"{where}: its response is not JSON") from error
        token = response.get("access_token") if isinstance(response, dict) else None
        if not isinstance(token, str) or not token:
            raise AuthenticationFailed(f"{where}: its response has no access_token")
        lifetime_s = response.get("expires_in", 0)
        if isinstance(lifetime_s, bool) or not isinstance(lifetime_s, int | float):
            lifetime_s = 0
        return token, min(max(0.0, float(lifetime_s)), 86_400.0)
