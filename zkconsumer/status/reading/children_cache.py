"""Reads the children of many nodes, without reading again what can't have changed.

ZooKeeper counts the creations and deletions of a node's children. While that count is unchanged,
the node has the same children; and children that are never written after their creation, such as
owner nodes, also have the same data. So one stat replaces the reads of all children. A tool that
writes into an owner node goes unnoticed until the cached data expires.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from zkconsumer.status.reading.node_batches import NodeBatches
from zkconsumer.status.reading.values import Read, Unreadable
from zkconsumer.zk.store import ZNode, ZNodeStat

NODES_MAX_AGE_MS: Final = 60_000
"""How long the data of nodes is cached."""


@dataclass(slots=True)
class _Children:
    stat: ZNodeStat
    names: Sequence[str]
    nodes: Mapping[str, ZNode] = field(default_factory=dict)
    nodes_at_ms: int | None = None

    def holds(self, stat: ZNodeStat) -> bool:
        """Return whether no child was created or deleted."""
        return (stat.czxid, stat.child_changes, stat.pzxid) == (
            self.stat.czxid,
            self.stat.child_changes,
            self.stat.pzxid,
        )


class ChildrenCache:
    """A cache of the children of nodes. Thread: one at a time.

    Args:
        nodes_max_age_ms: how long the data of nodes is cached.
    """

    def __init__(self, nodes_max_age_ms: int = NODES_MAX_AGE_MS) -> None:
        self._nodes_max_age_ms = nodes_max_age_ms
        self._cached: dict[str, _Children] = {}

    def names(
        self, batches: NodeBatches, paths: Sequence[str]
    ) -> dict[str, Sequence[str] | Unreadable]:
        """Return the names of the children of each node; absent nodes are left out.

        Raises:
            RegistryError: ZooKeeper does not respond.
        """
        found: dict[str, Sequence[str] | Unreadable] = {}
        changed: dict[str, ZNodeStat] = {}
        for path, stat in zip(paths, batches.stat(paths), strict=True):
            known = self._cached.get(path)
            if isinstance(stat, Unreadable):
                found[path] = stat
            elif stat is None:
                self._cached.pop(path, None)
            elif known is not None and known.holds(stat):
                found[path] = known.names
            else:
                # The next stat detects a change between this one and the list.
                changed[path] = stat
        for path, names in zip(changed, batches.children(list(changed)), strict=True):
            self._cached.pop(path, None)
            if isinstance(names, Unreadable):
                found[path] = names
            elif names is not None:
                found[path] = names
                self._cached[path] = _Children(changed[path], names)
        return found

    def nodes(
        self, batches: NodeBatches, paths: Sequence[str], now_ms: int
    ) -> dict[str, dict[str, Read[ZNode]]]:
        """Return the children, by name, of nodes whose names were just read by ``names``.

        Args:
            batches: reads nodes.
            paths: of the parent nodes.
            now_ms: the time, by any clock.

        Raises:
            RegistryError: ZooKeeper does not respond.
        """
        cached = {path: self._cached[path] for path in paths if path in self._cached}
        stale = {
            path: children for path, children in cached.items() if self._is_stale(children, now_ms)
        }
        requested = [
            f"{path}/{name}" for path, children in stale.items() for name in children.names
        ]
        responses = iter(batches.get(requested))
        fresh: dict[str, dict[str, Read[ZNode]]] = {}
        for path, children in stale.items():
            read = dict(zip(children.names, responses, strict=False))
            fresh[path] = read
            known = {name: node for name, node in read.items() if isinstance(node, ZNode)}
            if len(known) == len(read):
                children.nodes, children.nodes_at_ms = known, now_ms
        return {path: fresh.get(path, {**children.nodes}) for path, children in cached.items()}

    def forget_all_but(self, roots: Collection[str]) -> None:
        """Drop all cached nodes that are not below these roots."""
        starts = tuple(f"{root}/" for root in roots)
        gone = [path for path in self._cached if not path.startswith(starts)]
        for path in gone:
            del self._cached[path]

    def _is_stale(self, children: _Children, now_ms: int) -> bool:
        at_ms = children.nodes_at_ms
        return at_ms is None or not 0 <= now_ms - at_ms < self._nodes_max_age_ms
