"""The registry of one consumer group: members, topics, owners.

Everything is pipelined and bounded in time; conflicts are values. No method waits until a node is
free: that is up to the caller's thread, which can wait for that very node with the ``watch_``
methods.

Source: Kafka 0.8.2.2 ``ZookeeperConsumerConnector``, ``ZkUtils``. Unlike it, a conflict is judged
by the session that owns the node (as in 0.9 and later, KAFKA-1387), a claim is all or nothing, and
only our own nodes are deleted.
"""

from collections.abc import Collection

from zkconsumer.errors import RegistryError
from zkconsumer.net.security import SecurityProtocol
from zkconsumer.zk.group_reader import Expand, read_brokers, read_group
from zkconsumer.zk.group_values import (
    BrokerList,
    GroupSnapshot,
    GroupWatches,
    RegistrationConflict,
)
from zkconsumer.zk.nodes import Registration, encode_registration
from zkconsumer.zk.owners import PartitionOwners
from zkconsumer.zk.paths import GroupPaths
from zkconsumer.zk.store import CreateOp, DeleteOp, OpError, SetOp, Watch, ZkStore

_MAX_ROUNDS = 5


class GroupRegistry(PartitionOwners):
    """One group, read and written by one member. Thread: control only.

    Once registered, everything it writes is fenced by the session of the registration: after that
    session's end it raises ``SessionLost`` until the member is registered again, even if the store
    has long been in its next session.

    Raises (every method):
        RegistryError: no response in time, or access denied. A write may or may not have happened;
            all of them may be repeated, and ``release`` undoes a claim of unknown outcome.
        SessionLost: the session ended; its registration and owner nodes are gone or will be.
    """

    def __init__(
        self,
        store: ZkStore,
        group_id: str,
        *,
        protocol: SecurityProtocol = "PLAINTEXT",
    ) -> None:
        """Create the registry of a group.

        Args:
            store: the ZooKeeper client.
            group_id: the group.
            protocol: selects the brokers' listeners.

        Raises:
            ConfigError: the group id can't be part of a path.
        """
        super().__init__(store, GroupPaths(group_id))
        self._protocol: SecurityProtocol = protocol

    @property
    def group_id(self) -> str:
        """The group id, for messages."""
        return self._paths.group_id

    def register(
        self, consumer_id: str, registration: Registration, *, session_id: int | None = None
    ) -> RegistrationConflict | None:
        """Register the member. A node that this session created before is updated.

        Args:
            consumer_id: the member.
            registration: its content.
            session_id: register in this session only; None: in the session in force.

        Returns:
            Who holds the member's node; None: it is registered.

        Raises:
            ConfigError: the consumer id can't be part of a path.
            LocalProtocolError: Scala could not read the registration.
        """
        path = self._paths.member(consumer_id)
        data = encode_registration(registration)
        session_id = self._store.session_id if session_id is None else session_id
        self._store.ensure_paths([self._paths.ids])
        for _ in range(_MAX_ROUNDS):
            error = self._write(CreateOp(path, data, ephemeral=True), session_id)
            if error is OpError.NODE_EXISTS:
                node = self._store.get_many([path])[0]
                if node is None:
                    continue
                if node.ephemeral_owner != session_id:
                    return RegistrationConflict(node.ephemeral_owner)
                error = None if node.data == data else self._write(SetOp(path, data), session_id)
            if error is None:
                self._registered_session = session_id
                return None
            self._store.ensure_paths([self._paths.ids])
        raise RegistryError(
            f"{path} appeared and disappeared {_MAX_ROUNDS} times while registering there"
        )

    def unregister(self, consumer_id: str) -> bool:
        """Delete the member's node if this session created it; return whether it did."""
        path = self._paths.member(consumer_id)
        node = self._store.get_many([path])[0]
        if node is None or node.ephemeral_owner != self.session_id:
            return False
        return self._write(DeleteOp(path), self.session_id) is None

    def watch_registration(self, consumer_id: str, watch: Watch) -> bool:
        """Watch the member's node; return whether it exists (else there is nothing to wait for)."""
        return (
            self._store.exists_many([self._paths.member(consumer_id)], watch=watch)[0] is not None
        )

    def read_group(
        self, *, watches: GroupWatches, expand: Expand, own_topics: Collection[str]
    ) -> GroupSnapshot:
        """Read the input of a rebalance, leaving watches before each read.

        Args:
            watches: called for later changes.
            expand: returns the topics of a registration, given all topic names; or why that member
                must be left out. What it raises is passed on, with the member's path.
            own_topics: the topics that this member names, which are watched even if they don't
                exist yet.
        """
        return read_group(
            self._store,
            self._paths,
            watches=watches,
            expand=expand,
            own_topics=own_topics,
            protocol=self._protocol,
        )

    def read_brokers(self, *, watch: Watch | None = None) -> BrokerList:
        """Read the brokers' registrations alone, and watch their list with ``watch``.

        Each is at the address of its listener for this registry's protocol.
        """
        return read_brokers(self._store, watch, self._protocol)

    def member_path(self, consumer_id: str) -> str:
        """Return the path of a member's registration, for messages."""
        return self._paths.member(consumer_id)

    def _write(self, op: CreateOp | SetOp | DeleteOp, session_id: int) -> OpError | None:
        error = self._store.write_many([op], session_id=session_id)[0]
        if error in {None, OpError.NODE_EXISTS, OpError.NO_NODE}:
            return error
        raise RegistryError(f"{op.path} could not be written: {error}")
