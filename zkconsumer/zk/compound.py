"""A complete ``ZkStore`` made of a client's plain calls: parents, set or create, full watches.

Only this file knows the order of requests in which no change is missed in between.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from zkconsumer.errors import RegistryError
from zkconsumer.zk.paths import ancestors_of, is_path
from zkconsumer.zk.raw_client import RawClient
from zkconsumer.zk.session import ResponseListener, SessionListener
from zkconsumer.zk.store import (
    CLOSE_TIMEOUT_MS,
    CheckOp,
    CreateOp,
    DeleteOp,
    MultiResult,
    Op,
    OpError,
    SetOp,
    Watch,
    ZNode,
    ZNodeStat,
)

T = TypeVar("T")


class CompoundStore:
    """A ``ZkStore`` over a ``RawClient``; see the protocols for the contract of each call."""

    def __init__(self, client: RawClient) -> None:
        self._client = client

    @property
    def session_id(self) -> int:
        """See ``ZkStore``."""
        return self._client.session_id

    @property
    def negotiated_timeout_ms(self) -> int:
        """See ``ZkStore``."""
        return self._client.negotiated_timeout_ms

    @property
    def connected(self) -> bool:
        """See ``ZkStore``."""
        return self._client.connected

    @property
    def supports_multi(self) -> bool:
        """See ``ZkStore``."""
        return self._client.supports_multi

    def on_session(self, listener: SessionListener) -> None:
        """See ``ZkStore``."""
        self._client.on_session(listener)

    def on_response_sent(self, listener: ResponseListener) -> None:
        """See ``ZkStore``."""
        self._client.on_response_sent(listener)

    def close(self, timeout_ms: int = CLOSE_TIMEOUT_MS) -> None:
        """See ``ZkStore``."""
        self._client.close(timeout_ms)

    def get_many(self, paths: Sequence[str], *, watch: Watch | None = None) -> list[ZNode | None]:
        """See ``ZkStore``."""
        return self._read(self._client.get, paths, watch)

    def children_many(
        self, paths: Sequence[str], *, watch: Watch | None = None, as_listed: bool = False
    ) -> list[list[str] | None]:
        """See ``ZkStore``."""
        listed = self._read(self._client.children, paths, watch)
        if as_listed:
            return listed
        return [None if names is None else sorted(names) for names in listed]

    def server_children(self, paths: Sequence[str]) -> list[list[str] | None]:
        """See ``ZkStore``."""
        _check_paths(paths)
        return self._client.server_children(paths, self._client.session_id)

    def exists_many(
        self, paths: Sequence[str], *, watch: Watch | None = None
    ) -> list[ZNodeStat | None]:
        """See ``ZkStore``."""
        _check_paths(paths)
        return self._client.exists(paths, watch, self._client.session_id)

    def write_many(
        self, ops: Sequence[Op], *, session_id: int | None = None
    ) -> list[OpError | None]:
        """See ``ZkStore``."""
        _check_paths([op.path for op in ops])
        if any(isinstance(op, CheckOp) for op in ops):
            raise RegistryError("a version check makes sense only in a transaction")
        return self._client.write(ops, self._fence(session_id))

    def multi(self, ops: Sequence[Op], *, session_id: int | None = None) -> MultiResult:
        """See ``ZkStore``."""
        return self.multi_many([ops], session_id=session_id)[0]

    def multi_many(
        self, batches: Sequence[Sequence[Op]], *, session_id: int | None = None
    ) -> list[MultiResult]:
        """See ``ZkStore``."""
        _check_paths([op.path for ops in batches for op in ops])
        if not self.supports_multi:
            raise RegistryError("this ZooKeeper knows no transactions (they came with 3.4)")
        return self._client.multi(batches, self._fence(session_id))

    def create(self, path: str, data: bytes, *, ephemeral: bool) -> bool:
        """See ``ZkStore``."""
        fence = self._client.session_id
        op = CreateOp(path, data, ephemeral)
        error = self.write_many([op], session_id=fence)[0]
        if error is OpError.NO_NODE:
            self._create_all(ancestors_of(path), fence)
            error = self.write_many([op], session_id=fence)[0]
        if error is None or error is OpError.NODE_EXISTS:
            return error is None
        raise RegistryError(f"{path} could not be created: {error}")

    def ensure_paths(self, paths: Sequence[str]) -> None:
        """See ``ZkStore``."""
        fence = self._client.session_id
        found = self.exists_many(paths)
        missing = [path for path, stat in zip(paths, found, strict=True) if stat is None]
        wanted = dict.fromkeys(node for path in missing for node in [*ancestors_of(path), path])
        self._create_all(list(wanted), fence)

    def set_or_create_many(
        self, items: Mapping[str, bytes], *, session_id: int | None = None
    ) -> list[str | None]:
        """See ``ZkStore``."""
        fence = self._fence(session_id)
        outcome = self._write_all([SetOp(*item) for item in items.items()], fence)
        missing = [path for path, error in outcome.items() if error is OpError.NO_NODE]
        if missing:
            parents = dict.fromkeys(ancestor for path in missing for ancestor in ancestors_of(path))
            self._create_all(list(parents), fence)
            outcome |= self._write_all([CreateOp(path, items[path]) for path in missing], fence)
            # Created by another client meanwhile: our write still wins, as Scala's does.
            raced = [path for path in missing if outcome[path] is OpError.NODE_EXISTS]
            outcome |= self._write_all([SetOp(path, items[path]) for path in raced], fence)
        return [None if error is None else error.value for error in outcome.values()]

    def delete_many(self, paths: Sequence[str]) -> None:
        """See ``ZkStore``."""
        outcome = self._write_all([DeleteOp(path) for path in paths], self._client.session_id)
        for path, error in outcome.items():
            if error is not None and error is not OpError.NO_NODE:
                raise RegistryError(f"{path} could not be deleted: {error}")

    def _fence(self, session_id: int | None) -> int:
        return self._client.session_id if session_id is None else session_id

    def _write_all(self, ops: Sequence[Op], fence: int) -> dict[str, OpError | None]:
        if not ops:
            return {}
        errors = self.write_many(ops, session_id=fence)
        return {op.path: error for op, error in zip(ops, errors, strict=True)}

    def _create_all(self, paths: Sequence[str], fence: int) -> None:
        # A server runs one client's requests in order, so parents and children share a pipeline.
        for path, error in self._write_all([CreateOp(path, None) for path in paths], fence).items():
            if error is not None and error is not OpError.NODE_EXISTS:
                raise RegistryError(f"{path} could not be created: {error}")

    def _read(
        self,
        read: Callable[[Sequence[str], Watch | None, int], list[T | None]],
        paths: Sequence[str],
        watch: Watch | None,
    ) -> list[T | None]:
        """Read nodes so that a watch is left on every path, including missing nodes.

        A read leaves no watch on a missing node, but an exists request does. A node that was
        created between the two is read again, with its watch.
        """
        _check_paths(paths)
        fence = self._client.session_id
        found = read(paths, watch, fence)
        missing = [at for at, node in enumerate(found) if node is None]
        if watch is None or not missing:
            return found
        stats = self._client.exists([paths[at] for at in missing], watch, fence)
        appeared = [at for at, stat in zip(missing, stats, strict=True) if stat is not None]
        if appeared:
            again = read([paths[at] for at in appeared], watch, fence)
            for at, node in zip(appeared, again, strict=True):
                found[at] = node
        return found


def _check_paths(paths: Sequence[str]) -> None:
    for path in paths:
        if not is_path(path):
            raise RegistryError(f"{path!r} is not a path that ZooKeeper takes")
