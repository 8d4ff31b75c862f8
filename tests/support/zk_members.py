"""Members of a group, and watches, for the contract suites."""

from zkconsumer.zk.registry import GroupRegistry
from zkconsumer.zk.store import ZkStore


class Member:
    """One member of group g: its client and its registry."""

    def __init__(self, store: ZkStore) -> None:
        self.store = store
        self.registry = GroupRegistry(store, "g")


class SeenEvents:
    """A watch that records its events."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def __call__(self, path: str, event: str) -> None:
        self.events.append((path, event))


def children(store: ZkStore, path: str) -> list[str]:
    """Return a node's children; none if the node does not exist."""
    return store.children_many([path])[0] or []
