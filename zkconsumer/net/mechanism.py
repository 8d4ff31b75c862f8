"""The interface of a SASL mechanism, and how old brokers refuse its tokens. Pure."""

from typing import Protocol

from zkconsumer.errors import ConnectionLost


class ClosedOnCredentials(ConnectionLost):
    """An old broker closed the connection after our token: most likely it refused the token."""


class Mechanism(Protocol):
    """One SASL conversation with one broker."""

    @property
    def is_unanswered(self) -> bool:
        """Whether the broker sends no reply to our last token when it travels outside of a request.

        A request always has a response.
        """
        ...

    def first(self) -> bytes:
        """Return the first bytes to send.

        Raises:
            AuthenticationFailed: we have no credentials.
            TransportError: they can't be obtained now; a retry may help.
        """
        ...

    def response(self, challenge: bytes) -> bytes | None:
        """Return the next bytes to send; None when the conversation is complete.

        Raises:
            AuthenticationFailed: the broker can't be trusted, or violates the protocol.
            TransportError: a server needed for the response can't be reached now.
        """
        ...
