"""A cluster whose groups' offsets are read and set: both places of each, logs, and times."""

import argparse
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from zkconsumer.cli.cluster_access import CommandCluster, open_cluster
from zkconsumer.cli.log_lookup import CommandLogLookup
from zkconsumer.error_codes import explained
from zkconsumer.errors import BrokerError, ConfigError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.offsets.migration.group import MigratedGroup
from zkconsumer.offsets.migration.group_offset_store import GroupOffsetStore
from zkconsumer.offsets.migration.in_kafka import INTERACTIVE, KafkaGroupOffsets
from zkconsumer.offsets.migration.in_zookeeper import ZookeeperGroupOffsets, partitions_in
from zkconsumer.offsets.migration.plan import OffsetStorage
from zkconsumer.offsets.planning import LogRange, ToTime
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.list_groups import ListGroupsRequest
from zkconsumer.zk.paths import CONSUMERS, GroupPaths, is_segment

OFFSETS_TOPIC: Final = "__consumer_offsets"
_TRIES: Final = 3
"""How many times the time-out of one answer all tries of a question may take."""


def _nothing() -> None:
    """There is no connection to let go of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOffsetStores:
    """A group, and where it may have offsets.

    Attributes:
        group_id: which.
        storages: ZooKeeper first, unless a group can't be called like that there; without Kafka
            where nobody has kept offsets there yet: to ask would make the cluster create the topic
            for them.
        group: tells who of it is there.
        with_zookeeper: whether ZooKeeper could be looked at.
        hang_up: lets go of the connection to its coordinator, which the cluster does in the end;
            who looks at many groups does it after each, when all is asked.
    """

    group_id: str
    storages: Mapping[OffsetStorage, GroupOffsetStore]
    group: MigratedGroup
    with_zookeeper: bool = True
    hang_up: Callable[[], None] = _nothing

    def storage(self, name: OffsetStorage) -> GroupOffsetStore:
        """Return one of them.

        Raises:
            ConfigError: the group can't have anything there, or nobody said where it is.
        """
        if name is OffsetStorage.ZOOKEEPER and not self.with_zookeeper:
            raise ConfigError(
                f"offsets of group {self.group_id} in ZooKeeper need a --zookeeper; "
                "--storage kafka goes without; nothing was written"
            )
        if name not in self.storages:
            GroupPaths(self.group_id)
            raise ConfigError(f"group {self.group_id} has nothing in {name.value}")
        return self.storages[name]

    def stored(self) -> dict[OffsetStorage, dict[TopicPartition, FetchedOffset]]:
        """Return every offset that it has.

        Raises:
            ZkConsumerError: no answer in time, or access denied.
        """
        return {name: dict(storage.stored(None)) for name, storage in self.storages.items()}


class OffsetsCluster:
    """Thread: one. Made by ``open_offsets``, which closes it.

    Args:
        access: the cluster.
    """

    def __init__(self, access: CommandCluster) -> None:
        self._access = access
        self._closing = ExitStack()
        self._limit_ms = access.timeout_ms * _TRIES

    @property
    def zookeeper(self) -> str:
        """The cluster, as ``zookeeper.connect`` names it; "" without a ZooKeeper."""
        return self._access.zookeeper_connect or ""

    @property
    def unseen(self) -> str | None:
        """What is not known for want of a ZooKeeper that the cluster has; None: nothing."""
        if self._access.zookeeper is not None or self._access.client.no_zookeeper:
            return None
        return "offsets and members of groups in a ZooKeeper: unknown, since none was given"

    def now_ms(self) -> int:
        """Our clock."""
        return self._access.clock.wall_ms()

    @cached_property
    def _lookup(self) -> CommandLogLookup:
        return CommandLogLookup(self._access.client, timeout_ms=self._limit_ms)

    @cached_property
    def partitions(self) -> frozenset[TopicPartition]:
        """Those that the cluster has, by the word of ZooKeeper or of a broker.

        A broker that has just started knows of no topics for a moment.

        Raises:
            TransportError: no broker answers.
        """
        view = self._access.client.view(None, timeout_ms=self._limit_ms)
        found = frozenset(
            TopicPartition(topic, number)
            for topic, numbers in view.partitions.items()
            for number in numbers
        )
        store = self._access.zookeeper
        return found if store is None else partitions_in(store) | found

    def of(
        self, group_id: str, *, with_kafka: bool = False, without_kafka: bool = False
    ) -> GroupOffsetStores:
        """Return one group.

        Args:
            group_id: its id; coordinators take any, ZooKeeper only what can be part of a path.
            with_kafka: also where the topic for offsets has to be created.
            without_kafka: ZooKeeper alone; no broker is asked for anything.

        Raises:
            ConfigError: nobody takes it.
        """
        storages: dict[OffsetStorage, GroupOffsetStore] = {}
        # Who wants ZooKeeper's alone hears what that needs.
        store = self._access.store if without_kafka else self._access.zookeeper
        if store is not None and is_segment(group_id):
            storages[OffsetStorage.ZOOKEEPER] = ZookeeperGroupOffsets(store, group_id)
        hang_up: Callable[[], None] = _nothing
        if not without_kafka and (
            with_kafka or any(tp.topic == OFFSETS_TOPIC for tp in self.partitions)
        ):
            timeout_ms, limit_ms = self._access.timeout_ms, self._limit_ms
            settings = replace(INTERACTIVE, timeout_ms=timeout_ms, limit_ms=limit_ms)
            kafka = KafkaGroupOffsets(self._access.client, self._access.dialer, group_id, settings)
            self._closing.callback(kafka.close)
            storages[OffsetStorage.KAFKA] = kafka
            hang_up = kafka.close
        if not storages and store is not None:
            GroupPaths(group_id)
        group = MigratedGroup.of(group_id, *storages.values(), clock=self._access.clock)
        return GroupOffsetStores(
            group_id=group_id,
            storages=storages,
            group=group,
            with_zookeeper=store is not None,
            hang_up=hang_up,
        )

    def group_ids(self, *, without_kafka: bool = False) -> list[str]:
        """Return all groups that ZooKeeper or a broker knows of, sorted; or ZooKeeper alone.

        Raises:
            ZkConsumerError: one of them does not answer: there may be more.
        """
        store = self._access.store if without_kafka else self._access.zookeeper
        ids = set() if store is None else set(store.children_many([CONSUMERS])[0] or ())
        if without_kafka:
            return sorted(ids)
        view = self._access.client.view((), timeout_ms=self._limit_ms)
        for broker in view.brokers.values():
            ids |= self._listed_by(broker)
        return sorted(ids)

    def logs(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, LogRange]:
        """First offset and end of those logs whose leaders answer."""
        return self._lookup.logs([tp for tp in partitions if tp in self.partitions])

    def at_time(self, time_ms: int, logs: Mapping[TopicPartition, LogRange]) -> ToTime:
        """Where the first record is that is not older than a time; see ``CommandLogLookup.since``.

        Raises:
            ZkConsumerError: it can't be asked.
        """
        found = self._lookup.since(time_ms, logs)
        return ToTime(found.offsets, exact=found.exact)

    def close(self) -> None:
        """Hang up."""
        self._closing.close()

    def _listed_by(self, broker: Broker) -> set[str]:
        connection = self._access.dialer.dial(broker)
        try:
            if not connection.versions.has(ApiKey.LIST_GROUPS):
                return set()
            response = connection.call(ListGroupsRequest(), timeout_ms=self._access.timeout_ms)
        finally:
            connection.close()
        if response.error_code:
            code = response.error_code
            raise BrokerError(code, "ListGroups", f"{broker}: {explained(code)}")
        return {group.group_id for group in response.groups}


@contextmanager
def open_offsets(args: argparse.Namespace) -> Iterator[OffsetsCluster]:
    """Connect to ZooKeeper; brokers are connected to when they are asked.

    Raises:
        ConfigError: the servers or the file can't be used.
        RegistryError: ZooKeeper does not answer.
    """
    with open_cluster(args) as access:
        cluster = OffsetsCluster(access)
        try:
            yield cluster
        finally:
            cluster.close()
