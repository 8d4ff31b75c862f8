"""Nodes of ZooKeeper groups, as Scala members create them, and as faults leave them."""

from tests.fakes.memory_zk import MemoryZkServer, MemoryZkStore
from tests.support.refusing import RefusingStore
from zkconsumer.zk.nodes import Registration, encode_registration
from zkconsumer.zk.store import ZkStore

REGISTERED_MS = 1_400_000_000_000
NODES_MS = 7


class GroupTree:
    """A ZooKeeper with nodes that a test writes, and a client that reads them.

    Attributes:
        server: the server.
        store: the reading client.
        client: what is below ``store``: it can refuse reads, and counts them.
    """

    def __init__(self) -> None:
        self.server = MemoryZkServer(wall_ms=lambda: NODES_MS)
        self._writer = self.server.connect()
        self.store: ZkStore
        self.client: RefusingStore
        self.store = self.client = RefusingStore(self.server)

    def join(self, group: str, member: str, streams: dict[str, int]) -> MemoryZkStore:
        """Register a member in a session of its own, which is returned."""
        data = encode_registration(Registration(subscription=streams, timestamp_ms=REGISTERED_MS))
        return self.join_as(group, member, data)

    def join_as(self, group: str, member: str, data: bytes) -> MemoryZkStore:
        """Register a member with these bytes."""
        session = self.server.connect()
        session.create(f"/consumers/{group}/ids/{member}", data, ephemeral=True)
        return session

    def own(
        self,
        group: str,
        topic: str,
        partition: int | str,
        owner: str,
        session: MemoryZkStore | None = None,
    ) -> None:
        """Create an owner node: an ephemeral one of a session, else a persistent one."""
        path = f"/consumers/{group}/owners/{topic}/{partition}"
        store = session or self._writer
        store.create(path, owner.encode(), ephemeral=session is not None)

    def disown(self, group: str, topic: str, partition: int | str) -> None:
        """Delete an owner node."""
        self._writer.delete_many([f"/consumers/{group}/owners/{topic}/{partition}"])

    def commit(self, group: str, topic: str, partition: int | str, offset: bytes) -> None:
        """Write a committed offset."""
        path = f"/consumers/{group}/offsets/{topic}/{partition}"
        self._writer.set_or_create_many({path: offset})

    def write(self, path: str, data: bytes) -> None:
        """Write any node."""
        self._writer.set_or_create_many({path: data})

    def delete(self, path: str) -> None:
        """Delete a node and everything below it."""
        for name in self._writer.children_many([path])[0] or ():
            self.delete(f"{path}/{name}")
        self._writer.delete_many([path])
