"""How many bytes a request asks for: ``fetch.max.bytes``, large entries, and turns."""

from dataclasses import replace

from tests.support.altered_messages import altered
from tests.support.chunks import ListSink, claim_of
from tests.support.fetch_responses import (
    chunks_in,
    fetched,
    merged,
    receive,
    requested,
    requested_about,
)
from tests.support.manual_fetcher import ManualFetcher
from tests.support.record_sets import records
from zkconsumer.fetch.claim import ChunkSink, PartitionClaim
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.wire.messages.fetch import FetchedTopic, FetchResponse

SETTINGS = FetchSettings(
    max_partition_bytes=100_000, max_bytes=1_000_000, growth_max_bytes=5_000_000
)


def fetcher_of(
    count: int, settings: FetchSettings = SETTINGS, sink: ChunkSink | None = None
) -> tuple[ManualFetcher, list[PartitionClaim]]:
    """Build a fetcher with ``count`` partitions at offset 0.

    Each has its own queue unless one is given.
    """
    fetcher = ManualFetcher(settings)
    claims = [claim_of(TopicPartition("t", number), sink=sink) for number in range(count)]
    for claim in claims:
        fetcher.add(claim, 0)
    return fetcher, claims


def sizes(fetcher: ManualFetcher) -> dict[int, int]:
    """Return how many bytes are requested of each partition."""
    return {
        tp.partition: partition.max_bytes
        for tp, partition in requested(fetcher.fetch_request()).items()
    }


def meet_large(fetcher: ManualFetcher, claims: list[PartitionClaim], size: int) -> None:
    """Let these partitions find that their next message has this size."""
    data = build_message_set([Record(0, None, bytes(size - 26))])
    for claim in claims:
        request = fetcher.fetch_request()
        assert request is not None
        assert claim.topic_partition in requested(request)
        given = requested(request)[claim.topic_partition].max_bytes
        assert (
            chunks_in(receive(fetcher, request, fetched(claim.topic_partition, data[:given]))) == []
        )


def large_in_turn(fetcher: ManualFetcher, count: int, size: int) -> list[list[int]]:
    """Return which partitions get their large entry in each of ``count`` fetches."""
    data = build_message_set([Record(0, None, bytes(size - 26))])
    turns = []
    for _ in range(count):
        request = fetcher.fetch_request()
        assert request is not None
        large = {tp for tp, partition in requested(request).items() if partition.max_bytes == size}
        turns.append([tp.partition for tp in large])
        receive(fetcher, request, merged(*(fetched(tp, data) for tp in large)))
    return turns


def test_few_partitions_are_requested_with_the_fetch_size() -> None:
    """As long as all of them together stay below the limit."""
    fetcher, _ = fetcher_of(10)
    assert set(sizes(fetcher).values()) == {100_000}


def test_many_partitions_share_the_limit() -> None:
    """Each is requested with an equal part of it."""
    fetcher, _ = fetcher_of(50)
    assert set(sizes(fetcher).values()) == {20_000}


def test_every_partition_is_requested_with_a_minimum_size() -> None:
    """4 KiB each, however many there are, or the fetch size if that is less."""
    fetcher, _ = fetcher_of(1_000)
    assert set(sizes(fetcher).values()) == {4_096}
    fetcher, _ = fetcher_of(1_000, replace(SETTINGS, max_partition_bytes=100))
    assert set(sizes(fetcher).values()) == {100}


def test_buffered_records_count_against_the_limit() -> None:
    """A partition that is not requested keeps its part for what it holds."""
    fetcher, claims = fetcher_of(20)
    request = fetcher.fetch_request()
    assert request is not None
    data = build_message_set(records(0))
    response = merged(*(fetched(claim.topic_partition, data) for claim in claims[:10]))
    fetcher.receive_fetch(requested_about(request, response), response)
    assert sizes(fetcher) == dict.fromkeys(range(10, 20), 50_000)


def test_a_large_message_is_requested_in_full() -> None:
    """The other partitions share half of the limit meanwhile."""
    fetcher, claims = fetcher_of(50)
    meet_large(fetcher, claims[:1], 400_000)
    wanted = sizes(fetcher)
    assert wanted.pop(0) == 400_000
    assert set(wanted.values()) == {10_000}


def test_a_message_larger_than_the_limit_is_fetched() -> None:
    """A single message may exceed it."""
    fetcher, claims = fetcher_of(10)
    meet_large(fetcher, claims[:1], 3_000_000)
    wanted = sizes(fetcher)
    assert wanted.pop(0) == 3_000_000
    assert sum(wanted.values()) <= 500_000


def test_large_messages_take_turns() -> None:
    """As many as half the limit holds, but at least one, and then the next ones."""
    fetcher, claims = fetcher_of(4)
    meet_large(fetcher, claims, 300_000)
    assert sorted(large_in_turn(fetcher, 4, 300_000)) == [[0], [1], [2], [3]]
    fetcher, claims = fetcher_of(4)
    meet_large(fetcher, claims, 200_000)
    assert len([tp for tp, size in sizes(fetcher).items() if size > 100_000]) == 2


def test_one_queue_gets_one_large_message_at_a_time() -> None:
    """A second one would only wait in the fetcher, outside of the memory budget."""
    sink = ListSink()
    fetcher, claims = fetcher_of(4, sink=sink)
    meet_large(fetcher, claims, 200_000)
    assert sorted(large_in_turn(fetcher, 4, 200_000)) == [[0], [1], [2], [3]]


def test_a_large_message_is_not_fetched_while_its_queue_is_full() -> None:
    """Other partitions are fetched at once, without a wait of the broker."""
    sink = ListSink(room=0)
    fetcher, claims = fetcher_of(1, sink=sink)
    fetcher.add(claim_of(TopicPartition("t", 1)), 0)
    meet_large(fetcher, claims, 400_000)
    request = fetcher.fetch_request()
    assert request is not None
    assert [tp.partition for tp in requested(request)] == [1]
    assert request.max_wait_ms == 0
    sink.room = 1
    assert set(sizes(fetcher)) == {0, 1}


def test_after_a_large_message_sizes_are_as_before() -> None:
    """When it has arrived, its partition gets its usual part again."""
    fetcher, claims = fetcher_of(2)
    meet_large(fetcher, claims[:1], 400_000)
    request = fetcher.fetch_request()
    assert request is not None
    data = build_message_set([Record(0, None, bytes(400_000 - 26))])
    (chunk,) = chunks_in(receive(fetcher, request, fetched(claims[0].topic_partition, data)))
    assert chunk.next_offset == 1
    assert sizes(fetcher) == {0: 100_000, 1: 100_000}


def test_the_header_of_a_truncated_message_sizes_the_next_request() -> None:
    """It is requested in full, without another attempt."""
    fetcher, claims = fetcher_of(1, replace(SETTINGS, max_partition_bytes=1_000))
    request = fetcher.fetch_request()
    assert request is not None
    data = build_message_set([Record(0, None, b"small"), Record(1, None, bytes(5_000))])
    (chunk,) = chunks_in(
        receive(fetcher, request, fetched(claims[0].topic_partition, data[:1_000]))
    )
    assert chunk.next_offset == 1
    assert sizes(fetcher) == {0: 5_026}


def test_an_empty_response_ends_a_large_message() -> None:
    """The message no longer exists, and others must not wait for it for ever."""
    fetcher, claims = fetcher_of(1)
    meet_large(fetcher, claims, 400_000)
    request = fetcher.fetch_request()
    assert request is not None
    assert receive(fetcher, request, fetched(claims[0].topic_partition)) == ()
    assert sizes(fetcher) == {0: 100_000}


def test_partitions_that_share_a_slow_queue_take_turns() -> None:
    """With capacity for one piece at a time, each partition gets every second one."""
    fetcher, claims = fetcher_of(2)
    data = build_message_set([Record(offset, None, bytes(3_000)) for offset in range(20)])
    order: list[int] = []
    for _ in range(12):
        request = fetcher.fetch_request()
        if request is not None:
            responses = (fetched(claim.topic_partition, data) for claim in claims)
            fetcher.receive_fetch(request, merged(*responses))
        first = fetcher.packed()[0]
        fetcher.piece(first, 1)
        order.append(first.topic_partition.partition)
    assert order == [0, 1] * 6


def test_a_fetcher_does_not_keep_responses_alive() -> None:
    """Packed records are copied, so that the frame of the response can be freed."""
    fetcher, claims = fetcher_of(2)
    frame = bytearray(build_message_set(records(*range(50))))
    request = fetcher.fetch_request()
    assert request is not None
    responses = [fetched(claim.topic_partition) for claim in claims]
    views = [
        altered(part, records=memoryview(frame))
        for fetch_response in responses
        for topic in fetch_response.topics
        for part in topic.partitions
    ]
    response = FetchResponse(topics=(FetchedTopic(topic="t", partitions=tuple(views)),))
    fetcher.receive_fetch(request, response)
    fetcher.let_go()
    del responses, views, response
    frame.clear()
    assert len(fetcher.packed()) == 2
