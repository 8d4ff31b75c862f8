"""A cluster in memory: topics, logs, leaders and offsets that fake brokers answer from.

It knows nothing of bytes or connections: ``fake_answers`` turns requests into answers from this
state, ``fake_broker`` carries them. Source of the behaviour: Kafka 0.8.2.2, by the same contract
suite that runs on real brokers.
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
    """One partition: who has it, who leads it (None: nobody), and its log."""

    leader: int | None
    replicas: tuple[int, ...]
    log: FakeLog = field(default_factory=FakeLog)


class FakeCluster:
    """Brokers that share one state. Thread: any.

    Attributes:
        lock: guards everything here.
        brokers: the addresses by id; whoever carries the brokers may set them.
        down: the ids of brokers that don't run.
        auto_create: whether asking for a topic creates it.
        coordinator: the broker that keeps the groups' offsets; None for none.
        offsets_loading: whether it is still reading them from its log.
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
        """Create a topic, or add partitions to it; leaders go round the brokers."""
        ids = sorted(self.brokers)
        with self.lock:
            existing = self.topics.setdefault(topic, {})
            for number in range(len(existing), partitions):
                chosen = tuple(ids[(number + shift) % len(ids)] for shift in range(replicas))
                existing[number] = FakePartition(leader=chosen[0], replicas=chosen)
        self.changed()

    def delete_topic(self, topic: str) -> None:
        """Delete a topic with all it held."""
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
        """Append records to a partition that exists; gives the offset of the first."""
        with self.lock:
            base_offset = self.log(tp).append_records(records, codec)
        self.changed()
        return base_offset

    def append_raw(self, tp: TopicPartition, data: bytes, record_count: int = 1) -> int:
        """Append an entry as it is, sound or not; gives the offset it stands for."""
        with self.lock:
            base_offset = self.log(tp).append_raw(data, record_count)
        self.changed()
        return base_offset

    def move_leader(self, tp: TopicPartition, leader: int | None) -> None:
        """Let another broker lead a partition, or none."""
        with self.lock:
            moved = self.topics[tp.topic][tp.partition]
            moved.leader = leader
            if leader is not None and leader not in moved.replicas:
                moved.replicas = (*moved.replicas, leader)
        self.changed()

    def is_leader(self, broker_id: int, tp: TopicPartition) -> bool:
        """Whether that broker leads that partition."""
        found = self.partition(tp)
        return found is not None and found.leader == broker_id

    def on_change(self, watcher: Callable[[], None]) -> None:
        """Call ``watcher`` whenever the state has changed; it must not block."""
        with self.lock:
            self._watchers.append(watcher)

    def forget(self, watcher: Callable[[], None]) -> None:
        """Call ``watcher`` no more."""
        with self.lock:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

    def changed(self) -> None:
        """Tell every watcher."""
        with self.lock:
            watchers = list(self._watchers)
        for watcher in watchers:
            watcher()
