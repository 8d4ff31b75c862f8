"""The SASL mechanisms: which token to send after which token received. Pure.

Source: RFC 4616 (PLAIN), RFC 5802 (SCRAM), RFC 7628 (OAUTHBEARER).
"""

from typing import TYPE_CHECKING

from zkconsumer.errors import AuthenticationFailed
from zkconsumer.net.mechanism import Mechanism
from zkconsumer.net.security import GSSAPI, OAUTHBEARER, SecuritySettings
from zkconsumer.printable import printable

if TYPE_CHECKING:
    from zkconsumer.net.scram import ScramConversation


class Plain:
    """PLAIN: sends user name and password in the clear, for encrypted connections."""

    is_unanswered = False

    def __init__(self, username: str, password: str) -> None:
        self._token = f"\0{username}\0{password}".encode()

    def first(self) -> bytes:
        """See ``Mechanism``."""
        return self._token

    def response(self, challenge: bytes) -> None:  # noqa: ARG002 - an acceptance has no content
        """See ``Mechanism``."""
        return


class Scram:
    """SCRAM: sends a proof instead of the password (see ``scram``)."""

    is_unanswered = False

    def __init__(self, conversation: "ScramConversation") -> None:
        self._conversation = conversation
        self._proved = False

    def first(self) -> bytes:
        """See ``Mechanism``."""
        return self._conversation.first()

    def response(self, challenge: bytes) -> bytes | None:
        """See ``Mechanism``."""
        if not self._proved:
            self._proved = True
            return self._conversation.proof(challenge)
        self._conversation.check(challenge)
        return None


class OAuthBearer:
    """OAUTHBEARER: sends a token from a token source.

    Args:
        token: the token to send.

    Raises:
        AuthenticationFailed: the token has characters that can't be sent.
    """

    is_unanswered = False

    def __init__(self, token: str) -> None:
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise AuthenticationFailed("the token provider did not return a valid token")
        self._token = token

    def first(self) -> bytes:
        """See ``Mechanism``."""
        return f"n,,\1auth=Bearer {self._token}\1\1".encode()

    def response(self, challenge: bytes) -> None:
        """See ``Mechanism``; a broker that accepts the token sends an empty challenge."""
        if challenge:
            reported = printable(challenge[:_SHOWN_BYTES].decode("utf-8", "replace"))
            raise AuthenticationFailed(f"the broker rejected the token: {reported}")


_SHOWN_BYTES = 200


def mechanism_of(security: SecuritySettings, *, host: str, nonce: str) -> Mechanism:
    """Return a new conversation of the mechanism in the settings.

    Args:
        security: the settings, with a SASL mechanism and its credentials.
        host: the host that is connected to.
        nonce: printable, without commas, never used before.

    Raises:
        AuthenticationFailed: no token can be obtained.
        TransportError: no token can be obtained now; a retry may help.
    """
    if security.sasl_mechanism == GSSAPI:
        assert security.kerberos is not None
        return security.kerberos(host)
    if security.sasl_mechanism == OAUTHBEARER:
        assert security.token_source is not None
        return OAuthBearer(security.token_source())
    name, username, password = (
        security.sasl_mechanism,
        security.sasl_username,
        security.sasl_password,
    )
    assert name is not None
    assert username is not None
    assert password is not None
    if name == "PLAIN":
        return Plain(username, password)
    from zkconsumer.net.scram import ScramConversation  # noqa: PLC0415 - few need it

    return Scram(ScramConversation(name, username, password, nonce=nonce))
