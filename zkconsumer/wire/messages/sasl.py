"""SaslHandshake and SaslAuthenticate: authentication (from 0.10 and 1.0 on).

After a handshake of version 0 the tokens of the mechanism follow without headers, each after a
length of four bytes; after one of version 1 they travel in SaslAuthenticate requests (KIP-152),
from whose version 1 on the last response has the lifetime of the session (KIP-368). 0.9 brokers
support GSSAPI alone, without a handshake. Source: Kafka 0.10.2.2, 3.9 ``SaslHandshakeRequest``.
"""

from typing import Annotated

from zkconsumer.wire.api import APIS, ApiKey, Request, Response
from zkconsumer.wire.schema import Bytes, Int16, Int64, NullableString, Since, String


class SaslHandshakeResponse(Response, api=APIS[ApiKey.SASL_HANDSHAKE]):
    """The broker's mechanisms; ``UNSUPPORTED_SASL_MECHANISM`` if it lacks the requested one."""

    error_code: Int16
    mechanisms: tuple[String, ...]


class SaslHandshakeRequest(Request[SaslHandshakeResponse]):
    """Names the mechanism, such as ``SCRAM-SHA-256``."""

    mechanism: String


class SaslAuthenticateResponse(Response, api=APIS[ApiKey.SASL_AUTHENTICATE]):
    """The server's next token; a lifetime of 0 ms means that the session does not expire."""

    error_code: Int16
    error_message: NullableString
    auth_bytes: Bytes
    session_lifetime_ms: Annotated[Int64, Since(1)] = 0


class SaslAuthenticateRequest(Request[SaslAuthenticateResponse]):
    """The client's next token, which ``repr`` hides, since it may contain a password."""

    auth_bytes: Bytes

    def __repr__(self) -> str:
        return f"SaslAuthenticateRequest(auth_bytes=<{len(self.auth_bytes)} bytes>)"
