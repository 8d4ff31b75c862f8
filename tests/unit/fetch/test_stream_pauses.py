"""Positions out of range, chunks that wait for room, partitions that stop or are given up."""

from dataclasses import replace

import pytest

from tests.support.chunks import T0, T1, ListSink, chunk_of, claim_of
from tests.support.fetch_answers import (
    chunks_in,
    fetched,
    listed,
    lost_in,
    receive,
    requested,
    resets_in,
    together,
)
from tests.support.fetcher_by_hand import FetcherByHand
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
from zkconsumer.fetch.loop import LeaderUnusable
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.wire.messages.list_offsets import ListOffsetsResponse

# --- out of range --------------------------------------------------------------------------------


def said_to_be_out_of_range(
    claim: PartitionClaim, reset: LogEdge = LogEdge.EARLIEST
) -> FetcherByHand:
    """A fetcher whose broker says that the log lacks the offset of its one partition."""
    fetcher = FetcherByHand(replace(SETTINGS, reset=reset))
    fetcher.add(claim, claim.committed_offset)
    response = fetched(T0, error=ErrorCode.OFFSET_OUT_OF_RANGE)
    assert receive(fetcher, request_of(fetcher), response) == ()
    return fetcher


def test_out_of_range_asks_for_both_ends_of_the_log() -> None:
    """The partition stays here; nothing is fetched until they are known."""
    fetcher = said_to_be_out_of_range(claim_of(committed=10_000))
    assert fetcher.fetch_request() is None
    assert fetcher.offsets_request() is None
    requests = fetcher.ends_requests()
    assert requests is not None
    times = [request.topics[0].partitions[0].timestamp for request in requests]
    assert times == [EARLIEST, LATEST]


@pytest.mark.parametrize("reset", LogEdge)
@pytest.mark.parametrize("offset", [2, 10])
def test_an_offset_that_no_log_has_is_reset_by_the_policy(reset: LogEdge, offset: int) -> None:
    """In front of the log, or behind it: which one it was is told."""
    fetcher = said_to_be_out_of_range(claim_of(committed=offset), reset)
    outcomes = fetcher.receive_ends(listed(T0, 3), listed(T0, 9))
    assert resets_in(outcomes) == [(T0, offset)]
    assert fetcher.ends_requests() is None
    at = requested(fetcher.fetch_request())[T0].fetch_offset
    assert at == (3 if reset is EARLIEST else 9)


@pytest.mark.parametrize("offset", [3, 5, 9])
def test_a_leader_whose_log_has_the_offset_is_doubted(offset: int) -> None:
    """Three times in a row, whatever fetcher asks it; then it is believed."""
    claim = claim_of(committed=offset)
    for _ in range(3):
        fetcher = said_to_be_out_of_range(claim)
        (lost,) = fetcher.receive_ends(listed(T0, 3), listed(T0, 9))
        assert isinstance(lost, LeaderUnusable)
        assert lost.fetch_offset == offset
        assert f"offset {offset} out of range, but its log is [3, 9]" in lost.reason
        assert len(fetcher) == 0
    fetcher = said_to_be_out_of_range(claim)
    outcomes = fetcher.receive_ends(listed(T0, 3), listed(T0, 9))
    assert resets_in(outcomes) == [(T0, offset)]
    assert claim.doubts == 0


def test_an_answer_with_records_ends_the_doubts() -> None:
    """Only contradictions in a row count."""
    claim = claim_of(committed=5)
    said_to_be_out_of_range(claim).receive_ends(listed(T0, 3), listed(T0, 9))
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
def test_ends_that_can_not_be_give_the_partition_back(
    start: ListOffsetsResponse, end: ListOffsetsResponse
) -> None:
    """An error, ends that contradict each other, none: the next leader is asked from there."""
    fetcher = said_to_be_out_of_range(claim_of(committed=10_000))
    assert lost_in(fetcher.receive_ends(start, end)) == [(T0, 10_000)]


def test_a_reset_in_mid_life_travels_behind_what_is_queued() -> None:
    """The stream hears of the jump in order; the consumed offset is not touched before."""
    claim = claim_of(committed=10_000)
    fetcher = said_to_be_out_of_range(claim)
    (jump,) = chunks_in(fetcher.receive_ends(listed(T0, 3), listed(T0, 9)))
    assert (jump.fetch_offset, jump.next_offset, list(jump.records)) == (3, 3, [])
    assert claim.consumed_offset == 10_000
    assert requested(fetcher.fetch_request())[T0].fetch_offset == 3


@pytest.mark.parametrize(("reset", "delivered"), [("EARLIEST", 10), ("LATEST", 0)])
@pytest.mark.parametrize("stored", [10_000, None])
def test_offset_reset(reset: str, delivered: int, stored: int | None) -> None:
    """10 messages, stored offset 10000 or none: smallest brings all, largest none."""
    settings = FetchSettings(reset=LogEdge[reset])
    fetcher, sink = FetcherByHand(settings), ListSink()
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
    """It waits; the others are asked for meanwhile."""
    one, two = claim_of(T0), claim_of(T1)
    fetcher = fetcher_with((one, 5), (two, 9))
    held = chunk_of(one, [5])
    fetcher.hold(held)
    assert list(fetcher.pending()) == [held]
    assert set(requested(fetcher.fetch_request())) == {T1}
    fetcher.delivered(held)
    assert list(fetcher.pending()) == []
    assert set(requested(fetcher.fetch_request())) == {T0, T1}


def test_the_broker_does_not_wait_while_a_chunk_does() -> None:
    """Room may come at any moment; without one waiting the broker waits as configured."""
    one, two = claim_of(T0), claim_of(T1)
    fetcher = fetcher_with((one, 5), (two, 9))
    assert request_of(fetcher).max_wait_ms == SETTINGS.max_wait_ms
    fetcher.hold(chunk_of(one, [5]))
    assert request_of(fetcher).max_wait_ms == 0
    one.active = False
    fetcher.drop_inactive()
    assert request_of(fetcher).max_wait_ms == SETTINGS.max_wait_ms


def test_everything_held_asks_nothing() -> None:
    """The fetcher waits for room."""
    claim = claim_of()
    fetcher = fetcher_with((claim, 5))
    fetcher.hold(chunk_of(claim, [5]))
    assert fetcher.fetch_request() is None
    assert fetcher.offsets_request() is None


def test_a_chunk_of_an_older_claim_is_not_held_for_the_new_one() -> None:
    """The new claim starts clean; an older one's chunk is not its."""
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
    """The same partition came back: from its new offset, without what waited for room."""
    old, new = claim_of(), claim_of()
    fetcher = fetcher_with((old, 5))
    fetcher.hold(chunk_of(old, [5]))
    fetcher.add(new, 100)
    assert (len(fetcher), list(fetcher.pending())) == (1, [])
    assert requested(fetcher.fetch_request())[T0].fetch_offset == 100


def test_given_up_partitions_are_forgotten_with_what_they_held() -> None:
    """Also before they are forgotten nothing of theirs is offered."""
    claim, other = claim_of(T0), claim_of(T1)
    fetcher = fetcher_with((claim, 5), (other, 9))
    fetcher.hold(chunk_of(claim, [5]))
    claim.active = False
    assert list(fetcher.pending()) == []
    fetcher.drop_inactive()
    assert len(fetcher) == 1
    assert set(requested(fetcher.fetch_request())) == {T1}


def test_giving_all_back_says_where_each_must_go_on() -> None:
    """From its next offset, from the held chunk's start, or unknown; then nothing is left."""
    one, two, three = claim_of(T0), claim_of(T1), claim_of(OTHER)
    fetcher = fetcher_with((one, 5), (two, 9), (three, None))
    request = request_of(fetcher)
    (chunk,) = chunks_in(receive(fetcher, request, fetched(T1, build_message_set(records(9, 10)))))
    fetcher.hold(chunk)
    lost = fetcher.release_all("the broker went away")
    assert dict(lost_in(lost)) == {T0: 5, T1: 9, OTHER: None}
    assert {lost_leader.reason for lost_leader in lost} == {"the broker went away"}
    assert len(fetcher) == 0


def test_a_jump_that_still_waits_for_room_is_not_made_again_from_elsewhere() -> None:
    """Asking for the end anew would pass over what was written since; the offset stays."""
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


def test_a_stopped_partition_is_not_asked_for_and_not_given_back() -> None:
    """Its error is with the stream; another fetcher would only meet the same."""
    claim = claim_of()
    fetcher = fetcher_with((claim, 5))
    stop_by_a_large_message(fetcher, claim)
    (chunk,) = fetcher.pending()
    fetcher.delivered(chunk)
    assert fetcher.fetch_request() is None
    assert fetcher.offsets_request() is None
    assert fetcher.release_all("any") == ()


def test_a_stopped_partition_whose_error_still_waits_is_given_back() -> None:
    """The broker went away before the queue had room: the stream has not heard the error yet."""
    claim = claim_of()
    fetcher = fetcher_with((claim, 5))
    stop_by_a_large_message(fetcher, claim)
    assert lost_in(fetcher.release_all("any")) == [(T0, 5)]


def test_a_corrupt_message_stops_its_own_partition_only() -> None:
    """Believed the second time; its neighbour in the same answers goes on."""
    one, two = claim_of(T0), claim_of(T1)
    fetcher = fetcher_with((one, 0), (two, 0))
    data = bytearray(build_message_set(records(0, 1)))
    data[-1] ^= 1
    sound = build_message_set(records(*range(10)))
    got: dict[TopicPartition, list[int]] = {T0: [], T1: []}
    errors = []
    for _ in range(4):
        request = request_of(fetcher)
        responses = [
            fetched(tp, bytes(data) if tp == T0 else sound)
            for tp, it in requested(request).items()
            if tp == T0 or it.fetch_offset == 0
        ]
        for chunk in chunks_in(receive(fetcher, request, together(*responses))):
            got[chunk.claim.topic_partition] += [record.offset for record in chunk.records]
            errors += [chunk.poison.error] if chunk.poison else []
    assert got == {T0: [0], T1: list(range(10))}
    (error,) = errors
    assert isinstance(error, PartitionFailed)
    assert (error.topic_partition, error.offset) == (T0, 1)
    assert set(requested(fetcher.fetch_request())) == {T1}


def test_a_chunk_fits_a_real_queue() -> None:
    """The seam: what a fetcher delivers is what a stream's queue takes."""
    queue = ChunkQueue(1)
    claim = claim_of(sink=queue)
    fetcher = fetcher_with((claim, 5))
    (chunk,) = chunks_in(
        receive(fetcher, request_of(fetcher), fetched(T0, build_message_set(records(5))))
    )
    assert claim.sink.offer(chunk, lambda: None)
    assert queue.take(0) is chunk
