"""What every mechanism of SASL does. Pure."""

from typing import Protocol


class Mechanism(Protocol):
    """One conversation with one broker."""

    @property
    def is_unanswered(self) -> bool:
        """Whether the broker has nothing to say to the last bytes, where they travel bare.

        In requests it always answers.
        """
        ...

    def first(self) -> bytes:
        """Return what to send first.

        Raises:
            AuthenticationFailed: we can't say who we are.
            TransportError: not now.
        """
        ...

    def response(self, challenge: bytes) -> bytes | None:
        """Return what to send next; None when all is said.

        Raises:
            AuthenticationFailed: the broker is not to be trusted, or breaks the rules.
            TransportError: what has to be asked for it can't be reached now.
        """
        ...
