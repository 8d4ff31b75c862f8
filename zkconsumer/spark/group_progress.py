"""Commits a query's progress to a group, for other tools and for later members.

The query is not a member: it registers and claims nothing. So it must not commit to a group with
live members, which rely on the offsets being their own; and it never moves an offset back, since a
member that committed further has processed those messages. Only an offset after the log's end is
overwritten: the topic was recreated, or its log truncated.

Offsets are stored where the 0.8 consumer stores them: see ``offsets``. Thread: one at a time.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from functools import partial
from typing import Final

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import ConfigError, OffsetCommitFailed, ZkConsumerError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.offsets.coordinator import (
    ChannelSettings,
    CoordinatorChannel,
    offset_dialer,
)
from zkconsumer.offsets.dual import DualOffsetStore
from zkconsumer.offsets.kafka import KafkaOffsetStore
from zkconsumer.offsets.store import OffsetStore
from zkconsumer.offsets.topic_checked import TopicChecked, former_topic_warnings
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.spark.address import ClusterAddress
from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.offset_limits import NamedLimit
from zkconsumer.spark.options import SourceOptions, Storage
from zkconsumer.spark.zookeeper import open_zookeeper
from zkconsumer.zk.paths import GroupPaths
from zkconsumer.zk.store import ZkStore
from zkconsumer.zk.topic_nodes import topic_czxids

log = logging.getLogger(__name__)

RENEW_EVERY_MS: Final = 3_600_000
"""Interval at which commits are renewed: brokers of 0.8 delete offsets after a day by default."""

_CLIENT_ID: Final = "zkconsumer-spark"


class GroupProgress:
    """Reads and commits a group's offsets, and looks up its live members.

    Args:
        group_id: the group.
        offsets: the offset storage.
        zookeeper: the session in which members are looked up; None: there is no access to
            ZooKeeper.
        close: closes the connections.
        clock: measures when offsets must be renewed.

    Raises:
        ConfigError: the group id can't be part of a path.
    """

    def __init__(
        self,
        group_id: str,
        offsets: OffsetStore,
        *,
        zookeeper: ZkStore | None,
        close: Callable[[], None] = lambda: None,
        clock: Clock | None = None,
    ) -> None:
        self.group_id = group_id
        self._offsets = offsets
        self._zookeeper = zookeeper
        self._close = close
        self._clock = clock or SystemClock()
        self._paths = GroupPaths(group_id)
        self._written: dict[TopicPartition, int] = {}
        self._renewed_ms = self._clock.now_ms()
        self._reported: dict[TopicPartition, int] = {}
        self._topics: set[str] = set()

    def committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int | None]:
        """Return the committed offset of each partition; None if it has none.

        Raises:
            ZkConsumerError: an offset can't be read. That differs from having none: starting
                elsewhere would lose or repeat messages.
        """
        found = self._offsets.fetch(partitions)
        errors = [
            fetched.error
            for fetched in found.values()
            if fetched.offset is None and fetched.error is not None
        ]
        if errors:
            raise ZkConsumerError("; ".join(errors[:10]))
        former = {tp: it.former for tp, it in found.items() if it.former is not None}
        for topic, text in former_topic_warnings(former, "it counts as none").items():
            log.warning("group %s: topic %s %s", self.group_id, topic, text)
        return {tp: it.offset for tp, it in found.items()}

    @property
    def sees_members(self) -> bool:
        """Whether members can be looked up in ZooKeeper."""
        return self._zookeeper is not None

    def refuse_live(self) -> None:
        """Check that the group has no live member; without ZooKeeper none is seen.

        Raises:
            ConfigError: the group has live members; names them.
            RegistryError: ZooKeeper does not respond.
        """
        if self._zookeeper is None:
            return
        members = self._zookeeper.children_many([self._paths.ids])[0]
        if members:
            raise ConfigError(
                f"commitOffsetsTo={self._offsets.storage}: group.id {self.group_id} has live "
                f"members: {', '.join(members)}. They commit their own progress, which this query "
                "would overwrite: stop them, take another group.id, set commitOffsetsTo=none, or "
                "allowLiveGroup=true if that is what you want"
            )

    def has_changes(self, offsets: Mapping[TopicPartition, int]) -> bool:
        """Return whether ``commit`` would write any of these offsets."""
        return bool(self._due(offsets))

    def commit(
        self,
        offsets: Mapping[TopicPartition, int],
        *,
        log_ends: Mapping[TopicPartition, int] | None = None,
    ) -> None:
        """Commit offsets that changed, or that would expire.

        Args:
            offsets: the next offset to read of each partition.
            log_ends: the log ends of partitions, as far as known: a committed offset after the
                log's end is overwritten, though it is larger.

        Raises:
            OffsetCommitFailed: some could not be written, or what is committed could not be read;
                the others were written.
            ZkConsumerError: the outcome is unknown for all of them.
        """
        due = self._due(offsets)
        if not due:
            return
        self._show(due)
        wanted, outcome = self._not_back(due, log_ends or {})
        if wanted:
            offsets_of = {tp: OffsetAndMetadata(offset) for tp, offset in wanted.items()}
            outcome |= self._offsets.commit(offsets_of, retry=True)
        self._written |= {tp: due[tp] for tp in due if outcome.get(tp) is None}
        failed = {tp: why for tp, why in outcome.items() if why is not None}
        if failed:
            raise OffsetCommitFailed(self.group_id, failed)

    def close(self) -> None:
        """Close all connections. Idempotent."""
        self._close()

    def _due(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        now_ms = self._clock.now_ms()
        if self._offsets.expires and now_ms - self._renewed_ms >= RENEW_EVERY_MS:
            self._renewed_ms = now_ms
            self._written.clear()
        return {tp: offset for tp, offset in offsets.items() if self._written.get(tp) != offset}

    def _show(self, due: Mapping[TopicPartition, int]) -> None:
        """Create the parents of owner nodes, by which ``ConsumerOffsetChecker`` finds topics.

        Members create these nodes, too, and never delete them.
        """
        fresh = {tp.topic for tp in due} - self._topics
        if self._zookeeper is not None and fresh:
            self._zookeeper.ensure_paths([self._paths.owners(topic) for topic in sorted(fresh)])
            self._topics |= fresh

    def _not_back(
        self, due: Mapping[TopicPartition, int], log_ends: Mapping[TopicPartition, int]
    ) -> tuple[dict[TopicPartition, int], dict[TopicPartition, str | None]]:
        """Drop offsets that would move a committed offset back.

        Returns:
            the offsets to commit, and for partitions whose committed offset can't be read, so that
            nobody knows, why not.
        """
        found = self._offsets.fetch(list(due))
        wanted, unreadable = {}, {}
        for tp, offset in due.items():
            there = found[tp].offset
            if there is None and found[tp].error is not None:
                unreadable[tp] = found[tp].error
            elif there is None or there <= offset or there > log_ends.get(tp, there):
                wanted[tp] = offset
            elif self._reported.get(tp) != there:
                self._reported[tp] = there
                log.warning(
                    "group %s: somebody else has committed %d for %s, this query is at %d: kept",
                    *(self.group_id, there, f"{tp}", offset),
                )
        return wanted, unreadable


def progress_of(options: SourceOptions, cluster: ClusterReader) -> GroupProgress | None:
    """Connect to the offsets that a query starts from or commits; None if it does neither.

    Raises:
        ZkConsumerError: as ``open_progress``.
    """
    if options.commit_offsets_to == "none" and options.starting != NamedLimit.GROUP:
        return None
    assert options.group_id is not None, "the options were checked"
    return open_progress(options.group_id, options.group_offsets_in, options.address, cluster)


@contextmanager
def connected(options: SourceOptions) -> Iterator[tuple[ClusterReader, GroupProgress | None]]:
    """Connect to a cluster and its group's offsets, while a query or a drain runs.

    Raises:
        ZkConsumerError: as ``open_progress``.
    """
    with ClusterReader.of(options) as reader:
        progress = progress_of(options, reader)
        with nullcontext() if progress is None else closing(progress):
            yield reader, progress


def open_progress(
    group_id: str, storage: Storage, address: ClusterAddress, cluster: ClusterReader
) -> GroupProgress:
    """Connect to a group's offset storage.

    Args:
        group_id: the group.
        storage: ``zookeeper``, ``kafka`` or ``both``, corresponding to ``offsets.storage`` and
            ``dual.commit.enabled`` of the members.
        address: the address and security of the cluster; without ZooKeeper only ``kafka`` works,
            and members can't be looked up.
        cluster: the cluster's brokers, which are looked up unless the storage is ``zookeeper``.

    Raises:
        ConfigError: ZooKeeper is needed, but not given.
        RegistryError: ZooKeeper does not respond.
        ZkConsumerError: no broker responds.
    """
    if address.zookeeper_connect is None:
        if storage != "kafka":
            raise ConfigError(
                f"commitOffsetsTo={storage}: the group's offsets are in ZooKeeper: "
                "set zookeeper.connect"
            )
        in_kafka, hang_up = _in_kafka(group_id, address, cluster)
        return GroupProgress(group_id, in_kafka, zookeeper=None, close=hang_up)
    GroupPaths(group_id)  # checked before connecting
    with ExitStack() as opened:
        store = open_zookeeper(address)
        opened.callback(store.close)
        offsets: OffsetStore = ZookeeperOffsetStore(store, group_id)
        if storage != "zookeeper":
            in_kafka, hang_up = _in_kafka(group_id, address, cluster)
            opened.callback(hang_up)
            offsets = DualOffsetStore(in_kafka, offsets) if storage == "both" else in_kafka
        checked = TopicChecked(offsets, partial(topic_czxids, store))
        return GroupProgress(group_id, checked, zookeeper=store, close=opened.pop_all().close)


def _in_kafka(
    group_id: str, address: ClusterAddress, cluster: ClusterReader
) -> tuple[OffsetStore, Callable[[], None]]:
    """Return the offset store in Kafka, and a function that disconnects it."""
    settings = ChannelSettings()
    cluster.brokers()  # after this call ``are_old`` is known
    security = address.broker_security
    if cluster.are_old:
        dialer = offset_dialer(_CLIENT_ID, settings.timeout_ms, security)
    else:
        # Kafka 4 no longer supports the requests of 0.8.2.
        dialer = dialer_of(
            ClientSettings(client_id=_CLIENT_ID, timeout_ms=settings.timeout_ms, security=security)
        )
    channel = CoordinatorChannel(group_id, settings, list_brokers=cluster.brokers, dialer=dialer)

    def hang_up() -> None:
        channel.close()
        dialer.stop()

    return KafkaOffsetStore(channel), hang_up
