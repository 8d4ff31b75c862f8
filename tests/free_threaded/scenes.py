"""What threads may share, each a scene of some seconds; a broken promise is an AssertionError."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from itertools import chain, count
from operator import length_hint
from typing import Any

from tests.support.chunks import chunk_of, claim_of
from tests.support.log_broker import LogBroker
from tests.support.log_readers import LogReader, native_reader
from tests.support.native_chunks import cursor, native_queue, new_wakeup, offsets_in, set_of
from tests.support.record_sets import records
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConsumerTimeout
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.model import TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import CODECS_OF_MESSAGES, Codec, compress
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.stream import KafkaStream
from zkconsumer.streams.stream_queue import StreamQueue

Body = Callable[[threading.Event], None]
RECORDS_IN_SET = 200


def together(seconds: float, *bodies: Body) -> None:
    """Let threads run until the time is over; the first that fails ends all."""
    over, failures = threading.Event(), []

    def run(body: Body) -> None:
        try:
            body(over)
        except BaseException as error:  # noqa: BLE001 - it is raised below
            failures.append(error)
            over.set()

    threads = [threading.Thread(target=run, args=(body,)) for body in bodies]  # noqa: TID251
    for thread in threads:
        thread.start()
    over.wait(seconds)
    over.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive(), "a thread hangs"
    if failures:
        raise failures[0]


class ReadStream:
    """A stream with its pump, and the bodies of threads that commit, revoke claims and measure."""

    def __init__(self, number: int) -> None:
        self.partition = TopicPartition("t", number)
        self.queue = native_queue(8, 1 << 20)
        self.stream: KafkaStream[bytes, bytes] = KafkaStream(
            self.queue, clock=SystemClock(), timeout_ms=50
        )
        self.claim = self.new_claim()
        self.read = 0

    def new_claim(self) -> PartitionClaim:
        """One that the queue knows."""
        claim = PartitionClaim(self.partition, self.queue, None)
        claim.consumed_offset = 0
        self.queue.native.adopt(claim)
        return claim

    def pump(self, over: threading.Event) -> None:
        """Put sets, as the loop in C does, always of the claim that holds."""
        wakeup, at, claim = new_wakeup(), 0, self.claim
        while not over.is_set():
            if claim is not self.claim:
                claim, at = self.claim, 0
            data = set_of(range(at, at + RECORDS_IN_SET))
            left: int | None = at
            while left is not None and not over.is_set() and claim.active:
                left = self.queue.native.put_set(claim, data, left, wakeup)
                if left is not None:
                    wakeup.wait(20)
            at += RECORDS_IN_SET

    def iterate(self, over: threading.Event) -> None:
        """Each claim's records come in order, from its first one on."""
        expected: dict[int, int] = {}
        while not over.is_set():
            with suppress(ConsumerTimeout):
                for message in self.stream:
                    assert message.value is not None
                    offset = message.offset
                    assert offset in (0, expected.get(self.partition.partition, 0)), "out of order"
                    expected[self.partition.partition] = offset + 1
                    self.read += 1
                    if over.is_set():
                        return

    def commit(self, over: threading.Event) -> None:
        """What is consumed only grows while a claim holds, and is never what was not delivered."""
        claim, before = self.claim, 0
        while not over.wait(0.0005):
            if claim is not self.claim:
                claim, before = self.claim, 0
            consumed = claim.consumed_offset
            delivered = claim.delivered_offset
            if consumed is not None:
                assert consumed >= before, "it went back"
                assert delivered is None or consumed <= delivered, "consumed before it was read"
                before = consumed

    def give_up(self, over: threading.Event) -> None:
        """Take the partition away, and give it back."""
        while not over.wait(0.02):
            self.claim.active = False
            self.queue.discard_inactive()
            self.claim = self.new_claim()

    def measure(self, over: threading.Event) -> None:
        """Read what metrics read, in any thread."""
        while not over.is_set():
            assert self.stream.delivered_counts().get("t", 0) >= 0
            assert self.queue.chunk_count() <= 8
            assert self.queue.native.claim_count

    def bodies(self) -> Iterator[Body]:
        """All that goes on."""
        return iter((self.pump, self.iterate, self.commit, self.give_up, self.measure))


def streams(seconds: float, threads: int) -> int:
    """As many streams, each with its own threads."""
    made = [ReadStream(number) for number in range(threads)]
    together(seconds, *chain.from_iterable(read_stream.bodies() for read_stream in made))
    assert all(read_stream.read for read_stream in made), "a stream stood still"
    return sum(read_stream.read for read_stream in made)


def one_hand(seconds: float, threads: int) -> int:
    """Several threads draw from one hand, whose chunks somebody changes: nothing comes twice."""
    rounds = 0
    until = time.monotonic() + seconds  # noqa: TID251 - a stress test, not the product
    while time.monotonic() < until:  # noqa: TID251
        queue = native_queue()
        claim = PartitionClaim(TopicPartition("t", 0), queue, None)
        queue.native.adopt(claim)
        assert queue.native.put_set(claim, set_of(range(5_000)), 0) is None
        shared = cursor()
        shared.chunk = queue.head(0)
        drawn: list[list[int]] = [[] for _ in range(threads)]

        def draw(mine: list[int]) -> Body:
            return lambda over: mine.extend(message.offset for message in shared)  # noqa: ARG005, B023

        def look(over: threading.Event) -> None:
            while not shared.is_exhausted and not over.is_set():  # noqa: B023
                shared.peek(3)  # noqa: B023

        done = threading.Event()

        def end(over: threading.Event) -> None:
            while not shared.is_exhausted and not over.is_set():  # noqa: B023
                time.sleep(0)  # noqa: TID251
            over.set()
            done.set()  # noqa: B023

        together(10, *map(draw, drawn), look, end)
        assert done.is_set()
        assert sorted(chain.from_iterable(drawn)) == list(range(5_000))
        rounds += 1
    return rounds


def iterations(seconds: float, threads: int) -> int:
    """Several loops over one consumer while somebody stops its walk: nothing comes twice."""
    core: Any = import_module("zkconsumer.native._core")
    given, lock = iter(range(1 << 40)), threading.Lock()

    class Consumer(core.RecordIterator):  # type: ignore[misc]
        def __init__(self) -> None:
            self._walk = core.Walk(SystemClock())

        def _find_next(self) -> bool:
            with lock:
                steps = core.Steps([next(given) for _ in range(50)])
            self._walk.steps = steps
            return True

    consumer, drawn = Consumer(), [[] for _ in range(threads)]  # type: ignore[var-annotated]

    def draw(mine: list[int]) -> Body:
        def run(over: threading.Event) -> None:
            while not over.is_set():
                mine.append(next(consumer))

        return run

    def stop(over: threading.Event) -> None:
        while not over.wait(0.0001):
            if (steps := consumer._walk.steps) is not None:
                steps.take(1)
                assert length_hint(steps) <= 50
                steps.end()
            consumer._walk.steps = None

    together(seconds, *map(draw, drawn), stop)
    every = list(chain.from_iterable(drawn))
    assert len(every) == len(set(every)), "a record came twice"
    return len(every)


def decoding(seconds: float, threads: int) -> int:
    """All codecs in all threads, which share what is kept for reuse."""
    core: Any = import_module("zkconsumer.native._core")
    text = b"".join(b"line %d of a log\n" % number for number in range(3_000))
    packed = {codec: compress(codec, text, magic=1) for codec in CODECS_OF_MESSAGES[1:]}
    with suppress(Exception):  # zstd's library is an extra
        packed[Codec.ZSTD] = compress(Codec.ZSTD, text, magic=2)
    sets = {codec: build_message_set(records(*range(99)), codec=codec) for codec in (Codec.GZIP,)}
    done = [0] * threads

    def unpack(number: int) -> Body:
        def run(over: threading.Event) -> None:
            chance = random.Random(number)
            while not over.is_set():
                codec, data = chance.choice(list(packed.items()))
                assert core.decompress(int(codec), data, magic=1, max_bytes=1 << 20) == text
                reader = core.SetReader(
                    sets[Codec.GZIP], fetch_offset=0, bound_bytes=1 << 20, enough_bytes=1 << 20
                )
                assert reader.read() == core.ENDS
                assert len(reader.fetched().take(99)) == 99
                done[number] += 1

        return run

    together(seconds, *map(unpack, range(threads)))
    return sum(done)


def leases(seconds: float, threads: int) -> int:
    """An end that has come is seen by all at once, however often it is moved."""
    queue = native_queue()
    core: Any = import_module("zkconsumer.native._core")
    clock, ends = SystemClock(), [0]
    lease = core.Lease(clock)
    claim = PartitionClaim(TopicPartition("t", 0), queue, None)
    queue.native.adopt(claim)
    data = set_of(range(50))

    def draw(over: threading.Event) -> None:
        while not over.is_set():
            mine = native_queue()
            own = PartitionClaim(TopicPartition("t", 0), mine, None)
            mine.native.adopt(own)
            assert mine.native.put_set(own, data, 0) is None
            one = cursor(lease=lease)
            one.chunk = mine.head(0)
            for _ in one:
                pass

    def move(over: threading.Event) -> None:
        one = cursor(lease=lease)
        while not over.is_set():
            fresh = native_queue()
            own = PartitionClaim(TopicPartition("t", 0), fresh, None)
            fresh.native.adopt(own)
            assert fresh.native.put_set(own, data, 0) is None
            one.chunk = fresh.head(0)
            lease.end_at(0)
            assert next(iter(one), None) is None, "handed out behind the end"
            lease.end_at(None)
            assert next(iter(one), None) is not None
            ends[0] += 1

    together(seconds, move, *[draw] * threads)
    return ends[0]


def waiting_fetchers(seconds: float, threads: int) -> int:
    """Python's fetchers wait for capacity of a full queue of either kind; no chunk is lost."""
    queues = [FullQueue(native_queue(2)), FullQueue(ChunkQueue(2))]
    for full in queues:
        together(seconds / len(queues), *map(full.fetch, range(threads)), full.take, full.measure)
    return sum(sum(full.taken.values()) for full in queues)


class FullQueue:
    """A queue that is too small for its fetchers; ``taken`` is the next offset of each claim."""

    def __init__(self, queue: StreamQueue) -> None:
        self.queue = queue
        self.taken: dict[PartitionClaim, int] = {}

    def fetch(self, number: int) -> Body:
        """Offer chunks of one record each, and wait for ``on_capacity`` while the queue is full."""
        claim, capacity = (
            PartitionClaim(TopicPartition("t", number), self.queue, None),
            threading.Event(),
        )

        def run(over: threading.Event) -> None:
            for at in count():
                while not self.queue.offer(chunk_of(claim, [at]), capacity.set):
                    while not capacity.wait(0.1):
                        if over.is_set():
                            return
                    capacity.clear()

        return run

    def take(self, over: threading.Event) -> None:
        """Take the next chunk; some fetcher is always waiting to put more."""
        while not over.is_set():
            item = self.queue.take(10_000)
            assert isinstance(item, Chunk), "a fetcher was not notified of capacity"
            assert offsets_in(item) == [self.taken.get(item.claim, 0)], "lost, or out of order"
            self.taken[item.claim] = item.next_offset

    def measure(self, over: threading.Event) -> None:
        """Call what metrics and memberships call, in any thread."""
        while not over.is_set():
            assert self.queue.chunk_count() <= 2
            assert self.queue.used_bytes() >= 0
            self.queue.discard_inactive()


class AwaitedQueue:
    """A native queue whose chunks are taken whole; ``taken`` is how many there were."""

    def __init__(self) -> None:
        core: Any = import_module("zkconsumer.native._core")
        self.is_there = threading.Event()
        self.queue = core.Queue(4, tuple, self.is_there.set)
        self.claim = self.new_claim()
        self.taken = 0

    def new_claim(self) -> PartitionClaim:
        """One of the only partition."""
        return claim_of(TopicPartition("t", 0))

    def pump(self, over: threading.Event) -> None:
        """Put sets, as the loop in C does."""
        wakeup, data = new_wakeup(), set_of(range(RECORDS_IN_SET))
        while not over.is_set():
            claim = self.claim
            if self.queue.put_set(claim, data, 0, wakeup) is not None:
                wakeup.wait(20)

    def take(self, over: threading.Event) -> None:
        """Take whole chunks; each is as it was put, whoever else takes some."""
        while not over.is_set():
            taken = self.queue.take_chunk()
            if taken is not None:
                records = taken[-1].take(RECORDS_IN_SET + 1)
                assert taken[:2] == (0, RECORDS_IN_SET)
                assert [record.offset for record in records] == list(range(RECORDS_IN_SET))
                self.taken += 1
            elif not self.queue.await_chunk():
                self.is_there.wait(0.01)
                self.is_there.clear()

    def give_up(self, over: threading.Event) -> None:
        """Take the partition away, and give it back."""
        while not over.wait(0.002):
            self.claim.active = False
            self.claim = self.new_claim()

    def measure(self, over: threading.Event) -> None:
        """Read what metrics read."""
        while not over.is_set():
            assert self.queue.record_count <= 4 * RECORDS_IN_SET
            assert self.queue.used_bytes >= 0


def whole_chunks(seconds: float, threads: int) -> int:
    """Several threads take whole chunks, which are put and given up meanwhile."""
    awaited = AwaitedQueue()
    takers = [awaited.take] * threads
    together(seconds, awaited.pump, awaited.pump, *takers, awaited.give_up, awaited.measure)
    return awaited.taken


def fetch_loops(seconds: float, threads: int) -> int:
    """Native fetch loops over TCP: partitions are given up and added again, and loops stopped."""
    received = 0
    until = time.monotonic() + seconds  # noqa: TID251 - as above
    with LogBroker(threads) as broker:
        for log in broker.logs:
            for number in range(50):
                log.add([b"%d" % number] * 10)
        while time.monotonic() < until:  # noqa: TID251
            with native_reader(broker, max_chunks=4) as reader:
                received += read_for_a_while(reader, min(seconds, 0.5))
    return received


def read_for_a_while(reader: LogReader, seconds: float) -> int:
    """Read the records of a fetch loop, and return how many there were."""
    expected: dict[PartitionClaim, int] = {}
    reader.add_all()

    def take(over: threading.Event) -> None:
        while not over.is_set():
            item = reader.queue.take(20)
            if isinstance(item, Chunk) and item.claim.active:
                assert item.fetch_offset == expected.get(item.claim, 0), "lost, or out of order"
                expected[item.claim] = item.next_offset

    def move(over: threading.Event) -> None:
        for at in count():
            if over.wait(0.005):
                return
            reader.claims[at].active = False
            reader.loop.wake()
            reader.queue.discard_inactive()
            reader.add(reader.claims[at].topic_partition.partition)

    def measure(over: threading.Event) -> None:
        while not over.wait(0.0005):
            assert reader.queue.used_bytes() >= 0
            assert reader.loop.partition_count() >= 0

    together(seconds, take, move, measure)
    return sum(expected.values())


SCENES: dict[str, Callable[[float, int], int]] = {
    scene.__name__: scene
    for scene in (
        streams,
        one_hand,
        iterations,
        decoding,
        leases,
        waiting_fetchers,
        whole_chunks,
        fetch_loops,
    )
}
