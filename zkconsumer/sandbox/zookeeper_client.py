"""A plain ZooKeeper client for the sandbox itself: one socket, one request at a time.

It is independent of the client under test, so that the sandbox can be relied on, and it can join a
*given* session, which is how a session is made to expire. It uses only requests that every server
since 3.3 supports.
"""

import contextlib
import socket
import struct
from typing import NamedTuple, Self

from zkconsumer.errors import SandboxError

_NO_NODE = -101
_NODE_EXISTS = -110
_CREATE, _DELETE, _GET_DATA, _SET_DATA, _GET_CHILDREN, _CLOSE = 1, 2, 4, 5, 8, -11
_ANYONE_MAY_ALL = struct.pack(">ii", 1, 31)
_MAX_REPLY_BYTES = 1 << 26


class Node(NamedTuple):
    """The data of a node, and the session that owns it (0: none)."""

    data: bytes
    ephemeral_owner: int


class ZooKeeperClient:
    """A connected session; use it as a context manager. Paths are absolute, no chroot applies.

    Args:
        port: the server's port on ``host``.
        session: the id and the password of a session to join; None opens a new one.
        timeout_ms: the time-out of the session, and of each response.

    Raises:
        SandboxError: no server responds, or the session to join has expired.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        session: tuple[int, bytes] | None = None,
        timeout_ms: int = 10_000,
    ) -> None:
        self._where = f"ZooKeeper at {host}:{port}"
        self._xid = 0
        try:
            self._socket = socket.create_connection((host, port), timeout_ms / 1000)
        except OSError as error:
            raise SandboxError(f"{self._where} can't be reached: {error}") from error
        try:
            self.session_id = self._handshake(session or (0, bytes(16)), timeout_ms)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the session, for all of its connections, and the connection."""
        with contextlib.suppress(SandboxError):  # without the server the session ends by itself
            self._request(_CLOSE, b"")
        self._socket.close()

    def create(self, path: str, data: bytes = b"") -> bool:
        """Create a persistent node; return False if it exists, or has no parent."""
        body = _text(path) + _buffer(data) + _ANYONE_MAY_ALL + _text("world") + _text("anyone")
        return self._request(_CREATE, body + struct.pack(">i", 0)) is not None

    def ensure(self, path: str) -> None:
        """Create a node and its missing parents."""
        parts = path.strip("/").split("/")
        for depth in range(len(parts)):
            self.create("/" + "/".join(parts[: depth + 1]))

    def get(self, path: str) -> Node | None:
        """Return a node; None if there is none."""
        reply = self._request(_GET_DATA, _text(path) + b"\0")
        if reply is None:
            return None
        data, at = _read_buffer(reply, 0)
        # The stat starts with four 8-byte and three 4-byte fields.
        (owner,) = struct.unpack_from(">q", reply, at + 44)
        return Node(data, owner)

    def set(self, path: str, data: bytes) -> bool:
        """Change a node's data; return False if there is no node."""
        body = _text(path) + _buffer(data) + struct.pack(">i", -1)
        return self._request(_SET_DATA, body) is not None

    def delete(self, path: str) -> bool:
        """Delete a node; return False if there is none."""
        return self._request(_DELETE, _text(path) + struct.pack(">i", -1)) is not None

    def children(self, path: str, *, as_listed: bool = False) -> list[str]:
        """Return the names of a node's children, sorted or as listed; empty if there is no node."""
        reply = self._request(_GET_CHILDREN, _text(path) + b"\0")
        if reply is None:
            return []
        (count,) = struct.unpack_from(">i", reply)
        names, at = [], 4
        for _ in range(count):
            name, at = _read_buffer(reply, at)
            names.append(name.decode())
        return names if as_listed else sorted(names)

    def _handshake(self, session: tuple[int, bytes], timeout_ms: int) -> int:
        session_id, password = session
        # protocol version, last transaction seen, time-out, session id, password
        hello = struct.pack(">iqiq", 0, 0, timeout_ms, session_id) + _buffer(password)
        self._send(hello)
        reply = self._receive()
        try:
            _, granted_ms, granted_id = struct.unpack_from(">iiq", reply)
        except struct.error as error:
            raise SandboxError(f"{self._where} does not speak its protocol") from error
        if granted_ms <= 0:
            raise SandboxError(
                f"{self._where}: session 0x{session_id:x} has expired, or the password is wrong"
            )
        return int(granted_id)

    def _request(self, operation: int, body: bytes) -> bytes | None:
        """Return the body of a response; None for a missing or an existing node."""
        self._xid += 1
        self._send(struct.pack(">ii", self._xid, operation) + body)
        reply = self._receive()
        try:
            xid, _, code = struct.unpack_from(">iqi", reply)
        except struct.error as error:
            raise SandboxError(f"{self._where} sent a truncated response") from error
        if xid != self._xid:
            raise SandboxError(f"{self._where} responded to request {xid} instead of {self._xid}")
        if code in (_NO_NODE, _NODE_EXISTS):
            return None
        if code != 0:
            raise SandboxError(f"{self._where} responded with error {code}")
        return reply[16:]

    def _send(self, frame: bytes) -> None:
        try:
            self._socket.sendall(_buffer(frame))
        except OSError as error:
            raise SandboxError(f"{self._where} closed the connection: {error}") from error

    def _receive(self) -> bytes:
        (size,) = struct.unpack(">i", self._receive_exactly(4))
        if not 0 <= size <= _MAX_REPLY_BYTES:
            raise SandboxError(f"{self._where} sent a response of {size} bytes")
        return self._receive_exactly(size)

    def _receive_exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                chunk = self._socket.recv(size - len(data))
            except OSError as error:
                raise SandboxError(f"{self._where} did not respond: {error}") from error
            if not chunk:
                raise SandboxError(f"{self._where} closed the connection")
            data += chunk
        return bytes(data)


def _buffer(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def _text(text: str) -> bytes:
    return _buffer(text.encode())


def _read_buffer(reply: bytes, at: int) -> tuple[bytes, int]:
    """Return a length-prefixed field and the position after it; a length of -1 means none."""
    (size,) = struct.unpack_from(">i", reply, at)
    end = at + 4 + max(0, size)
    return reply[at + 4 : end], end
