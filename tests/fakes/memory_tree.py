"""The nodes of an in-memory ZooKeeper: a pure data structure without sessions or watches.

Each change returns the events that watches could see; the watches are the server's matter.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.fakes.java_set import JavaHashSet
from zkconsumer.zk.paths import parent_of
from zkconsumer.zk.store import (
    CheckOp,
    CreateOp,
    DeleteOp,
    MultiResult,
    Op,
    OpError,
    SetOp,
    WatchEvent,
    ZNode,
    ZNodeStat,
)


@dataclass(slots=True)
class _Node:
    data: bytes | None
    owner: int
    czxid: int
    mzxid: int
    ctime_ms: int
    mtime_ms: int
    pzxid: int
    child_changes: int = 0
    version: int = 0
    children: JavaHashSet = field(default_factory=JavaHashSet)
    seen: ZNode | None = None


class TreeEvent(NamedTuple):
    """Something that a watch on ``path`` could see."""

    path: str
    event: WatchEvent


Undo = Callable[[], None]


class MemoryTree:
    """Nodes by path; ``wall_ms`` returns the time for ctime and mtime."""

    def __init__(self, wall_ms: Callable[[], int]) -> None:
        self._wall_ms = wall_ms
        self._zxid = 0
        self._nodes: dict[str, _Node] = {"/": _Node(b"", 0, 0, 0, 0, 0, 0)}

    def stat(self, path: str) -> ZNodeStat | None:
        """A node's stat, or None."""
        node = self.get(path)
        if node is None:
            return None
        return ZNodeStat(
            version=node.version,
            ephemeral_owner=node.ephemeral_owner,
            czxid=node.czxid,
            mzxid=node.mzxid,
            pzxid=node.pzxid,
            child_changes=node.child_changes,
            ctime_ms=node.ctime_ms,
            mtime_ms=node.mtime_ms,
        )

    def get(self, path: str) -> ZNode | None:
        """A node with its data (null data as empty bytes), or None."""
        node = self._nodes.get(path)
        if node is None:
            return None
        seen = node.seen
        # Every change moves one of these, and no reader sees a change half applied.
        if seen is not None and seen.mzxid == node.mzxid and seen.pzxid == node.pzxid:
            return seen
        node.seen = ZNode(
            data=node.data or b"",
            version=node.version,
            ephemeral_owner=node.owner,
            czxid=node.czxid,
            mzxid=node.mzxid,
            pzxid=node.pzxid,
            child_changes=node.child_changes,
            ctime_ms=node.ctime_ms,
            mtime_ms=node.mtime_ms,
        )
        return node.seen

    def has_null_data(self, path: str) -> bool:
        """Whether the node exists and holds null, like parents that Scala creates."""
        node = self._nodes.get(path)
        return node is not None and node.data is None

    def children(self, path: str) -> list[str] | None:
        """The names of a node's children in the order of a real server, or None."""
        node = self._nodes.get(path)
        return None if node is None else list(node.children)

    def owned_by(self, session_id: int) -> list[str]:
        """The paths of a session's ephemeral nodes."""
        return [path for path, node in self._nodes.items() if node.owner == session_id]

    def apply(
        self, ops: Sequence[Op], session_id: int
    ) -> tuple[MultiResult, tuple[TreeEvent, ...]]:
        """Apply all operations or none; without success there are no events."""
        self._zxid += 1
        undos: list[Undo] = []
        events: list[TreeEvent] = []
        for at, op in enumerate(ops):
            done = self._apply_one(op, session_id, events)
            if isinstance(done, OpError):
                for undo in reversed(undos):
                    undo()
                errors = [OpError.ROLLED_BACK] * len(ops)
                errors[at] = done
                return MultiResult(tuple(errors)), ()
            undos.append(done)
        return MultiResult((None,) * len(ops)), tuple(events)

    def _apply_one(self, op: Op, session_id: int, events: list[TreeEvent]) -> Undo | OpError:
        match op:
            case CreateOp():
                return self._create(op, session_id if op.ephemeral else 0, events)
            case DeleteOp():
                return self._delete(op, events)
            case SetOp():
                return self._set(op, events)
            case CheckOp():
                node = self._versioned(op.path, op.version)
                return node if isinstance(node, OpError) else (lambda: None)

    def _versioned(self, path: str, version: int) -> _Node | OpError:
        node = self._nodes.get(path)
        if node is None:
            return OpError.NO_NODE
        return node if version in {-1, node.version} else OpError.BAD_VERSION

    def _create(self, op: CreateOp, owner: int, events: list[TreeEvent]) -> Undo | OpError:
        parent_path, name = parent_of(op.path), op.path.rpartition("/")[2]
        parent = self._nodes.get(parent_path)
        if op.path in self._nodes:
            return OpError.NODE_EXISTS
        if parent is None:
            return OpError.NO_NODE
        if parent.owner:
            return OpError.PARENT_EPHEMERAL
        now_ms = self._wall_ms()
        self._nodes[op.path] = _Node(
            op.data, owner, self._zxid, self._zxid, now_ms, now_ms, self._zxid
        )
        parent.children.add(name)
        unnote = self._note_child_change(parent)
        events.append(TreeEvent(op.path, WatchEvent.CREATED))
        events.append(TreeEvent(parent_path, WatchEvent.CHILD))

        def undo() -> None:
            del self._nodes[op.path]
            parent.children.discard(name)
            unnote()

        return undo

    def _delete(self, op: DeleteOp, events: list[TreeEvent]) -> Undo | OpError:
        node = self._versioned(op.path, op.version)
        if isinstance(node, OpError):
            return node
        if node.children:
            return OpError.NOT_EMPTY
        parent_path, name = parent_of(op.path), op.path.rpartition("/")[2]
        parent = self._nodes[parent_path]
        del self._nodes[op.path]
        parent.children.discard(name)
        unnote = self._note_child_change(parent)
        events.append(TreeEvent(op.path, WatchEvent.DELETED))
        events.append(TreeEvent(parent_path, WatchEvent.CHILD))

        def undo() -> None:
            self._nodes[op.path] = node
            parent.children.add(name)
            unnote()

        return undo

    def _note_child_change(self, parent: _Node) -> Undo:
        before = (parent.child_changes, parent.pzxid)
        parent.child_changes, parent.pzxid = parent.child_changes + 1, self._zxid

        def undo() -> None:
            parent.child_changes, parent.pzxid = before

        return undo

    def _set(self, op: SetOp, events: list[TreeEvent]) -> Undo | OpError:
        node = self._versioned(op.path, op.version)
        if isinstance(node, OpError):
            return node
        before = (node.data, node.version, node.mzxid, node.mtime_ms)
        node.data, node.version = op.data, node.version + 1
        node.mzxid, node.mtime_ms = self._zxid, self._wall_ms()
        events.append(TreeEvent(op.path, WatchEvent.CHANGED))

        def undo() -> None:
            node.data, node.version, node.mzxid, node.mtime_ms = before

        return undo
