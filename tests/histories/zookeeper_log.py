"""Reads every write to a ZooKeeper from its transaction log.

A watch can miss a short-lived value; the server's own log can't: it has every write that was
acknowledged to a client. The files are those of ZooKeeper 3.4 to 3.8.

Source: ZooKeeper 3.4.6 ``FileTxnLog``, ``TxnHeader``, ``zookeeper.jute``.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"ZKLG"
_FILE_HEADER_BYTES = 16
_CREATE, _DELETE, _SET, _MULTI, _CREATE2, _ERROR, _CLOSE_SESSION = 1, 2, 5, 14, 15, -1, -11


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A create, change or delete of one node.

    Attributes:
        zxid: the transaction's number; several writes may share it.
        time_ms: when the server received the request, since the epoch.
        session: the session that wrote, or whose end deleted the node.
        path: the node's path.
        data: the new data; None if the node was deleted.
        ephemeral: whether the node was created as ephemeral.
        by_session_end: whether it was deleted by its session's end.
    """

    zxid: int
    time_ms: int
    session: int
    path: str
    data: bytes | None
    ephemeral: bool = False
    by_session_end: bool = False


def read_history(data_dir: Path) -> list[Write]:
    """Return all writes in the order in which they took effect.

    Args:
        data_dir: the server's ``dataDir``; no log may have been purged.
    """
    files = sorted(data_dir.glob("version-2/log.*"), key=lambda path: int(path.suffix[1:], 16))
    writes: list[Write] = []
    ephemerals: dict[int, dict[str, None]] = {}
    owners: dict[str, int] = {}
    for file in files:
        for transaction in _transactions(file.read_bytes()):
            for write in _writes(transaction, ephemerals):
                writes.append(write)
                _keep_track(write, ephemerals, owners)
    return writes


@dataclass(frozen=True, slots=True)
class _Transaction:
    session: int
    zxid: int
    time_ms: int
    kind: int
    body: bytes


def _transactions(data: bytes) -> Iterator[_Transaction]:
    """Yield the complete transactions of one file, which ends with zeros or is truncated."""
    assert data[:4] in (_MAGIC, b""), "not a transaction log of ZooKeeper"
    at = _FILE_HEADER_BYTES
    while at + 12 <= len(data):
        (size,) = struct.unpack_from(">i", data, at + 8)
        entry = data[at + 12 : at + 12 + size]
        if size <= 0 or len(entry) < size:
            return
        session, _, zxid, time_ms, kind = struct.unpack_from(">qiqqi", entry)
        yield _Transaction(session, zxid, time_ms, kind, entry[32:])
        at += 12 + size + 1  # one byte after the entry marks it as complete


def _writes(transaction: _Transaction, ephemerals: dict[int, dict[str, None]]) -> list[Write]:
    if transaction.kind == _CLOSE_SESSION:
        gone = ephemerals.get(transaction.session, {})
        return [_write(transaction, path, None, by_session_end=True) for path in gone]
    operations = [(transaction.kind, transaction.body)]
    if transaction.kind == _MULTI:
        operations = list(_parts(transaction.body))
        if any(kind == _ERROR for kind, _ in operations):
            return []  # all or nothing
    writes = (_write_of(transaction, kind, body) for kind, body in operations)
    return [write for write in writes if write is not None]


def _parts(body: bytes) -> Iterator[tuple[int, bytes]]:
    (count,) = struct.unpack_from(">i", body)
    at = 4
    for _ in range(count):
        (kind,) = struct.unpack_from(">i", body, at)
        data, at = _buffer(body, at + 4)
        yield kind, data


def _write_of(transaction: _Transaction, kind: int, body: bytes) -> Write | None:
    if kind not in (_CREATE, _CREATE2, _DELETE, _SET):
        return None
    path, at = _buffer(body, 0)
    if kind == _DELETE:
        return _write(transaction, path.decode(), None)
    data, at = _buffer(body, at)
    ephemeral = kind != _SET and _is_ephemeral(body, at)
    return _write(transaction, path.decode(), data, ephemeral=ephemeral)


def _is_ephemeral(body: bytes, at: int) -> bool:
    """Skip the access control list, and return the flag after it."""
    (count,) = struct.unpack_from(">i", body, at)
    at += 4
    for _ in range(count):
        _, at = _buffer(body, at + 4)
        _, at = _buffer(body, at)
    return body[at] == 1


def _write(
    transaction: _Transaction,
    path: str,
    data: bytes | None,
    *,
    ephemeral: bool = False,
    by_session_end: bool = False,
) -> Write:
    return Write(
        zxid=transaction.zxid,
        time_ms=transaction.time_ms,
        session=transaction.session,
        path=path,
        data=data,
        ephemeral=ephemeral,
        by_session_end=by_session_end,
    )


def _keep_track(
    write: Write, ephemerals: dict[int, dict[str, None]], owners: dict[str, int]
) -> None:
    if write.ephemeral:
        ephemerals.setdefault(write.session, {})[write.path] = None
        owners[write.path] = write.session
    elif write.data is None and write.path in owners:
        ephemerals[owners.pop(write.path)].pop(write.path, None)


def _buffer(data: bytes, at: int) -> tuple[bytes, int]:
    (size,) = struct.unpack_from(">i", data, at)
    end = at + 4 + max(0, size)
    return data[at + 4 : end], end
