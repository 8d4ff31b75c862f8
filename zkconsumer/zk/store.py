"""The interface of ZooKeeper for the rest of the package: a protocol, and its values.

The one rule: requests are batched. Every call takes a batch, sends it pipelined, and is bounded in
time as a whole. Expected outcomes (no node, node exists) are values; what makes the whole call
pointless is an exception:

- ``RegistryError``: no response in time, connection broken, access denied, path refused. Writes in
  flight may or may not have happened.
- ``SessionLost``: the session ended before or during the call. Its ephemeral nodes are gone.

Paths are absolute and below the chroot, which is unknown above this package.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from zkconsumer.zk.session import ResponseListener, SessionListener


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

It must only put into a mailbox. It is one-shot like ZooKeeper's, and is dropped silently when the
connection breaks: after CONNECTED everything must be read again. The same callable left twice on a
path is called once. So pass one that lives long: a new closure for every read piles up.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZNodeStat:
    """The metadata of a node, without its data.

    ``ephemeral_owner`` is the id of the session that owns the node, 0 for a persistent one.
    ``child_changes`` counts how often a child came or went, and ``pzxid`` is the transaction in
    which one last did. Times are the server's, in milliseconds since the epoch.
    """

    version: int
    ephemeral_owner: int
    czxid: int
    mzxid: int
    pzxid: int
    child_changes: int
    ctime_ms: int
    mtime_ms: int


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


class ZkClient(Protocol):
    """What is known of a ZooKeeper client's session. Thread: any."""

    @property
    def session_id(self) -> int:
        """The session in force, or the last one until there is a new one."""
        ...

    @property
    def negotiated_timeout_ms(self) -> int:
        """The session time-out that the server granted (2 to 20 of its ticks)."""
        ...

    @property
    def connected(self) -> bool:
        """Whether the server responds, as far as known."""
        ...

    @property
    def supports_multi(self) -> bool:
        """Whether the server supports transactions (ZooKeeper 3.4 and later)."""
        ...

    def on_session(self, listener: SessionListener) -> None:
        """Notify ``listener`` of every session event from now on."""
        ...

    def on_response_sent(self, listener: ResponseListener) -> None:
        """Notify ``listener`` of the last response now, and of later ones; see there.

        A store that can't lose its connection silently need never call it.
        """
        ...


class ZkStore(ZkClient, Protocol):
    """A ZooKeeper client in one session after another. Thread: any, unless noted.

    No call may be made from a watch or a session listener.

    ``session_id`` arguments fence a write: it is refused with ``SessionLost`` unless that session
    is in force at the moment of sending. Without one, the session in force when the call starts
    is the fence, so no batch is ever spread over two sessions.
    """

    def get_many(self, paths: Sequence[str], *, watch: Watch | None = None) -> list[ZNode | None]:
        """Return the nodes at ``paths``, in that order; None for missing ones.

        The watch fires when the node is created, changed or deleted: missing nodes are watched,
        too.
        """
        ...

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
        ...

    def server_children(self, paths: Sequence[str]) -> list[list[str] | None]:
        """Return the same for paths from the server's root, without the chroot; watch nothing.

        Only for finding a chroot.
        """
        ...

    def exists_many(
        self, paths: Sequence[str], *, watch: Watch | None = None
    ) -> list[ZNodeStat | None]:
        """Return the stat of each node, None for missing ones; watches as ``get_many``."""
        ...

    def write_many(
        self, ops: Sequence[Op], *, session_id: int | None = None
    ) -> list[OpError | None]:
        """Execute each operation on its own, pipelined in this order, without ``CheckOp``."""
        ...

    def multi(self, ops: Sequence[Op], *, session_id: int | None = None) -> MultiResult:
        """Execute all of the operations or none."""
        ...

    def multi_many(
        self, batches: Sequence[Sequence[Op]], *, session_id: int | None = None
    ) -> list[MultiResult]:
        """Execute several transactions, pipelined in this order, each all or nothing on its own."""
        ...

    def create(self, path: str, data: bytes, *, ephemeral: bool) -> bool:
        """Create a node, and missing parents; return False if it exists already."""
        ...

    def ensure_paths(self, paths: Sequence[str]) -> None:
        """Create missing persistent nodes with null data, and missing parents."""
        ...

    def set_or_create_many(
        self, items: Mapping[str, bytes], *, session_id: int | None = None
    ) -> list[str | None]:
        """Write persistent nodes whatever they held; create missing nodes and parents.

        Returns:
            For each item in its order None, or why it was not written.
        """
        ...

    def delete_many(self, paths: Sequence[str]) -> None:
        """Delete the nodes; a missing one is fine.

        Raises:
            RegistryError: names the first node that could not be deleted.
        """
        ...

    def close(self, timeout_ms: int = CLOSE_TIMEOUT_MS) -> None:
        """End the session: its ephemeral nodes vanish at once. Idempotent.

        Args:
            timeout_ms: how long to wait for the server's response; after that closing goes on in
                the background.
        """
        ...
