"""Opens a cluster to read and set groups' offsets: both storages, logs, and times."""

import argparse
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from zkconsumer.cli.cluster_access import CommandCluster, open_cluster
from zkconsumer.cli.log_lookup import log_ranges
from zkconsumer.cluster.time_lookup import TimeLookup
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
"""The time limit of all attempts of a lookup, in time-outs of one response."""


def _nothing() -> None:
    """Do nothing: there is no connection to release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOffsetStores:
    """A group, and the storages in which it may have offsets.

    Attributes:
        group_id: the group.
        storages: the storages, ZooKeeper first; without ZooKeeper if the id is invalid there, and
            without Kafka if the offsets topic does not exist, since a lookup would create it.
        group: checks for live members.
        with_zookeeper: whether a ZooKeeper is given.
        hang_up: closes the connection to the coordinator; called at the end, and after each group
            by callers with many groups.
    """

    group_id: str
    storages: Mapping[OffsetStorage, GroupOffsetStore]
    group: MigratedGroup
    with_zookeeper: bool = True
    hang_up: Callable[[], None] = _nothing

    def storage(self, name: OffsetStorage) -> GroupOffsetStore:
        """Return one of the storages.

        Raises:
            ConfigError: the group can't have offsets there, or no ZooKeeper is given.
        """
        if name is OffsetStorage.ZOOKEEPER and not self.with_zookeeper:
            raise ConfigError(
                f"offsets of group {self.group_id} in ZooKeeper need a --zookeeper; --storage "
                "kafka does not; nothing was written"
            )
        if name not in self.storages:
            GroupPaths(self.group_id)
            raise ConfigError(f"group {self.group_id} has nothing in {name.value}")
        return self.storages[name]

    def stored(self) -> dict[OffsetStorage, dict[TopicPartition, FetchedOffset]]:
        """Return all of the group's committed offsets, by storage.

        Raises:
            ZkConsumerError: a server did not respond in time, or denied access.
        """
        return {name: dict(storage.stored(None)) for name, storage in self.storages.items()}


class OffsetsCluster:
    """The offsets of a cluster's groups; made by ``open_offsets``, which closes it. Thread: one."""

    def __init__(self, access: CommandCluster) -> None:
        self._access = access
        self._closing = ExitStack()
        self._limit_ms = access.timeout_ms * _TRIES

    @property
    def zookeeper(self) -> str:
        """The cluster's ``zookeeper.connect``; "" without ZooKeeper."""
        return self._access.zookeeper_connect or ""

    @property
    def unseen(self) -> str | None:
        """A text about the data that is unknown without ZooKeeper; None if nothing is."""
        if self._access.zookeeper is not None or self._access.client.no_zookeeper:
            return None
        return "offsets and members of groups in a ZooKeeper: unknown, since none was given"

    def now_ms(self) -> int:
        """Return the local time."""
        return self._access.clock.wall_ms()

    @cached_property
    def partitions(self) -> frozenset[TopicPartition]:
        """The cluster's partitions, from a broker and, if it is given, from ZooKeeper.

        A broker that has just started has no topics for a moment.

        Raises:
            TransportError: no broker responds.
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
        """Return a group's storages.

        Args:
            group_id: its id; coordinators accept any, ZooKeeper only a valid path segment.
            with_kafka: whether to include Kafka even if the offsets topic has to be created.
            without_kafka: whether to use ZooKeeper only, without querying brokers.

        Raises:
            ConfigError: the id is invalid in all storages.
        """
        storages: dict[OffsetStorage, GroupOffsetStore] = {}
        # ``store`` raises if there is no ZooKeeper: a caller that needs it alone gets that error.
        store = self._access.store if without_kafka else self._access.zookeeper
        if store is not None and is_segment(group_id):
            storages[OffsetStorage.ZOOKEEPER] = ZookeeperGroupOffsets(store, group_id)
        hang_up: Callable[[], None] = _nothing
        if not without_kafka and (
            with_kafka or any(tp.topic == OFFSETS_TOPIC for tp in self.partitions)
        ):
            timeout_ms, limit_ms = self._access.timeout_ms, self._limit_ms
            settings = replace(INTERACTIVE, timeout_ms=timeout_ms, limit_ms=limit_ms)
            kafka = KafkaGroupOffsets(
                self._access.client, self._access.dialer, group_id, settings, self._access.clock
            )
            self._closing.callback(kafka.close)
            storages[OffsetStorage.KAFKA] = kafka
            hang_up = kafka.close
        if not storages and store is not None:
            GroupPaths(group_id)
        group = MigratedGroup(group_id, tuple(storages.values()), self._access.clock)
        return GroupOffsetStores(
            group_id=group_id,
            storages=storages,
            group=group,
            with_zookeeper=store is not None,
            hang_up=hang_up,
        )

    def group_ids(self, *, without_kafka: bool = False) -> list[str]:
        """Return the ids of all groups in ZooKeeper and at brokers, or only in ZooKeeper; sorted.

        Raises:
            ZkConsumerError: a server does not respond, so there may be more groups.
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
        """Return start and end of the logs whose leaders respond."""
        known = [tp for tp in partitions if tp in self.partitions]
        return log_ranges(self._access.client, known, timeout_ms=self._limit_ms)

    def at_time(self, time_ms: int, logs: Mapping[TopicPartition, LogRange]) -> ToTime:
        """Return the offsets of the first records since a time; see ``TimeLookup.since``.

        Raises:
            ZkConsumerError: the lookup failed.
        """
        lookup = TimeLookup(self._access.client, timeout_ms=self._limit_ms)
        found = lookup.since(dict.fromkeys(logs, time_ms))
        return ToTime(found.offsets, exact=found.is_exact)

    def close(self) -> None:
        """Close all connections."""
        self._closing.close()

    def _listed_by(self, broker: Broker) -> set[str]:
        with closing(self._access.dialer.dial(broker)) as connection:
            if not connection.versions.has(ApiKey.LIST_GROUPS):
                return set()
            response = connection.call(ListGroupsRequest(), timeout_ms=self._access.timeout_ms)
        if response.error_code:
            code = response.error_code
            raise BrokerError(code, "ListGroups", f"{broker}: {explained(code)}")
        return {group.group_id for group in response.groups}


@contextmanager
def open_offsets(args: argparse.Namespace) -> Iterator[OffsetsCluster]:
    """Connect to ZooKeeper; brokers are connected on use.

    Raises:
        ConfigError: the servers or the file can't be used.
        RegistryError: ZooKeeper does not respond.
    """
    with open_cluster(args) as access, closing(OffsetsCluster(access)) as cluster:
        yield cluster
