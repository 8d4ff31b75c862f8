"""The maximum size of a response, derived from its request."""

import pytest

from tests.support.altered_messages import altered
from zkconsumer.wire.messages.api_versions import ApiVersionsRequest
from zkconsumer.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest
from zkconsumer.wire.messages.metadata import MetadataRequest
from zkconsumer.wire.response_bounds import LARGEST_ENTRY_BYTES, response_bound

MEBIBYTE = 1 << 20
AROUND_BYTES = 2 * MEBIBYTE


def fetch(*sizes: int, **fields: int) -> FetchRequest:
    """Return a fetch request for this many bytes of each partition."""
    entries = tuple(
        FetchPartition(partition=number, fetch_offset=0, max_bytes=size)
        for number, size in enumerate(sizes)
    )
    topics = (FetchTopic(topic="t", partitions=entries),)
    return altered(FetchRequest(max_wait_ms=1, min_bytes=1, topics=topics), **fields)


@pytest.mark.parametrize("version", [0, 2, 3, 12])
def test_a_fetch_response_is_bounded_by_its_partitions_limits(version: int) -> None:
    """A fetch response may have the sum of its partitions' limits, and one entry more."""
    bound = response_bound(fetch(10 * MEBIBYTE, 20 * MEBIBYTE), version)
    assert 0 < bound - 30 * MEBIBYTE - LARGEST_ENTRY_BYTES < AROUND_BYTES
    bound = response_bound(fetch(200 * MEBIBYTE), version, entry_bytes=MEBIBYTE)
    assert 0 < bound - 201 * MEBIBYTE < AROUND_BYTES


def test_from_version_3_on_the_whole_is_bounded() -> None:
    """From version 3 on the limit of the whole request bounds the response."""
    request = fetch(*[MEBIBYTE] * 500, max_bytes=50 * MEBIBYTE)
    assert response_bound(request, 2) > 600 * MEBIBYTE
    assert 0 < response_bound(request, 3) - 150 * MEBIBYTE < AROUND_BYTES


def test_in_a_session_the_bound_covers_all_partitions() -> None:
    """In a fetch session the response may be about all of its partitions, not only those named."""
    request = fetch(1_000, max_bytes=50 * MEBIBYTE, session_id=7, session_epoch=3)
    assert 0 < response_bound(request, 7) - 150 * MEBIBYTE < AROUND_BYTES
    first = fetch(1_000, max_bytes=50 * MEBIBYTE, session_epoch=0)
    assert 0 < response_bound(first, 7) - LARGEST_ENTRY_BYTES < AROUND_BYTES


def test_no_response_of_600_megabytes_is_accepted() -> None:
    """With usual settings no response of 600 megabytes is accepted."""
    for request in (fetch(MEBIBYTE), MetadataRequest(topics=()), ApiVersionsRequest()):
        assert response_bound(request, 0) < 600 * 10**6


def test_other_apis_have_bounds_of_their_own() -> None:
    """Other APIs have bounds of their own, large enough for metadata of 200,000 partitions."""
    heartbeat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert response_bound(heartbeat, 0) == MEBIBYTE
    assert response_bound(MetadataRequest(topics=()), 0) > 200_000 * 100
