"""A cluster in memory: topics, logs, leaders and offsets that fake brokers answer from.

It knows nothing of bytes or connections: ``fake_responses`` answers requests from this state, and
``fake_broker`` sends the responses. Source of the behaviour: Kafka 0.8.2.2; the contract suite
that checks it also runs on real brokers.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.fakes.fake_log import FakeLog
from zkconsumer.model import Broker, OffsetAndMetadata, Record, TopicPartition
from zkconsumer.records.codecs import Codec

FAKE_PORT = 9092


@dataclass(slots=True)
class FakePartition:
    """One partition: its replicas, its leader (None: no leader), and its log."""

    leader: int | None
    replicas: tuple[int, ...]
    log: FakeLog = field(default_factory=FakeLog)


class FakeCluster:
    """Brokers that share one state. Thread: any.

    Attributes:
        lock: guards everything here.
        brokers: the addresses by id; set anew by ``FakeBrokers.listen_on_loopback``.
        down: the ids of brokers that don't run.
        auto_create: whether a metadata request for a topic creates it.
        coordinator: the broker that stores the groups' offsets; None for none.
        offsets_loading: whether the coordinator is still loading them from its log.
        zookeeper_offsets: what OffsetCommit v0 wrote, by group and partition.
        kafka_offsets: what OffsetCommit v1 wrote.
    """

    def __init__(self, broker_count: int = 1, *, auto_create: bool = False) -> None:
        self.lock = threading.RLock()
        self.brokers = {
            number: Broker(number, f"fake-{number}", FAKE_PORT) for number in range(broker_count)
        }
        self.down: set[int] = set()
        self.auto_create = auto_create
        self.coordinator: int | None = 0
        self.offsets_loading = False
        self.topics: dict[str, dict[int, FakePartition]] = {}
        self.zookeeper_offsets: dict[tuple[str, TopicPartition], OffsetAndMetadata] = {}
        self.kafka_offsets: dict[tuple[str, TopicPartition], OffsetAndMetadata] = {}
        self._watchers: list[Callable[[], None]] = []

    def create_topic(self, topic: str, partitions: int = 1, replicas: int = 1) -> None:
        """Create a topic, or add partitions to it; leaders are assigned round-robin."""
        ids = sorted(self.brokers)
        with self.lock:
            existing = self.topics.setdefault(topic, {})
            for number in range(len(existing), partitions):
                chosen = tuple(ids[(number + shift) % len(ids)] for shift in range(replicas))
                existing[number] = FakePartition(leader=chosen[0], replicas=chosen)
        self.changed()

    def delete_topic(self, topic: str) -> None:
        """Delete a topic and its logs."""
        with self.lock:
            del self.topics[topic]
        self.changed()

    def partition(self, tp: TopicPartition) -> FakePartition | None:
        """A partition, or None where there is none."""
        return self.topics.get(tp.topic, {}).get(tp.partition)

    def log(self, tp: TopicPartition) -> FakeLog:
        """The log of a partition that exists."""
        return self.topics[tp.topic][tp.partition].log

    def append(
        self, tp: TopicPartition, records: Sequence[Record], codec: Codec = Codec.NONE
    ) -> int:
        """Append records to a partition that exists; return the offset of the first."""
        with self.lock:
            base_offset = self.log(tp).append_records(records, codec)
        self.changed()
        return base_offset

    def append_raw(self, tp: TopicPartition, data: bytes, record_count: int = 1) -> int:
        """Append an entry's bytes unchanged, valid or not; return its base offset."""
        with self.lock:
            base_offset = self.log(tp).append_raw(data, record_count)
        self.changed()
        return base_offset

    def move_leader(self, tp: TopicPartition, leader: int | None) -> None:
        """Make another broker the leader of a partition, or leave it without one."""
        with self.lock:
            moved = self.topics[tp.topic][tp.partition]
            moved.leader = leader
            if leader is not None and leader not in moved.replicas:
                moved.replicas = (*moved.replicas, leader)
        self.changed()

    def is_leader(self, broker_id: int, tp: TopicPartition) -> bool:
        """Whether that broker leads that partition."""
        partition = self.partition(tp)
        return partition is not None and partition.leader == broker_id

    def on_change(self, watcher: Callable[[], None]) -> None:
        """Call ``watcher`` whenever the state has changed; it must not block."""
        with self.lock:
            self._watchers.append(watcher)

    def forget(self, watcher: Callable[[], None]) -> None:
        """Stop calling ``watcher``."""
        with self.lock:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

    def changed(self) -> None:
        """Call every watcher."""
        with self.lock:
            watchers = list(self._watchers)
        for watcher in watchers:
            watcher()
