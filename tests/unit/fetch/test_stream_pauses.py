"""Positions out of range, chunks that wait for capacity, partitions that stop."""

from dataclasses import replace

import pytest

from tests.support.chunks import T0, T1, ListSink, chunk_of, claim_of
from tests.support.fetch_responses import (
    chunks_in,
    fetched,
    listed,
    lost_partitions,
    merged,
    receive,
    requested,
    resets_in,
)
from tests.support.manual_fetcher import ManualFetcher
from tests.support.record_sets import records
from tests.support.stream_fetchers import (
    OTHER,
    SETTINGS,
    fetcher_with,
    request_of,
    stop_by_a_large_message,
)
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import PartitionFailed
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.fetch.core.starts import EARLIEST, LATEST, LogEdge
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.fetch.stream_partition import LeaderUnusable
from zkconsumer.model import TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.wire.messages.list_offsets import ListOffsetsResponse

# --- out of range --------------------------------------------------------------------------------


def fetcher_out_of_range(claim: PartitionClaim, reset: LogEdge = LogEdge.EARLIEST) -> ManualFetcher:
    """Build a fetcher whose broker reports its partition's offset as out of range."""
    fetcher = ManualFetcher(replace(SETTINGS, reset=reset))
    fetcher.add(claim, claim.committed_offset)
    response = fetched(T0, error=ErrorCode.OFFSET_OUT_OF_RANGE)
    assert receive(fetcher, request_of(fetcher), response) == ()
    return fetcher


def test_out_of_range_requests_both_ends_of_the_log() -> None:
    """The partition stays, and nothing is fetched until they are known."""
    fetcher = fetcher_out_of_range(claim_of(committed=10_000))
    assert fetcher.fetch_request() is None
    assert fetcher.offsets_request() is None
    requests = fetcher.ends_requests()
    assert requests is not None
    times = [request.topics[0].partitions[0].timestamp for request in requests]
    assert times == [EARLIEST, LATEST]


@pytest.mark.parametrize("reset", LogEdge)
@pytest.mark.parametrize("offset", [2, 10])
def test_an_offset_that_no_log_has_is_reset_by_the_policy(reset: LogEdge, offset: int) -> None:
    """Below the start or above the end of the log; the outcome has the former offset."""
    fetcher = fetcher_out_of_range(claim_of(committed=offset), reset)
    outcomes = fetcher.receive_ends(listed(T0, 3), listed(T0, 9))
    assert resets_in(outcomes) == [(T0, offset)]
    assert fetcher.ends_requests() is None
    at = requested(fetcher.fetch_request())[T0].fetch_offset
    assert at == (3 if reset is EARLIEST else 9)


@pytest.mark.parametrize("offset", [3, 5, 9])
def test_a_leader_whose_log_has_the_offset_is_doubted(offset: int) -> None:
    """It is doubted three times in a row, by any fetcher, and then believed."""
    claim = claim_of(committed=offset)
    for _ in range(3):
        fetcher = fetcher_out_of_range(claim)
        (lost,) = fetcher.receive_ends(listed(T0, 3), listed(T0, 9))
        assert isinstance(lost, LeaderUnusable)
        assert lost.fetch_offset == offset
        assert f"offset {offset} out of range, but its log is [3, 9]" in lost.reason
        assert len(fetcher) == 0
    fetcher = fetcher_out_of_range(claim)
    outcomes = fetcher.receive_ends(listed(T0, 3), listed(T0, 9))
    assert resets_in(outcomes) == [(T0, offset)]
    assert claim.doubts == 0


def test_a_response_with_records_resets_the_doubts() -> None:
    """Only contradictions in a row count."""
    claim = claim_of(committed=5)
    fetcher_out_of_range(claim).receive_ends(listed(T0, 3), listed(T0, 9))
    assert claim.doubts == 1
    fetcher = fetcher_with((claim, 5))
    receive(fetcher, request_of(fetcher), fetched(T0, build_message_set(records(5))))
    assert claim.doubts == 0


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (listed(T0, error=6), listed(T0, 9)),
        (listed(T0, 3), listed(T0, error=6)),
        (listed(T0, 9), listed(T0, 3)),
        (listed(T0), listed(T0, 3)),
        (listed(T1, 3), listed(T1, 9)),
    ],
)
def test_invalid_ends_of_the_log_give_the_partition_back(
    start: ListOffsetsResponse, end: ListOffsetsResponse
) -> None:
    """After an error, contradictory ends or none, the next leader is asked."""
    fetcher = fetcher_out_of_range(claim_of(committed=10_000))
    assert lost_partitions(fetcher.receive_ends(start, end)) == [(T0, 10_000)]


def test_a_later_reset_is_queued_after_earlier_chunks() -> None:
    """The stream sees the jump in order, and the consumed offset is not touched before."""
    claim = claim_of(committed=10_000)
    fetcher = fetcher_out_of_range(claim)
    (jump,) = chunks_in(fetcher.receive_ends(listed(T0, 3), listed(T0, 9)))
    assert (jump.fetch_offset, jump.next_offset, list(jump.records)) == (3, 3, [])
    assert claim.consumed_offset == 10_000
    assert requested(fetcher.fetch_request())[T0].fetch_offset == 3


@pytest.mark.parametrize(("reset", "delivered"), [("EARLIEST", 10), ("LATEST", 0)])
@pytest.mark.parametrize("stored", [10_000, None])
def test_the_reset_policy_decides_what_is_delivered(
    reset: str, delivered: int, stored: int | None
) -> None:
    """Of 10 messages, with offset 10000 stored or none: smallest delivers all, largest none."""
    settings = FetchSettings(reset=LogEdge[reset])
    fetcher, sink = ManualFetcher(settings), ListSink()
    fetcher.add(claim_of(committed=stored, sink=sink), stored)
    log = build_message_set(records(*range(10)))
    for _ in range(4):
        offsets = fetcher.offsets_request()
        if offsets is not None:
            time = offsets.topics[0].partitions[0].timestamp
            for chunk in chunks_in(fetcher.receive_offsets(listed(T0, 0 if time == -2 else 10))):
                sink.offer(chunk, lambda: None)
        if fetcher.ends_requests() is not None:
            for chunk in chunks_in(fetcher.receive_ends(listed(T0, 0), listed(T0, 10))):
                sink.offer(chunk, lambda: None)
        request = request_of(fetcher)
        at = requested(request)[T0].fetch_offset
        response = fetched(T0, log if at == 0 else b"", error=1 if at > 10 else 0)
        for chunk in chunks_in(receive(fetcher, request, response)):
            sink.offer(chunk, lambda: None)
    assert sink.offsets() == list(range(delivered))


# --- pauses and stops ----------------------------------------------------------------------------


def test_a_held_chunk_pauses_its_partition_only() -> None:
    """While it waits, other partitions are fetched."""
    first, second = claim_of(T0), claim_of(T1)
    fetcher = fetcher_with((first, 5), (second, 9))
    held = chunk_of(first, [5])
    fetcher.hold(held)
    assert list(fetcher.pending()) == [held]
    assert set(requested(fetcher.fetch_request())) == {T1}
    fetcher.delivered(held)
    assert list(fetcher.pending()) == []
    assert set(requested(fetcher.fetch_request())) == {T0, T1}


def test_the_broker_does_not_wait_while_a_chunk_does() -> None:
    """Capacity may become free at any time; otherwise the broker waits as configured."""
    first, second = claim_of(T0), claim_of(T1)
    fetcher = fetcher_with((first, 5), (second, 9))
    assert request_of(fetcher).max_wait_ms == SETTINGS.max_wait_ms
    fetcher.hold(chunk_of(first, [5]))
    assert request_of(fetcher).max_wait_ms == 0
    first.active = False
    fetcher.drop_inactive()
    assert request_of(fetcher).max_wait_ms == SETTINGS.max_wait_ms


def test_with_all_partitions_held_nothing_is_requested() -> None:
    """The fetcher waits for capacity."""
    claim = claim_of()
    fetcher = fetcher_with((claim, 5))
    fetcher.hold(chunk_of(claim, [5]))
    assert fetcher.fetch_request() is None
    assert fetcher.offsets_request() is None


def test_a_chunk_of_an_older_claim_is_not_held_for_the_new_one() -> None:
    """A new claim of the partition starts without the older one's chunk."""
    old, new = claim_of(), claim_of()
    fetcher = fetcher_with((old, 5))
    chunk = chunk_of(old, [5])
    fetcher.add(new, 100)
    fetcher.hold(chunk)
    assert list(fetcher.pending()) == []
    assert requested(fetcher.fetch_request())[T0].fetch_offset == 100
    waiting = chunk_of(new, [100])
    fetcher.hold(waiting)
    fetcher.delivered(chunk)
    assert list(fetcher.pending()) == [waiting]


def test_a_new_claim_replaces_an_older_one_with_all_it_held() -> None:
    """The partition continues at the new offset, without chunks that waited for capacity."""
    old, new = claim_of(), claim_of()
    fetcher = fetcher_with((old, 5))
    fetcher.hold(chunk_of(old, [5]))
    fetcher.add(new, 100)
    assert (len(fetcher), list(fetcher.pending())) == (1, [])
    assert requested(fetcher.fetch_request())[T0].fetch_offset == 100


def test_inactive_claims_are_dropped_with_their_chunks() -> None:
    """Even before they are dropped, their chunks are not offered."""
    claim, other = claim_of(T0), claim_of(T1)
    fetcher = fetcher_with((claim, 5), (other, 9))
    fetcher.hold(chunk_of(claim, [5]))
    claim.active = False
    assert list(fetcher.pending()) == []
    fetcher.drop_inactive()
    assert len(fetcher) == 1
    assert set(requested(fetcher.fetch_request())) == {T1}


def test_giving_all_back_returns_each_offset() -> None:
    """It is the next offset, the start of a held chunk, or unknown."""
    first, second, third = claim_of(T0), claim_of(T1), claim_of(OTHER)
    fetcher = fetcher_with((first, 5), (second, 9), (third, None))
    request = request_of(fetcher)
    (chunk,) = chunks_in(receive(fetcher, request, fetched(T1, build_message_set(records(9, 10)))))
    fetcher.hold(chunk)
    lost = fetcher.release_all("the broker went away")
    assert dict(lost_partitions(lost)) == {T0: 5, T1: 9, OTHER: None}
    assert {lost_leader.reason for lost_leader in lost} == {"the broker went away"}
    assert len(fetcher) == 0


def test_a_pending_jump_keeps_its_offset() -> None:
    """Looking up the end again would skip what was written since."""
    claim = claim_of(committed=10_000)
    fetcher = fetcher_with((claim, None))
    (jump,) = chunks_in(fetcher.receive_offsets(listed(T0, 3)))
    fetcher.hold(jump)
    (lost,) = fetcher.release_all("any")
    assert (lost.fetch_offset, lost.jumps) == (3, True)
    other = fetcher_with()
    other.add(lost.claim, lost.fetch_offset, jumps=lost.jumps)
    (waiting,) = other.pending()
    assert (waiting.fetch_offset, waiting.next_offset, list(waiting.records)) == (3, 3, [])
    assert other.fetch_request() is None
    other.delivered(waiting)
    assert requested(other.fetch_request())[T0].fetch_offset == 3


def test_a_stopped_partition_is_neither_fetched_nor_given_back() -> None:
    """The stream has its error, and another fetcher would meet the same."""
    claim = claim_of()
    fetcher = fetcher_with((claim, 5))
    stop_by_a_large_message(fetcher, claim)
    (chunk,) = fetcher.pending()
    fetcher.delivered(chunk)
    assert fetcher.fetch_request() is None
    assert fetcher.offsets_request() is None
    assert fetcher.release_all("any") == ()


def test_a_stopped_partition_with_a_pending_error_is_given_back() -> None:
    """The connection ended before the queue had capacity, so the stream does not have the error."""
    claim = claim_of()
    fetcher = fetcher_with((claim, 5))
    stop_by_a_large_message(fetcher, claim)
    assert lost_partitions(fetcher.release_all("any")) == [(T0, 5)]


def test_a_corrupt_message_stops_its_own_partition_only() -> None:
    """It is believed the second time; another partition in the same responses continues."""
    first, second = claim_of(T0), claim_of(T1)
    fetcher = fetcher_with((first, 0), (second, 0))
    data = bytearray(build_message_set(records(0, 1)))
    data[-1] ^= 1
    sound = build_message_set(records(*range(10)))
    got: dict[TopicPartition, list[int]] = {T0: [], T1: []}
    errors = []
    for _ in range(4):
        request = request_of(fetcher)
        responses = [
            fetched(tp, bytes(data) if tp == T0 else sound)
            for tp, partition in requested(request).items()
            if tp == T0 or partition.fetch_offset == 0
        ]
        for chunk in chunks_in(receive(fetcher, request, merged(*responses))):
            got[chunk.claim.topic_partition] += [record.offset for record in chunk.records]
            errors += [chunk.poison.error] if chunk.poison else []
    assert got == {T0: [0], T1: list(range(10))}
    (error,) = errors
    assert isinstance(error, PartitionFailed)
    assert (error.topic_partition, error.offset) == (T0, 1)
    assert set(requested(fetcher.fetch_request())) == {T1}


def test_a_chunk_fits_a_real_queue() -> None:
    """A stream's queue accepts what a fetcher delivers."""
    queue = ChunkQueue(1)
    claim = claim_of(sink=queue)
    fetcher = fetcher_with((claim, 5))
    (chunk,) = chunks_in(
        receive(fetcher, request_of(fetcher), fetched(T0, build_message_set(records(5))))
    )
    assert claim.sink.offer(chunk, lambda: None)
    assert queue.take(0) is chunk
