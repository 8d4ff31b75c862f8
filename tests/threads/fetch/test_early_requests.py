"""The Python loop sends the next request before it unpacks the last response.

The pump has early requests of its own (``test_native_room``).
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.fakes.fake_script import DefaultReply, Fail
from tests.support.chunks import T0, T1, ListSink, claim_of
from tests.support.fetch_bench import SETTINGS, FetchBench, claim_on, new_queue, wait_for
from tests.support.fetch_responses import requested
from tests.support.queues import needs_native_engine
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.claim import Chunk
from zkconsumer.fetch.fetcher import PythonFetchLoop
from zkconsumer.model import Record, TopicPartition
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.fetch import FetchRequest

pytestmark = needs_native_engine  # headers are summarized in C

COUNT = 400
LONG_WAIT = replace(SETTINGS, max_wait_ms=1_500)


class WatchingSink(ListSink):
    """Records for each chunk whether the next request is in flight.

    Attributes:
        loop: the loop that fills it.
        early: one element for each chunk.
        on_offer: called with the number of chunks so far.
    """

    def __init__(self, room: int = 1_000_000) -> None:
        super().__init__(room)
        self.loop: PythonFetchLoop | None = None
        self.early: list[bool] = []
        self.on_offer: Callable[[int], None] = lambda _: None

    def offer(self, chunk: Chunk, on_capacity: Callable[[], None]) -> bool:
        """See ``ChunkSink``."""
        assert self.loop is not None
        self.early.append(self.loop._line.has_early)
        self.on_offer(len(self.early))
        return super().offer(chunk, on_capacity)

    def offsets(self) -> list[int]:
        """The offsets of all records, in order."""
        return [record.offset for chunk in self.chunks for record in chunk.records]


def filled(bench: FetchBench, sink: WatchingSink) -> PythonFetchLoop:
    """Return a loop over a partition with a backlog of some 20 responses, not started."""
    bench.cluster.append(T0, [Record(-1, None, bytes(500)) for _ in range(COUNT)])
    loop = sink.loop = bench.loop(settings=LONG_WAIT)
    loop.add(claim_of(T0, committed=0, sink=sink), 0)
    return loop


def offsets_asked_for(bench: FetchBench, tp: TopicPartition) -> list[int]:
    """Return the offsets of a partition that were requested, in order."""
    requests = [request.request for request in list(bench.brokers[0].requests)]
    return [
        requested(request)[tp].fetch_offset
        for request in requests
        if isinstance(request, FetchRequest) and tp in requested(request)
    ]


def test_a_backlog_is_requested_while_it_is_unpacked() -> None:
    """Only once the queue took some responses at once, and not at the end of the log."""
    with FetchBench() as bench:
        sink = WatchingSink()
        bench.run(filled(bench, sink))
        wait_for(lambda: len(sink.offsets()) == COUNT, "all records")
        assert sink.offsets() == list(range(COUNT))
        assert sink.early == [False] * 4 + [True] * (len(sink.early) - 5) + [False]
        asked = offsets_asked_for(bench, T0)[: len(sink.early)]
        assert asked == sorted(set(asked))


def test_a_response_without_capacity_is_not_followed_by_another_one() -> None:
    """One that is dropped costs its bytes, so it must stay the exception."""
    with FetchBench() as bench:
        sink = WatchingSink(room=8)
        loop = filled(bench, sink)
        bench.run(loop)
        while len(sink.offsets()) < COUNT:
            wait_for(lambda: sink.room == 0 or len(sink.offsets()) == COUNT, "a full queue")
            sink.room += 1
            loop.wake()
        assert sink.offsets() == list(range(COUNT))
        asked = [offset for offset in offsets_asked_for(bench, T0) if offset < COUNT]
        assert len(asked) - len(set(asked)) <= 1


@pytest.mark.parametrize("start", [0, None])
def test_a_partition_that_is_added_is_in_the_next_request(start: int | None) -> None:
    """Only the request under way comes first, even if its start has to be looked up."""
    with FetchBench() as bench:
        bench.cluster.append(T1, [Record(-1, None, b"new")])
        sink, queue = WatchingSink(), new_queue(10)
        loop = filled(bench, sink)
        at_ten: list[int] = []

        def add(chunks: int) -> None:
            if chunks == 10:
                at_ten.append(len(offsets_asked_for(bench, T0)))
                loop.add(claim_on(queue, T1), start)

        sink.on_offer = add
        bench.run(loop)
        wait_for(queue.chunk_count, "the record of the other partition")
        wait_for(lambda: len(sink.offsets()) == COUNT, "all records")
        (before,) = at_ten
        requests = [
            requested(request.request)
            for request in list(bench.brokers[0].requests)
            if isinstance(request.request, FetchRequest)
        ]
        first = next(at for at, entries in enumerate(requests) if T1 in entries)
        assert first <= before + 1


def test_no_request_is_early_while_a_partition_is_being_added() -> None:
    """It was added during the wait for the last response, and belongs in the next request."""
    with FetchBench() as bench:
        loop = bench.loop()
        connection = bench.dial(bench.brokers[0].address)
        assert loop._line.may_send_early(connection, 0)
        loop.add(claim_of(T0), 0)
        assert not loop._line.may_send_early(connection, 0)
        loop._accept()
        assert loop._line.may_send_early(connection, 0)
        connection.close()


def test_a_claim_that_ends_drops_the_early_response() -> None:
    """A new claim of the partition begins where it is told to."""
    with FetchBench() as bench:
        sink, again = WatchingSink(), WatchingSink()
        claim = claim_of(T0, sink=sink)
        bench.cluster.append(T0, [Record(-1, None, bytes(500)) for _ in range(COUNT)])
        loop = sink.loop = again.loop = bench.loop(settings=LONG_WAIT)

        def give_up(chunks: int) -> None:
            if chunks == 10:
                claim.active = False
                loop.add(claim_of(T0, sink=again), 3)

        sink.on_offer = give_up
        loop.add(claim, 0)
        bench.run(loop)
        wait_for(lambda: len(again.offsets()) == COUNT - 3, "the records of the new claim")
        assert again.offsets() == list(range(3, COUNT))
        assert sink.early[-1]
        assert len(sink.early) == 10


def test_a_stop_does_not_wait_for_an_early_response() -> None:
    """Its connection is closed."""
    with FetchBench() as bench:
        sink = WatchingSink()
        loop = filled(bench, sink)
        stopped_with: list[bool] = []

        def stop(chunks: int) -> None:
            if chunks == 10:
                loop.stop()
                stopped_with.append(loop._line.has_early)

        sink.on_offer = stop
        bench.run(loop)
        wait_for(lambda: bool(bench.lost), "the partition to be given back")
        assert stopped_with == [True]


@pytest.mark.parametrize(
    "code", [ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.TOPIC_AUTHORIZATION_FAILED]
)
def test_a_chunk_that_waits_is_delivered_before_what_an_early_response_brings(
    code: ErrorCode,
) -> None:
    """The queue refused a chunk after its set was unpacked: the early response has no place."""
    with FetchBench() as bench:
        sink = WatchingSink()
        loop = filled(bench, sink)
        bench.brokers[0].script(ApiKey.FETCH, *[DefaultReply()] * 10, Fail(code))
        log_start = COUNT - 5

        def refuse(offers: int) -> None:
            if offers == 10:
                sink.room = 0
                bench.cluster.log(T0).delete_before(log_start)
            if offers >= 10:
                loop.wake()
            if offers == 15:
                sink.room = COUNT

        sink.on_offer = refuse
        bench.run(loop)
        wait_for(lambda: COUNT - 1 in sink.offsets(), "the end of the log")
        assert sink.early[9]
        offsets = sink.offsets()
        assert offsets == [*range(len(offsets) - 5), *range(log_start, COUNT)]
        assert [bool(chunk.records) for chunk in sink.chunks] == [True] * 10 + [False, True]
        assert all(chunk.poison is None for chunk in sink.chunks)
