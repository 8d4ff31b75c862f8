"""Random schedules for the native fetch loop: each record comes once and in order.

A model knows each partition's log and how far its current claim was read.
"""

from collections.abc import Callable
from random import Random

import pytest

from tests.fakes.fake_broker import FakeBrokers
from tests.fakes.fake_cluster import FakeCluster
from tests.fakes.fake_script import Close, Cut, Fail
from tests.fakes.loopback import LoopbackServer
from tests.support.memory_probe import fetching
from tests.support.queues import needs_native_engine
from tests.support.waiting import wait_until
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.fetch.core.starts import LogEdge
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.queues import StreamQueue, new_chunk_queue
from zkconsumer.wire.api import ApiKey

pytestmark = needs_native_engine

STEPS = 250
CODECS = (Codec.NONE, Codec.NONE, Codec.GZIP, Codec.SNAPPY)
FAULTS = (
    Close(),
    Cut(2),
    Cut(11),
    Cut(300),
    Cut(5_000),
    Fail(ErrorCode.NOT_LEADER_FOR_PARTITION),
    Fail(ErrorCode.UNKNOWN),
)


def value_of(tp: TopicPartition, offset: int, size: int) -> bytes:
    """Return a value that has the partition and the offset."""
    return f"{tp}@{offset} ".encode().ljust(size, b".")


class Schedule:
    """Partitions of three topics, queues of several sizes, and what must have come of each."""

    def __init__(self, seed: int, cluster: FakeCluster, brokers: FakeBrokers) -> None:
        self.rng = Random(seed)
        self.cluster, self.brokers = cluster, brokers
        self.budget = ByteBudget(self.rng.choice([3_000, 30_000, 300_000]))
        self.queues: list[StreamQueue] = [
            new_chunk_queue(self.rng.choice([1, 2, 1_000]), self.budget) for _ in range(3)
        ]
        self.partitions = [TopicPartition(topic, n) for n in range(4) for topic in ("a", "b", "c")]
        self.ends = dict.fromkeys(self.partitions, 0)
        self.read = dict.fromkeys(self.partitions, 0)
        self.claims: dict[TopicPartition, PartitionClaim] = {}
        self.scope = ThreadScope("schedule")
        settings = FetchSettings(
            max_partition_bytes=self.rng.choice([5_000, 20_000]),
            growth_max_bytes=100_000,
            reset=LogEdge.EARLIEST,
            max_wait_ms=10,
            leader_backoff_ms=5,
            request_timeout_ms=300,
        )
        self.manager = fetching(brokers[0].address, settings, self.scope)

    def append(self) -> None:
        """Append some records to a log."""
        tp = self.rng.choice(self.partitions)
        size = self.rng.choice([40, 40, 400, 3_000, 8_000])
        first = self.ends[tp]
        self.ends[tp] += self.rng.randrange(1, 30 if size < 1_000 else 4)
        records = [
            Record(0, None, value_of(tp, offset, size)) for offset in range(first, self.ends[tp])
        ]
        assert self.cluster.append(tp, records, self.rng.choice(CODECS)) == first

    def claim(self, tp: TopicPartition | None = None) -> None:
        """Release a partition, and claim it again, for any queue."""
        tp = tp or self.rng.choice(self.partitions)
        before = self.claims.get(tp)
        if before is not None:
            before.active = False
            self.manager.wake()
            if self.rng.random() < 0.7:
                before.sink.discard_inactive()
        offset = self.read[tp]
        claim = self.claims[tp] = PartitionClaim(tp, self.rng.choice(self.queues), offset)
        self.manager.add([(claim, offset)])

    def fail(self) -> None:
        """Script faults for the next fetches."""
        count = self.rng.choice([1, 1, 2])
        self.brokers[0].script(ApiKey.FETCH, *(self.rng.choice(FAULTS) for _ in range(count)))

    def take(self, timeout_ms: int = 0) -> bool:
        """Take a chunk from a queue; it must continue its partition."""
        queue = self.rng.choice(self.queues)
        item = queue.head(timeout_ms)
        if not isinstance(item, Chunk):
            return False
        queue.remove()
        if item.claim.active:
            self._check(item)
        queue.release(item)
        return True

    def _check(self, chunk: Chunk) -> None:
        tp = chunk.claim.topic_partition
        assert chunk.claim is self.claims[tp]
        assert chunk.fetch_offset == self.read[tp], "a gap, or something twice"
        for record in chunk.records:
            assert record.offset == self.read[tp]
            assert (record.value or b"").startswith(value_of(tp, record.offset, 0))
            self.read[tp] += 1
        assert chunk.next_offset == self.read[tp]
        assert chunk.poison is None

    def run(self) -> None:
        """Run random steps, then read to the end."""
        for tp in self.partitions:
            self.append()
            self.claim(tp)
        steps: list[Callable[[], object]] = [
            *(self.append, self.append, self.append, self.append),
            *(self.claim, self.fail, self.manager.wake),
            *[self.take] * 12,
        ]
        for step in self.rng.choices(steps, k=STEPS):
            step()
        wait_until(self._is_read, timeout_s=20, what=f"the end of {self.ends}, not {self.read}")

    def _is_read(self) -> bool:
        for _ in range(20):
            self.take(1)
        # The fake server notices a closed connection only at its next turn.
        self.cluster.changed()
        return self.read == self.ends


@pytest.mark.parametrize("seed", range(3))
def test_every_record_of_every_claim_comes_once_and_in_order(seed: int) -> None:
    """Connections break, partitions are claimed again, queues are full, and the loop is woken."""
    cluster = FakeCluster()
    for topic in ("a", "b", "c"):
        cluster.create_topic(topic, 4)
    brokers = FakeBrokers(cluster)
    with LoopbackServer() as server:
        brokers.listen_on_loopback(server)
        schedule = Schedule(seed, cluster, brokers)
        try:
            schedule.run()
        finally:
            left = schedule.scope.close(5_000)
        assert left == []
        assert schedule.scope.first_error() is None
