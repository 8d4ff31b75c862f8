"""SCRAM: proves knowledge of a password without sending it, and makes the broker prove it, too.

Four messages: our name and a nonce; the broker's nonce, a salt and a count; our proof; the broker's
proof. Pure: the nonce is passed in.
Source: RFC 5802, RFC 7677; Kafka 3.9 ``ScramSaslClient``, ``ScramFormatter`` (which takes names and
passwords as UTF-8 as they are, without SASLprep).
"""

import base64
import binascii
import hashlib
import hmac
from typing import Final

from zkconsumer.digits import is_decimal
from zkconsumer.errors import AuthenticationFailed

HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""The hash function of each mechanism."""

MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 1_000_000
"""More would take seconds of CPU; no broker stores such passwords (Kafka's limit: 16384)."""

_GS2_HEADER = "n,,"
_CHANNEL_BINDING = base64.b64encode(_GS2_HEADER.encode()).decode()


class ScramConversation:
    """One SCRAM conversation; call each step once, in this order: ``first``, ``proof``, ``check``.

    Args:
        mechanism: one of ``HASHES``.
        username: our user name.
        password: our password, which is never sent.
        nonce: printable, without commas, never used before.
    """

    def __init__(self, mechanism: str, username: str, password: str, *, nonce: str) -> None:
        self._hash = HASHES[mechanism]
        self._password = password.encode()
        self._nonce = nonce
        name = username.replace("=", "=3D").replace(",", "=2C")
        self._first_bare = f"n={name},r={nonce}"
        self._server_signature = b""

    def first(self) -> bytes:
        """Return the client-first message."""
        return (_GS2_HEADER + self._first_bare).encode()

    def proof(self, server_first: bytes) -> bytes:
        """Return the client-final message for the server-first message.

        Raises:
            AuthenticationFailed: the broker's message violates the protocol.
        """
        fields = _fields(server_first)
        nonce = _required(fields, "r")
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise AuthenticationFailed("SCRAM: the broker's nonce does not extend the client's")
        salt = _decoded(_required(fields, "s"))
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, salt, _iterations(fields))
        client_key = self._hmac(salted, b"Client Key")
        without_proof = f"c={_CHANNEL_BINDING},r={nonce}"
        signed = b",".join((self._first_bare.encode(), server_first, without_proof.encode()))
        signature = self._hmac(hashlib.new(self._hash, client_key).digest(), signed)
        proof = bytes(ours ^ theirs for ours, theirs in zip(client_key, signature, strict=True))
        self._server_signature = self._hmac(self._hmac(salted, b"Server Key"), signed)
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def check(self, server_final: bytes) -> None:
        """Verify the server-final message.

        Raises:
            AuthenticationFailed: the broker refuses us, or can't prove that it knows our password.
        """
        fields = _fields(server_final)
        if "e" in fields:
            raise AuthenticationFailed(f"SCRAM: the broker refuses: {fields['e']}")
        if not hmac.compare_digest(_decoded(_required(fields, "v")), self._server_signature):
            raise AuthenticationFailed(
                "SCRAM: the broker can't prove that it knows the password: it is not the one that "
                "it claims to be"
            )

    def _hmac(self, key: bytes, data: bytes) -> bytes:
        return hmac.digest(key, data, self._hash)


def _fields(message: bytes) -> dict[str, str]:
    """Return the attributes of a message by their letters."""
    try:
        text = message.decode()
    except UnicodeDecodeError:
        raise AuthenticationFailed("SCRAM: the broker's message is not UTF-8") from None
    fields: dict[str, str] = {}
    for part in text.split(","):
        letter, equals, value = part.partition("=")
        if not equals or len(letter) != 1:
            raise AuthenticationFailed("SCRAM: the broker's message is malformed")
        fields.setdefault(letter, value)
    if "m" in fields:
        raise AuthenticationFailed("SCRAM: the broker requires an unknown extension")
    return fields


def _required(fields: dict[str, str], letter: str) -> str:
    value = fields.get(letter)
    if not value:
        raise AuthenticationFailed(f"SCRAM: the broker's message lacks {letter!r}")
    return value


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise AuthenticationFailed("SCRAM: the broker's message is malformed") from None


def _iterations(fields: dict[str, str]) -> int:
    text = _required(fields, "i")
    count = int(text) if is_decimal(text, 9) else 0
    if not MIN_ITERATIONS <= count <= MAX_ITERATIONS:
        raise AuthenticationFailed(
            f"SCRAM: the broker requires {text} iterations, only {MIN_ITERATIONS} to "
            f"{MAX_ITERATIONS} are safe"
        )
    return count
