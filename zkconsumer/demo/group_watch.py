"""Reads the demo's group: owners and offsets in ZooKeeper, log ends on the brokers."""

import random
from collections.abc import Sequence

from zkconsumer.cluster.cluster_client import LATEST, ClusterClient
from zkconsumer.demo.picture import PartitionView
from zkconsumer.errors import ZkConsumerError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.zk import kazoo_store
from zkconsumer.zk.registry import GroupRegistry

_TIMEOUT_MS = 5000
_BACKOFF_MS = 100


class GroupWatch:
    """Reads the state of one group without being a member of it."""

    def __init__(
        self, zookeeper_connect: str, group_id: str, partitions: Sequence[TopicPartition]
    ) -> None:
        self._store = kazoo_store.connect(
            zookeeper_connect, session_timeout_ms=10_000, connection_timeout_ms=10_000
        )
        self._registry = GroupRegistry(self._store, group_id)
        self._offsets = ZookeeperOffsetStore(self._store, group_id)
        self._dialer = dialer_of(ClientSettings(client_id="demo-watch", timeout_ms=_TIMEOUT_MS))
        self._cluster = ClusterClient(
            self._dialer,
            (),
            request_timeout_ms=_TIMEOUT_MS,
            retry_backoff_ms=_BACKOFF_MS,
            shuffle=random.shuffle,
        )
        self._partitions = tuple(partitions)

    def owners(self) -> dict[TopicPartition, str | None]:
        """Return the thread id of each partition's owner; None if it has none."""
        found = self._registry.read_owners(self._partitions)
        return {tp: owner.thread_id if owner else None for tp, owner in found.items()}

    def owning_members(self) -> set[str]:
        """Return the ids of the owning consumers; empty while a partition has no owner."""
        owners = self.owners().values()
        if None in owners:
            return set()
        return {owner.rpartition("-")[0] for owner in owners if owner is not None}

    def set_offsets(self, offset: int) -> None:
        """Commit an offset for every partition of the group, which must have no members."""
        failed = self._offsets.commit({tp: OffsetAndMetadata(offset) for tp in self._partitions})
        assert not any(failed.values()), failed

    def lines(self) -> list[PartitionView]:
        """Return a view of each partition, with its present owner and offsets."""
        owners = self.owners()
        committed = self._offsets.fetch(self._partitions)
        ends = self._ends()
        return [
            PartitionView(tp, owners[tp], committed[tp].offset, ends.get(tp))
            for tp in self._partitions
        ]

    def close(self) -> None:
        """Close all connections."""
        self._cluster.stop()
        self._dialer.stop()
        self._store.close()

    def _ends(self) -> dict[TopicPartition, int]:
        topics = {tp.topic for tp in self._partitions}
        try:
            view = self._cluster.view_by(self._registry.read_brokers().brokers, topics)
            led = dict.fromkeys(view.leaders.keys() & set(self._partitions), LATEST)
            reported = self._cluster.segment_starts(led, timeout_ms=_TIMEOUT_MS)
        except ZkConsumerError:
            return {}
        return {tp: ends[0] for tp, ends in reported.items() if isinstance(ends, tuple) and ends}
