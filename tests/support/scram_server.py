"""The broker's side of SCRAM, written from RFC 5802 independently of the client."""

import base64
import hashlib
import hmac


class ScramServer:
    """One authentication of a user whose password is known.

    Args:
        hash_name: the hash's name in ``hashlib``.
        username: the only known user.
        password: the user's password.
        nonce: the server's part of the nonce.
        iterations: the iteration count stored with the user.
    """

    def __init__(
        self,
        hash_name: str,
        username: str,
        password: str,
        *,
        nonce: str = "server-nonce",
        iterations: int = 4096,
    ) -> None:
        self._hash = hash_name
        self._username = username
        self._salt = b"some-salt"
        self._salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), self._salt, iterations)
        self._nonce = nonce
        self._iterations = iterations
        self._client_first = ""
        self._server_first = ""

    def challenge(self, client_first: bytes) -> bytes:
        """Return the response to the client's first message."""
        text = client_first.decode()
        assert text.startswith("n,,n=")
        self._client_first = text[3:]
        name, nonce = self._client_first[2:].split(",r=")
        assert name.replace("=2C", ",").replace("=3D", "=") == self._username
        salt = base64.b64encode(self._salt).decode()
        self._server_first = f"r={nonce}{self._nonce},s={salt},i={self._iterations}"
        return self._server_first.encode()

    def outcome(self, client_final: bytes) -> bytes:
        """Return the response to the client's proof."""
        without_proof, _, proof = client_final.decode().partition(",p=")
        assert without_proof.startswith("c=biws,r=")
        signed = f"{self._client_first},{self._server_first},{without_proof}".encode()
        client_key = self._digest(self._salted, b"Client Key")
        stored_key = hashlib.new(self._hash, client_key).digest()
        signature = self._digest(stored_key, signed)
        given = base64.b64decode(proof)
        claimed = bytes(a ^ b for a, b in zip(given, signature, strict=True))
        if hashlib.new(self._hash, claimed).digest() != stored_key:
            return b"e=invalid-proof"
        server_key = self._digest(self._salted, b"Server Key")
        return b"v=" + base64.b64encode(self._digest(server_key, signed))

    def _digest(self, key: bytes, data: bytes) -> bytes:
        return hmac.new(key, data, self._hash).digest()
