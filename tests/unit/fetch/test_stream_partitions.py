"""What a stream fetcher requests from its broker, and what it does with responses."""

import pytest

from tests.support.altered_messages import altered
from tests.support.chunks import T0, T1, claim_of
from tests.support.fetch_responses import (
    chunks_in,
    fetched,
    listed,
    lost_partitions,
    merged,
    receive,
    requested,
)
from tests.support.manual_fetcher import ManualFetcher
from tests.support.record_sets import records
from tests.support.stream_fetchers import (
    OTHER,
    fetcher_with,
    request_of,
)
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.core.starts import LogEdge
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.fetch.stream_partition import LeaderUnusable
from zkconsumer.records.build import build_message_set
from zkconsumer.wire.messages.fetch import FetchResponse
from zkconsumer.wire.messages.list_offsets import ListOffsetsResponse

# --- requests ------------------------------------------------------------------------------------


def test_an_empty_fetcher_sends_nothing() -> None:
    """An empty list of topics would request all of them."""
    fetcher = fetcher_with()
    assert fetcher.fetch_request() is None
    assert fetcher.offsets_request() is None
    assert len(fetcher) == 0


def test_one_request_asks_for_all_partitions() -> None:
    """Each has its own offset and the configured sizes and waits."""
    fetcher = fetcher_with((claim_of(T0), 5), (claim_of(T1), 9), (claim_of(OTHER), 0))
    request = request_of(fetcher)
    assert (request.replica_id, request.max_wait_ms, request.min_bytes) == (-1, 33, 7)
    assert {
        tp: (partition.fetch_offset, partition.max_bytes)
        for tp, partition in requested(request).items()
    } == {
        T0: (5, 1_000),
        T1: (9, 1_000),
        OTHER: (0, 1_000),
    }
    assert [topic.topic for topic in request.topics] == ["t", "other"]


def test_partitions_without_an_offset_are_looked_up_by_the_reset_policy() -> None:
    """One ListOffsets request covers all of them; they are not fetched before."""
    fetcher = fetcher_with((claim_of(T0), None), (claim_of(T1), 9))
    request = fetcher.offsets_request()
    assert request is not None
    (topic,) = request.topics
    (partition,) = topic.partitions
    assert (topic.topic, partition.partition) == ("t", 0)
    assert (partition.timestamp, partition.max_offsets) == (-2, 1)
    assert set(requested(fetcher.fetch_request())) == {T1}


def test_the_reset_policy_largest_requests_the_end_of_the_log() -> None:
    """The timestamp -1 stands for the end."""
    fetcher = ManualFetcher(FetchSettings(reset=LogEdge.LATEST))
    fetcher.add(claim_of(), None)
    request = fetcher.offsets_request()
    assert request is not None
    assert request.topics[0].partitions[0].timestamp == -1


# --- starts --------------------------------------------------------------------------------------


def test_an_offset_from_the_broker_starts_the_partition() -> None:
    """It becomes the fetch offset and the consumed offset."""
    claim = claim_of()
    fetcher = fetcher_with((claim, None))
    assert fetcher.receive_offsets(listed(T0, 42)) == ()
    assert requested(fetcher.fetch_request())[T0].fetch_offset == 42
    assert claim.consumed_offset == 42
    assert fetcher.offsets_request() is None


@pytest.mark.parametrize(
    "response",
    [
        listed(T0, error=6),
        listed(T0, error=-1),
        listed(T0),
        listed(T0, -1),
        listed(T0, -(1 << 40)),
        listed(T0, (1 << 63) - 1),
    ],
)
def test_without_an_offset_the_partition_is_given_back(response: ListOffsetsResponse) -> None:
    """After an error or an impossible offset its leader is looked up again."""
    fetcher = fetcher_with((claim_of(T0), None), (claim_of(T1), 9))
    outcomes = fetcher.receive_offsets(response)
    assert lost_partitions(outcomes) == [(T0, None)]
    assert len(fetcher) == 1


def test_an_unrequested_offset_is_ignored() -> None:
    """For a partition that has an offset, is not here, or was given up."""
    here, gone = claim_of(T0), claim_of(T1)
    fetcher = fetcher_with((here, 5), (gone, None))
    gone.active = False
    assert fetcher.receive_offsets(listed(T0, 42)) == ()
    assert fetcher.receive_offsets(listed(OTHER, 42)) == ()
    assert fetcher.receive_offsets(listed(T1, 42)) == ()
    assert requested(fetcher.fetch_request())[T0].fetch_offset == 5
    assert gone.consumed_offset is None


# --- fetch responses -----------------------------------------------------------------------------


def test_a_response_advances_only_its_partition() -> None:
    """Records become a chunk, and the high watermark is kept."""
    claim = claim_of(T0)
    fetcher = fetcher_with((claim, 5), (claim_of(T1), 9))
    request = request_of(fetcher)
    response = fetched(T0, build_message_set(records(5, 6)), high_watermark=8)
    (chunk,) = chunks_in(receive(fetcher, request, response))
    assert chunk.claim is claim
    assert [record.offset for record in chunk.records] == [5, 6]
    assert claim.high_watermark == 8
    offsets = {
        tp: partition.fetch_offset for tp, partition in requested(fetcher.fetch_request()).items()
    }
    assert offsets == {T0: 7, T1: 9}


def test_the_end_of_the_log_is_no_chunk() -> None:
    """At the end of the log no chunk is made, and the same is requested again."""
    fetcher = fetcher_with((claim_of(), 5))
    assert receive(fetcher, request_of(fetcher), fetched(T0)) == ()
    assert requested(fetcher.fetch_request())[T0].fetch_offset == 5


def test_a_response_counts_once() -> None:
    """A partition twice in one response, or a response twice, gives one chunk."""
    fetcher = fetcher_with((claim_of(), 5))
    request = request_of(fetcher)
    response = fetched(T0, build_message_set(records(5)))
    assert len(chunks_in(receive(fetcher, request, merged(response, response)))) == 1
    assert receive(fetcher, request, response) == ()


def test_a_response_to_another_offset_is_stale() -> None:
    """The partition was reset or reassigned meanwhile: records and errors alike are dropped."""
    fetcher = fetcher_with((claim_of(), 5))
    request = request_of(fetcher)
    fetcher.add(claim_of(), 50)
    for stale in (
        fetched(T0, build_message_set(records(5))),
        fetched(T0, error=ErrorCode.NOT_LEADER_FOR_PARTITION),
        fetched(T0, error=ErrorCode.OFFSET_OUT_OF_RANGE),
    ):
        assert receive(fetcher, request, stale) == ()
    assert requested(fetcher.fetch_request())[T0].fetch_offset == 50


def test_a_response_for_an_inactive_claim_is_dropped() -> None:
    """Its position, high watermark and queue stay unchanged."""
    claim = claim_of()
    fetcher = fetcher_with((claim, 5))
    request = request_of(fetcher)
    claim.active = False
    assert receive(fetcher, request, fetched(T0, build_message_set(records(5)))) == ()
    assert claim.high_watermark == -1


def test_a_response_for_a_removed_partition_is_dropped() -> None:
    """So is one for a partition that was never requested."""
    fetcher = fetcher_with((claim_of(), 5))
    request = request_of(fetcher)
    fetcher.release_all("test")
    assert receive(fetcher, request, fetched(T0, build_message_set(records(5)))) == ()
    assert receive(fetcher, request, fetched(OTHER, build_message_set(records(0)))) == ()


def test_a_partition_left_out_of_a_response_is_given_back() -> None:
    """A retry would get the same response; a claim that was given up is not mentioned."""
    gone = claim_of(OTHER)
    fetcher = fetcher_with((claim_of(), 5), (claim_of(T1), 9), (gone, 0))
    request = request_of(fetcher)
    gone.active = False
    assert lost_partitions(fetcher.receive_fetch(request, fetched(T1))) == [(T0, 5)]
    fetcher.drop_inactive()
    assert set(requested(fetcher.fetch_request())) == {T1}


def test_an_empty_response_with_a_throttle_time_changes_nothing() -> None:
    """The partitions are requested again after the pause."""
    fetcher = fetcher_with((claim_of(), 5))
    response = FetchResponse(topics=(), throttle_time_ms=300)
    assert receive(fetcher, request_of(fetcher), response) == ()
    assert requested(fetcher.fetch_request())[T0].fetch_offset == 5


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_FOR_PARTITION,
        ErrorCode.UNKNOWN,
        999,
    ],
)
def test_an_error_gives_the_partition_back(code: int) -> None:
    """Its leader is looked up again, with the position and the reason; other partitions stay."""
    fetcher = fetcher_with((claim_of(T0), 5), (claim_of(T1), 9))
    outcomes = receive(
        fetcher,
        request_of(fetcher),
        merged(fetched(T0, error=code), fetched(T1, build_message_set(records(9)))),
    )
    assert lost_partitions(outcomes) == [(T0, 5)]
    assert len(chunks_in(outcomes)) == 1
    (lost,) = [outcome for outcome in outcomes if isinstance(outcome, LeaderUnusable)]
    assert lost.reason.startswith("Fetch from broker 0 (broker:9092): ")
    assert set(requested(fetcher.fetch_request())) == {T1}


def test_a_response_with_a_removed_partition_serves_the_others() -> None:
    """One partition was given up while the request was in flight."""
    gone, ours = claim_of(T0), claim_of(T1)
    fetcher = fetcher_with((gone, 0), (ours, 0))
    request = request_of(fetcher)
    gone.active = False
    data = build_message_set(records(0, 1))
    responses = [fetched(tp, data) for tp in (T0, T1)]
    parts = tuple(
        part for fetch_response in responses for part in fetch_response.topics[0].partitions
    )
    response = FetchResponse(topics=(altered(responses[0].topics[0], partitions=parts),))
    found = chunks_in(receive(fetcher, request, response))
    assert [(chunk.claim, len(chunk.records)) for chunk in found] == [(ours, 2)]
