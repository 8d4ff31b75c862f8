"""Reads the nodes of a ZooKeeper group, to be shown verbatim."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from zkconsumer.errors import ZkConsumerError
from zkconsumer.status.doctor.fix import session_name
from zkconsumer.zk.paths import GroupPaths
from zkconsumer.zk.store import ZkStore, ZNode

CHILDREN_SHOWN: Final = 500
DATA_SHOWN: Final = 4_000
"""The maximum number of characters that are shown of a node's data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZnodeView:
    """A ZooKeeper node of a group, as it is now.

    Attributes:
        path: its path below the chroot.
        data: its bytes as text, invalid UTF-8 replaced; None if they could not be read.
        size: in bytes.
        truncated: whether ``data`` is only their beginning.
        ephemeral_owner: its session's id, as ZooKeeper's tools write it; None: persistent.
        created_ms: when it was created, by ZooKeeper's clock.
        modified_ms: when it was last changed, by ZooKeeper's clock.
        version: the version of its data.
        children_count: the number of its children; 0 if not read.
        problem: why it could not be read.
    """

    path: str
    data: str | None = None
    size: int = 0
    truncated: bool = False
    ephemeral_owner: str | None = None
    created_ms: int | None = None
    modified_ms: int | None = None
    version: int | None = None
    children_count: int = 0
    problem: str | None = None


def is_below(group_id: str, path: str) -> bool:
    """Return whether a path is normalised, and is a group's root or below it."""
    root = GroupPaths(group_id).root
    if path != root and not path.startswith(f"{root}/"):
        return False
    return not any(part in {"", ".", ".."} for part in path.split("/")[1:])


def read_nodes(store: ZkStore, group_id: str, path: str) -> tuple[ZnodeView, ...]:
    """Return a node of a group and its children (whose own children are only counted).

    Leaves no watch. Errors are reported in the first view.

    Args:
        store: the connection to ZooKeeper.
        group_id: the group, outside of which nothing is shown.
        path: the node's path.
    """
    if not is_below(group_id, path):
        return (ZnodeView(path=path, problem=f"it is not a node of group {group_id}"),)
    try:
        [node], [names] = store.get_many([path]), store.children_many([path])
        if node is None:
            return (ZnodeView(path=path, problem="there is no such node"),)
        names = names or []
        below = [f"{path}/{name}" for name in names[:CHILDREN_SHOWN]]
        nodes, grandchildren = store.get_many(below), store.children_many(below)
    except ZkConsumerError as error:
        return (ZnodeView(path=path, problem=str(error)),)
    return (
        _shown(path, node, names),
        *(
            _shown(name, found, under or [])
            for name, found, under in zip(below, nodes, grandchildren, strict=True)
            if found is not None
        ),
    )


def _shown(path: str, node: ZNode, names: Sequence[str]) -> ZnodeView:
    text = node.data.decode("utf-8", "replace")
    return ZnodeView(
        path=path,
        data=text[:DATA_SHOWN],
        size=len(node.data),
        truncated=len(text) > DATA_SHOWN,
        ephemeral_owner=session_name(node.ephemeral_owner) if node.ephemeral_owner else None,
        created_ms=node.ctime_ms,
        modified_ms=node.mtime_ms,
        version=node.version,
        children_count=len(names),
    )
