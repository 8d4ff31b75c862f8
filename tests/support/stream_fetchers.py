"""Fetchers with a few partitions, for tests that pass them responses."""

from tests.support.fetch_responses import (
    chunks_in,
    fetched,
    receive,
    requested,
)
from tests.support.manual_fetcher import ManualFetcher
from zkconsumer.errors import MessageTooLarge
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.fetch.core.starts import LogEdge
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.wire.messages.fetch import FetchRequest

SETTINGS = FetchSettings(
    max_partition_bytes=1_000,
    growth_max_bytes=5_000,
    min_bytes=7,
    max_wait_ms=33,
    reset=LogEdge.EARLIEST,
)
OTHER = TopicPartition("other", 4)


def fetcher_with(*starts: tuple[PartitionClaim, int | None]) -> ManualFetcher:
    """Return a fetcher with these partitions."""
    fetcher = ManualFetcher(SETTINGS)
    for claim, offset in starts:
        fetcher.add(claim, offset)
    return fetcher


def request_of(fetcher: ManualFetcher) -> FetchRequest:
    """Return the next fetch request, which must exist."""
    request = fetcher.fetch_request()
    assert request is not None
    return request


def stop_by_a_large_message(fetcher: ManualFetcher, claim: PartitionClaim) -> None:
    """Let the partition stop at a message that exceeds the limit, with its chunk held back."""
    request = request_of(fetcher)
    offset = requested(request)[claim.topic_partition].fetch_offset
    data = build_message_set([Record(offset, None, bytes(9_000))])
    (chunk,) = chunks_in(receive(fetcher, request, fetched(claim.topic_partition, data[:1_000])))
    assert chunk.poison is not None
    assert isinstance(chunk.poison.error, MessageTooLarge)
    fetcher.hold(chunk)
