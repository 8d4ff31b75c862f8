"""A fetcher with random logs and a broker that truncates, fails, damages, repeats and forgets.

Every claim must get its log from the start offset in order and without a gap, but for jumps that
the broker forced, and nothing once it was given up.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.fetch_responses import fetched, listed, merged, requested
from tests.support.manual_fetcher import ManualFetcher
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.fetch.core.starts import EARLIEST, LogEdge
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.fetch.stream_partition import LeaderUnusable
from zkconsumer.fetch.stream_partitions import OffsetReset, Outcome
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.wire.messages.fetch import FetchRequest, FetchResponse
from zkconsumer.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse

SETTINGS = FetchSettings(
    max_partition_bytes=150, growth_max_bytes=100_000, reset=LogEdge.EARLIEST, min_bytes=1
)
PARTITIONS = [TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)]
LOST = [ErrorCode.NOT_LEADER_FOR_PARTITION, ErrorCode.UNKNOWN, ErrorCode.LEADER_NOT_AVAILABLE]


class Log:
    """A partition's entries, plain and compressed, with gaps as compaction leaves them."""

    def __init__(self, rng: Random) -> None:
        self.start = 0
        self.offsets: list[int] = []
        self.entries: list[tuple[int, bytes]] = []
        offset = 0
        for _ in range(rng.randint(0, 12)):
            group = []
            for _ in range(rng.randint(1, 5)):
                offset += rng.choice([0, 0, 0, 1, 7])
                group.append(Record(offset, None, bytes(rng.choice([0, 3, 40, 400]))))
                offset += 1
            codec = rng.choice([Codec.NONE, Codec.GZIP, Codec.SNAPPY])
            sets = [group] if codec is not Codec.NONE else [[record] for record in group]
            for chosen in sets:
                data = build_message_set(chosen, codec=codec)
                self.entries.append((chosen[-1].offset, data))
            self.offsets += [record.offset for record in group]
        self.end = offset

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Return what a broker returns."""
        first = bisect_left(self.entries, offset, key=lambda entry: entry[0])
        return b"".join(data for _, data in self.entries[first:])[:max_bytes]

    def retain_from(self, offset: int) -> None:
        """Delete entries from the front, as retention does."""
        self.start = max(self.start, offset)


@dataclass(eq=False)
class Reader:
    """The consumer of one claim, which checks each chunk."""

    claim: PartitionClaim
    log: Log
    at: int | None
    may_jump: bool = False
    offsets: list[int] = field(default_factory=list)

    def take(self, chunk: Chunk) -> None:
        """Take a chunk, and check it."""
        assert self.claim.active, "delivered for a claim that was given up"
        assert chunk.poison is None, chunk.poison
        if self.at is None:
            self.at = self.claim.consumed_offset
        if chunk.fetch_offset != self.at:
            assert self.may_jump, f"from {self.at} to {chunk.fetch_offset} without a reset"
            self.may_jump = False
        got = [record.offset for record in chunk.records]
        first = bisect_left(self.log.offsets, chunk.fetch_offset)
        assert got == self.log.offsets[first : first + len(got)], "a gap, or out of order"
        assert not got or got[-1] < chunk.next_offset
        behind = self.log.offsets[first + len(got) : first + len(got) + 1]
        assert not behind or behind[0] >= chunk.next_offset, "the position skipped records"
        self.at = chunk.next_offset
        self.offsets += got


class NoSink:
    """A claim's sink without a queue: the simulation says whether there is capacity."""

    def __init__(self, has_room: Callable[[], bool]) -> None:
        self._has_room = has_room

    def offer(self, chunk: Chunk, on_capacity: object) -> bool:
        """Fail: the simulation delivers chunks itself."""
        raise AssertionError((chunk, on_capacity))

    def free_bytes(self, on_capacity: object) -> int:
        """Return the capacity for entries that are larger than the fetch size."""
        assert callable(on_capacity)
        return int(self._has_room())

    def fail(self, error: ZkConsumerError) -> None:
        """Fail: no error is expected."""
        raise AssertionError from error

    def discard_inactive(self) -> None:
        """Do nothing: there is no queue."""


class Simulation:
    """One fetcher, its broker and its streams."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.faults = True
        self.logs = {tp: Log(rng) for tp in PARTITIONS}
        self.fetcher = ManualFetcher(
            replace(SETTINGS, max_partition_bytes=rng.choice([150, 20_000]))
        )
        self.readers: dict[TopicPartition, Reader] = {}
        self.was_damaged = False
        self.old: list[tuple[FetchRequest, FetchResponse]] = []
        for tp in PARTITIONS:
            self.claim(tp)

    def chance(self, share: float) -> bool:
        """Return whether an accident happens."""
        return self.faults and self.rng.random() < share

    def claim(self, tp: TopicPartition) -> None:
        """Claim the partition again, with a valid committed offset, none, or one out of range."""
        log = self.logs[tp]
        start = self.rng.choice([None, log.start, self.rng.randint(log.start, log.end), 10**6])
        claim = PartitionClaim(tp, NoSink(lambda: not self.chance(0.3)), start)
        self.readers[tp] = Reader(claim, log, start)
        self.fetcher.add(claim, start)

    def move(self) -> None:
        """Make one turn of the fetcher, with random events around it."""
        if self.chance(0.1):
            self.give_up(self.rng.choice(PARTITIONS))
        if self.chance(0.05):
            tp = self.rng.choice(PARTITIONS)
            self.logs[tp].retain_from(self.rng.randint(0, self.logs[tp].end))
        if self.chance(0.05):
            self.act(self.fetcher.release_all("the connection broke"))
        self.fetcher.drop_inactive()
        for chunk in list(self.fetcher.pending()):
            self.offer(chunk)
        self.unpack()
        offsets = self.fetcher.offsets_request()
        if offsets is not None:
            self.act(self.fetcher.receive_offsets(self.list_offsets(offsets)))
            return
        ends = self.fetcher.ends_requests()
        if ends is not None:
            self.act(self.fetcher.receive_ends(*map(self.list_offsets, ends)))
            return
        request = self.fetcher.fetch_request()
        if request is not None:
            if self.old and self.chance(0.2):
                self.act(self.fetcher.receive_fetch(*self.rng.choice(self.old)))
            self.act(self.fetcher.receive_fetch(request, self.response(request)))
            self.unpack()
            self.fetcher.let_go()

    def unpack(self) -> None:
        """Decode fetched records, for queues with much capacity, little, or none."""
        moved = True
        while moved:
            moved = False
            for claim in self.fetcher.packed():
                if self.chance(0.3):
                    continue
                moved = True
                chunk = self.fetcher.piece(claim, self.rng.choice([1, 10_000, 10**6]))
                if chunk is not None:
                    self.offer(chunk)

    def give_up(self, tp: TopicPartition) -> None:
        """Give a partition up, and claim it again, perhaps before the fetcher has noticed."""
        self.readers[tp].claim.active = False
        if self.rng.random() < 0.3:
            self.fetcher.drop_inactive()
        self.claim(tp)

    def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        """Respond with start or end offsets, or errors, and leave some partitions out."""
        responses = [
            listed(tp, error=self.rng.choice(LOST))
            if self.chance(0.2)
            else listed(tp, self.logs[tp].start if time == EARLIEST else self.logs[tp].end)
            for tp, time in requested_offsets(request)
            if not self.chance(0.05)
        ]
        return ListOffsetsResponse(
            topics=tuple(t for response in responses for t in response.topics)
        )

    def response(self, request: FetchRequest) -> FetchResponse:
        """Respond to a fetch."""
        responses = []
        for tp, wanted in requested(request).items():
            log = self.logs[tp]
            if self.chance(0.05):
                continue
            if self.chance(0.1):
                responses.append(fetched(tp, error=self.rng.choice(LOST)))
            elif not log.start <= wanted.fetch_offset <= log.end or self.chance(0.05):
                responses.append(fetched(tp, error=ErrorCode.OFFSET_OUT_OF_RANGE))
            else:
                data = log.read(wanted.fetch_offset, wanted.max_bytes)
                responses.append(fetched(tp, self.damaged(tp, data), high_watermark=log.end))
        self.rng.shuffle(responses)
        response = merged(*responses)
        if not self.was_damaged:  # the same damage twice would be believed, as it should
            self.old.append((request, response))
        self.was_damaged = False
        return response

    def damaged(self, tp: TopicPartition, data: bytes) -> bytes:
        """Flip the last byte now and then, but never twice at the same offset."""
        state = self.fetcher.states.states.get(tp)
        if data and state and state.suspect_offset is None and self.chance(0.1):
            self.was_damaged = True
            return data[:-1] + bytes((data[-1] ^ 0xFF,))
        return data

    def act(self, outcomes: tuple[Outcome, ...]) -> None:
        """Do what a fetcher does with each outcome."""
        for outcome in outcomes:
            reader = self.readers[self.partition_of(outcome)]
            match outcome:
                case Chunk():
                    assert outcome.claim.active
                    self.offer(outcome)
                case OffsetReset(claim, _):
                    assert claim is reader.claim
                    reader.may_jump = True
                case LeaderUnusable(claim, offset):
                    if claim.active:
                        self.fetcher.add(claim, offset)

    def offer(self, chunk: Chunk) -> None:
        """Offer a chunk to its queue, which may be full."""
        if self.chance(0.3):
            self.fetcher.hold(chunk)
            return
        self.readers[chunk.claim.topic_partition].take(chunk)
        self.fetcher.delivered(chunk)

    @staticmethod
    def partition_of(outcome: Outcome) -> TopicPartition:
        """Return the partition of an outcome."""
        return outcome.claim.topic_partition


def requested_offsets(request: ListOffsetsRequest) -> list[tuple[TopicPartition, int]]:
    """Return the partitions of a request, with their timestamps."""
    return [
        (TopicPartition(topic.topic, partition.partition), partition.timestamp)
        for topic in request.topics
        for partition in topic.partitions
    ]


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32))
@example(1369)  # a jump that waits for capacity when the connection breaks
def test_every_claim_gets_its_log_in_order_and_without_gaps(seed: int) -> None:
    """It does through errors, truncation, damage, stale responses, full queues and hand-overs."""
    simulation = Simulation(Random(seed))
    for _ in range(60):
        simulation.move()
    simulation.faults = False
    for _ in range(200):
        simulation.move()
    for tp, reader in simulation.readers.items():
        log = simulation.logs[tp]
        at = reader.claim.consumed_offset if reader.at is None else reader.at
        assert at is not None, f"{tp} never found its start"
        left = [offset for offset in log.offsets if offset >= max(at, log.start)]
        assert left == [], f"{tp} stands at {at} and never got {left}"
