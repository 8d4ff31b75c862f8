"""Gives the rest of the package access to ZooKeeper: the store, and its values.

The one rule: requests are batched. Every call takes a batch, sends it pipelined, and is bounded in
time as a whole. Expected outcomes (no node, node exists) are values; failures of the whole call are
exceptions:

- ``RegistryError``: no response in time, connection broken, access denied, path refused. Writes in
  flight may or may not have happened.
- ``ReadDenied``, a ``RegistryError``: the server did respond, and the ACL of a node excludes us.
- ``SessionLost``: the session ended before or during the call. Its ephemeral nodes are gone.

Only this file knows in which order to send requests so that no change is missed. Paths are absolute
and below the chroot, which is unknown above this package.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from zkconsumer.errors import RegistryError
from zkconsumer.zk.paths import ancestors_of, is_path
from zkconsumer.zk.session import ResponseListener, SessionListener

T = TypeVar("T")


class ReadDenied(RegistryError):
    """The ACL of a node excludes us: a read without this node may succeed."""


class WatchEvent(StrEnum):
    """The event of a watch (a ``Watch`` gets it as text)."""

    CREATED = "CREATED"
    DELETED = "DELETED"
    CHANGED = "CHANGED"
    CHILD = "CHILD"


CLOSE_TIMEOUT_MS = 5000
"""How long closing waits for the server by default."""

Watch = Callable[[str, str], None]
"""Called once with the path and a ``WatchEvent``, on a thread of the client.

It may only put them into a mailbox. It is one-shot like ZooKeeper's, and is dropped silently when
the connection breaks: after CONNECTED everything must be read again. The same callable left twice
on a path is called once. So pass a long-lived one: new closures for every read would pile up.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZNodeStat:
    """The metadata of a node, without its data.

    ``ephemeral_owner`` is the id of the session that owns the node, 0 for a persistent one.
    ``child_changes`` counts how often a child came or went, and ``pzxid`` is the transaction in
    which one last did. Times are the server's, in milliseconds since the epoch.
    """

    version: int = 0
    ephemeral_owner: int
    czxid: int = 0
    mzxid: int = 0
    pzxid: int = 0
    child_changes: int = 0
    ctime_ms: int = 0
    mtime_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ZNode(ZNodeStat):
    """A node as read; null data (as Scala writes in parents) becomes empty bytes."""

    data: bytes


class OpError(StrEnum):
    """Why a write did not happen, if that is an expected outcome."""

    NODE_EXISTS = "node exists"
    NO_NODE = "no node"
    BAD_VERSION = "version differs"
    NOT_EMPTY = "node has children"
    PARENT_EPHEMERAL = "parent is ephemeral"
    ACCESS_DENIED = (
        "access denied by its ACL (getAcl in zkCli.sh shows it): set zookeeper.auth.scheme, "
        ".username and .password to a name that it allows"
    )
    ROLLED_BACK = "another operation of the transaction failed"


@dataclass(frozen=True, slots=True)
class CreateOp:
    """Create a node; ``data`` None writes null, as Scala does for parents (not in a multi)."""

    path: str
    data: bytes | None
    ephemeral: bool = False


@dataclass(frozen=True, slots=True)
class DeleteOp:
    """Delete a node if its data version is ``version`` (-1: any)."""

    path: str
    version: int = -1


@dataclass(frozen=True, slots=True)
class CheckOp:
    """Fail the transaction unless the node exists with data version ``version`` (-1: any)."""

    path: str
    version: int = -1


@dataclass(frozen=True, slots=True)
class SetOp:
    """Replace a node's data if its data version is ``version`` (-1: any)."""

    path: str
    data: bytes
    version: int = -1


Op = CreateOp | DeleteOp | CheckOp | SetOp


@dataclass(frozen=True, slots=True)
class MultiResult:
    """The outcome of a transaction: for each operation None, or why it (or another) failed.

    Either every entry is None and everything happened, or none is and nothing did. The operation
    that failed is the one that is not ``ROLLED_BACK``.
    """

    errors: tuple[OpError | None, ...]

    @property
    def ok(self) -> bool:
        """Whether everything happened."""
        return all(error is None for error in self.errors)


class ZkStore(ABC):
    """A ZooKeeper client in one session after another. Thread: any.

    No call may be made from a watch or a session listener.

    ``session_id`` arguments fence a write: it is refused with ``SessionLost`` unless that session
    is in force at the moment of sending. Without one, the session in force when the call starts
    is the fence, so no batch is ever spread over two sessions.

    A subclass sends batches of plain ZooKeeper calls, each batch pipelined, fenced and bounded:
    ``fence`` is the session that must be in force for each request to be sent.

    Attributes:
        negotiated_timeout_ms: the session time-out that the server granted (2 to 20 of its ticks).
        supports_multi: whether the server supports transactions (ZooKeeper 3.4 and later).
    """

    negotiated_timeout_ms: int
    supports_multi: bool

    @property
    @abstractmethod
    def session_id(self) -> int:
        """The session in force, or the last one until there is a new one."""

    @property
    @abstractmethod
    def connected(self) -> bool:
        """Whether the server responds, as far as known."""

    @abstractmethod
    def on_session(self, listener: SessionListener) -> None:
        """Notify ``listener`` of every session event from now on."""

    @abstractmethod
    def on_response_sent(self, listener: ResponseListener) -> None:
        """Notify ``listener`` of the last response now, and of later ones when they come.

        A store that can't lose its connection silently need never call it.
        """

    @abstractmethod
    def close(self, timeout_ms: int = CLOSE_TIMEOUT_MS) -> None:
        """End the session: its ephemeral nodes vanish at once. Idempotent.

        Args:
            timeout_ms: how long to wait for the server's response; after that closing goes on in
                the background.
        """

    @abstractmethod
    def _get(self, paths: Sequence[str], watch: Watch | None, fence: int) -> list[ZNode | None]:
        """Read nodes; a watch is left only on those that exist."""

    @abstractmethod
    def _children(
        self, paths: Sequence[str], watch: Watch | None, fence: int
    ) -> list[list[str] | None]:
        """Read names of children as listed; a watch is left only on nodes that exist."""

    @abstractmethod
    def _server_children(self, paths: Sequence[str], fence: int) -> list[list[str] | None]:
        """Read names of children of server paths, without the chroot."""

    @abstractmethod
    def _exists(
        self, paths: Sequence[str], watch: Watch | None, fence: int
    ) -> list[ZNodeStat | None]:
        """Read the stats of nodes; a watch is left on all paths."""

    @abstractmethod
    def _write(self, ops: Sequence[Op], fence: int) -> list[OpError | None]:
        """Execute each operation on its own, in this order."""

    @abstractmethod
    def _multi(self, batches: Sequence[Sequence[Op]], fence: int) -> list[MultiResult]:
        """Execute each batch as one transaction, in this order."""

    def get_many(self, paths: Sequence[str], *, watch: Watch | None = None) -> list[ZNode | None]:
        """Return the nodes at ``paths``, in that order; None for missing ones.

        The watch fires when the node is created, changed or deleted: missing nodes are watched,
        too.
        """
        return self._read(self._get, paths, watch)

    def children_many(
        self, paths: Sequence[str], *, watch: Watch | None = None, as_listed: bool = False
    ) -> list[list[str] | None]:
        """Return the names of each path's children, sorted as text; None if there is no node.

        With ``as_listed`` they are in the order of the server's list, that of a hash table of its
        JVM. Servers of an ensemble, and one server before and after a restart, may list them
        differently; between two reads of one server the order is the same as long as nothing comes
        or goes.

        The watch fires when a child comes or goes, and when the node itself does.
        """
        listed = self._read(self._children, paths, watch)
        if as_listed:
            return listed
        return [None if names is None else sorted(names) for names in listed]

    def server_children(self, paths: Sequence[str]) -> list[list[str] | None]:
        """Return the children of paths from the server's root, regardless of the chroot.

        Sorted as in ``children_many``, without watches; only for finding a chroot.
        """
        _check_paths(paths)
        return self._server_children(paths, self.session_id)

    def exists_many(
        self, paths: Sequence[str], *, watch: Watch | None = None
    ) -> list[ZNodeStat | None]:
        """Return the stat of each node, None for missing ones; watches as ``get_many``."""
        _check_paths(paths)
        return self._exists(paths, watch, self.session_id)

    def write_many(
        self, ops: Sequence[Op], *, session_id: int | None = None
    ) -> list[OpError | None]:
        """Execute each operation on its own, pipelined in this order; a ``CheckOp`` is refused."""
        _check_paths([op.path for op in ops])
        if any(isinstance(op, CheckOp) for op in ops):
            raise RegistryError("a version check makes sense only in a transaction")
        return self._write(ops, self._fence(session_id))

    def multi(self, ops: Sequence[Op], *, session_id: int | None = None) -> MultiResult:
        """Execute all of the operations or none."""
        return self.multi_many([ops], session_id=session_id)[0]

    def multi_many(
        self, batches: Sequence[Sequence[Op]], *, session_id: int | None = None
    ) -> list[MultiResult]:
        """Execute several transactions, pipelined in this order, each all or nothing on its own."""
        _check_paths([op.path for ops in batches for op in ops])
        if not self.supports_multi:
            raise RegistryError("this ZooKeeper does not support transactions (they came with 3.4)")
        return self._multi(batches, self._fence(session_id))

    def create(self, path: str, data: bytes, *, ephemeral: bool) -> bool:
        """Create a node, and missing parents; return False if it exists already."""
        fence = self.session_id
        op = CreateOp(path, data, ephemeral)
        error = self.write_many([op], session_id=fence)[0]
        if error is OpError.NO_NODE:
            self._create_all(ancestors_of(path), fence)
            error = self.write_many([op], session_id=fence)[0]
        if error is None or error is OpError.NODE_EXISTS:
            return error is None
        raise RegistryError(f"{path} could not be created: {error}")

    def ensure_paths(self, paths: Sequence[str]) -> None:
        """Create missing persistent nodes with null data, and missing parents."""
        fence = self.session_id
        found = self.exists_many(paths)
        missing = [path for path, stat in zip(paths, found, strict=True) if stat is None]
        wanted = dict.fromkeys(node for path in missing for node in [*ancestors_of(path), path])
        self._create_all(list(wanted), fence)

    def set_or_create_many(
        self, items: Mapping[str, bytes], *, session_id: int | None = None
    ) -> list[str | None]:
        """Overwrite persistent nodes, whatever they hold; create missing nodes and parents.

        Returns:
            For each item in its order None, or why it was not written.
        """
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
        """Delete the nodes; a missing one is fine.

        Raises:
            RegistryError: names the first node that could not be deleted.
        """
        outcome = self._write_all([DeleteOp(path) for path in paths], self.session_id)
        for path, error in outcome.items():
            if error is not None and error is not OpError.NO_NODE:
                raise RegistryError(f"{path} could not be deleted: {error}")

    def _fence(self, session_id: int | None) -> int:
        return self.session_id if session_id is None else session_id

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
        fence = self.session_id
        found = read(paths, watch, fence)
        missing = [at for at, node in enumerate(found) if node is None]
        if watch is None or not missing:
            return found
        stats = self._exists([paths[at] for at in missing], watch, fence)
        appeared = [at for at, stat in zip(missing, stats, strict=True) if stat is not None]
        if appeared:
            again = read([paths[at] for at in appeared], watch, fence)
            for at, node in zip(appeared, again, strict=True):
                found[at] = node
        return found


def _check_paths(paths: Sequence[str]) -> None:
    for path in paths:
        if not is_path(path):
            raise RegistryError(f"{path!r} is not a path that ZooKeeper accepts")
