"""A cluster in memory for tests of the commands that read and set offsets."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from tests.support.memory_offset_store import MemoryOffsetStore
from zkconsumer.cli.offsets.opening import GroupOffsetStores
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.migration.group import MigratedGroup
from zkconsumer.offsets.migration.plan import OffsetStorage
from zkconsumer.offsets.planning import LogRange, ToTime

Numbers = Mapping[TopicPartition, int]


class MemoryCluster:
    """A cluster in place of that of ``open_offsets``.

    Attributes:
        stores: the offset stores by group and storage; ``hold`` adds offsets.
        logs_of: the logs; a partition without a log has a leader that does not respond.
        found: the offsets that brokers return for any time.
        exact: whether brokers know the timestamps of records.
        sent_ms: the time of the last query by time.
        opened: the ZooKeeper servers of each connection.
        queried_brokers: whether brokers were asked for their groups.
    """

    zookeeper = "zk:2181"
    unseen: str | None = None

    def __init__(self, logs: Mapping[TopicPartition, tuple[int, int]]) -> None:
        self.partitions = frozenset(logs)
        self.logs_of = {tp: LogRange(*log) for tp, log in logs.items()}
        self.stores: dict[str, dict[OffsetStorage, MemoryOffsetStore]] = {}
        self.found: Numbers = {}
        self.exact = True
        self.sent_ms: int | None = None
        self.opened: list[str] = []
        self.queried_brokers = False
        self._now_ms = 1_795_293_000_000

    @contextmanager
    def open(self, args: object) -> Iterator["MemoryCluster"]:
        """See ``open_offsets``."""
        self.opened.append(getattr(args, "zookeeper", ""))
        yield self

    def hold(self, group_id: str, place: OffsetStorage, offsets: Numbers) -> MemoryOffsetStore:
        """Add offsets of a group to a storage; return that store."""
        storages = self._places(group_id)
        storages[place].offsets |= {tp: OffsetAndMetadata(offset) for tp, offset in offsets.items()}
        return storages[place]

    def numbers(self, group_id: str, place: OffsetStorage) -> dict[TopicPartition, int]:
        """A group's offsets in a storage."""
        held = self._places(group_id)[place].offsets
        return {tp: offset.offset for tp, offset in held.items() if offset is not None}

    def now_ms(self) -> int:
        """The time, 1 ms later at each call."""
        self._now_ms += 1
        return self._now_ms

    def of(
        self, group_id: str, *, with_kafka: bool = False, without_kafka: bool = False
    ) -> GroupOffsetStores:
        """See ``OffsetsCluster``."""
        storages = self._places(group_id)
        shown = {
            name: place
            for name, place in storages.items()
            if name is OffsetStorage.ZOOKEEPER
            or (not without_kafka and (with_kafka or place.offsets))
        }
        return GroupOffsetStores(
            group_id=group_id, storages=shown, group=MigratedGroup(group_id, tuple(shown.values()))
        )

    def group_ids(self, *, without_kafka: bool = False) -> list[str]:
        """See ``OffsetsCluster``: all groups."""
        self.queried_brokers |= not without_kafka
        return sorted(self.stores)

    def logs(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, LogRange]:
        """See ``OffsetsCluster``."""
        return {tp: self.logs_of[tp] for tp in partitions if tp in self.logs_of}

    def at_time(self, time_ms: int, logs: Mapping[TopicPartition, LogRange]) -> ToTime:
        """See ``OffsetsCluster``."""
        self.sent_ms = time_ms
        return ToTime({tp: self.found.get(tp, -1) for tp in logs}, exact=self.exact)

    def _places(self, group_id: str) -> dict[OffsetStorage, MemoryOffsetStore]:
        return self.stores.setdefault(
            group_id, {place: MemoryOffsetStore(place) for place in OffsetStorage}
        )
