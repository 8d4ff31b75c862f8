"""How much one request asks for: ``fetch.max.bytes``, large entries, and turns."""

import dataclasses
from dataclasses import replace

from tests.support.chunks import ListSink, claim_of
from tests.support.fetch_answers import about, chunks_in, fetched, receive, requested, together
from tests.support.fetcher_by_hand import FetcherByHand
from tests.support.record_sets import records
from zkconsumer.fetch.claim import ChunkSink, PartitionClaim
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.wire.messages.fetch import FetchedTopic, FetchResponse

SETTINGS = FetchSettings(fetch_bytes=100_000, max_bytes=1_000_000, growth_max_bytes=5_000_000)


def fetcher_of(
    count: int, settings: FetchSettings = SETTINGS, sink: ChunkSink | None = None
) -> tuple[FetcherByHand, list[PartitionClaim]]:
    """A fetcher with so many partitions at offset 0, each with a queue of its own unless given."""
    fetcher = FetcherByHand(settings)
    claims = [claim_of(TopicPartition("t", number), sink=sink) for number in range(count)]
    for claim in claims:
        fetcher.add(claim, 0)
    return fetcher, claims


def sizes(fetcher: FetcherByHand) -> dict[int, int]:
    """How much is asked of each partition."""
    return {tp.partition: it.max_bytes for tp, it in requested(fetcher.fetch_request()).items()}


def meet_large(fetcher: FetcherByHand, claims: list[PartitionClaim], size: int) -> None:
    """Let these partitions find that their next message is of this many bytes."""
    data = build_message_set([Record(0, None, bytes(size - 26))])
    for claim in claims:
        request = fetcher.fetch_request()
        assert request is not None
        assert claim.topic_partition in requested(request)
        given = requested(request)[claim.topic_partition].max_bytes
        assert (
            chunks_in(receive(fetcher, request, fetched(claim.topic_partition, data[:given]))) == []
        )


def large_in_turn(fetcher: FetcherByHand, count: int, size: int) -> list[list[int]]:
    """Which of them get their large entry in each of so many fetches."""
    data = build_message_set([Record(0, None, bytes(size - 26))])
    turns = []
    for _ in range(count):
        request = fetcher.fetch_request()
        assert request is not None
        large = {tp for tp, it in requested(request).items() if it.max_bytes == size}
        turns.append([tp.partition for tp in large])
        receive(fetcher, request, together(*(fetched(tp, data) for tp in large)))
    return turns


def test_few_partitions_are_asked_for_the_fetch_size() -> None:
    """As long as all of them together stay below the bound."""
    fetcher, _ = fetcher_of(10)
    assert set(sizes(fetcher).values()) == {100_000}


def test_many_partitions_share_the_bound() -> None:
    """Each is asked for an equal part of it."""
    fetcher, _ = fetcher_of(50)
    assert set(sizes(fetcher).values()) == {20_000}


def test_no_partition_is_asked_for_next_to_nothing() -> None:
    """4 KiB each, however many there are; or the fetch size, if that is less."""
    fetcher, _ = fetcher_of(1_000)
    assert set(sizes(fetcher).values()) == {4_096}
    fetcher, _ = fetcher_of(1_000, replace(SETTINGS, fetch_bytes=100))
    assert set(sizes(fetcher).values()) == {100}


def test_what_waits_counts_against_the_bound() -> None:
    """Partitions that are not asked keep their part: it is taken by what they hold."""
    fetcher, claims = fetcher_of(20)
    request = fetcher.fetch_request()
    assert request is not None
    data = build_message_set(records(0))
    response = together(*(fetched(claim.topic_partition, data) for claim in claims[:10]))
    fetcher.receive_fetch(about(request, response), response)
    assert sizes(fetcher) == dict.fromkeys(range(10, 20), 50_000)


def test_a_large_message_is_asked_for_in_full() -> None:
    """Beside the others, who make do with half of the bound meanwhile."""
    fetcher, claims = fetcher_of(50)
    meet_large(fetcher, claims[:1], 400_000)
    wanted = sizes(fetcher)
    assert wanted.pop(0) == 400_000
    assert set(wanted.values()) == {10_000}


def test_a_message_larger_than_the_bound_comes_all_the_same() -> None:
    """It alone may go beyond."""
    fetcher, claims = fetcher_of(10)
    meet_large(fetcher, claims[:1], 3_000_000)
    wanted = sizes(fetcher)
    assert wanted.pop(0) == 3_000_000
    assert sum(wanted.values()) <= 500_000


def test_large_messages_take_turns() -> None:
    """As many as half the bound holds, at least one; who was asked goes to the end of the line."""
    fetcher, claims = fetcher_of(4)
    meet_large(fetcher, claims, 300_000)
    assert sorted(large_in_turn(fetcher, 4, 300_000)) == [[0], [1], [2], [3]]
    fetcher, claims = fetcher_of(4)
    meet_large(fetcher, claims, 200_000)
    assert len([tp for tp, size in sizes(fetcher).items() if size > 100_000]) == 2


def test_one_queue_gets_one_large_message_at_a_time() -> None:
    """A second one would only wait here, outside of the budget."""
    sink = ListSink()
    fetcher, claims = fetcher_of(4, sink=sink)
    meet_large(fetcher, claims, 200_000)
    assert sorted(large_in_turn(fetcher, 4, 200_000)) == [[0], [1], [2], [3]]


def test_a_large_message_is_not_fetched_to_wait() -> None:
    """Its queue is full: the others are asked at once, and the broker is not to hold the answer."""
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


def test_after_a_large_message_all_is_as_before() -> None:
    """It arrives, and its partition is asked for its part again."""
    fetcher, claims = fetcher_of(2)
    meet_large(fetcher, claims[:1], 400_000)
    request = fetcher.fetch_request()
    assert request is not None
    data = build_message_set([Record(0, None, bytes(400_000 - 26))])
    (chunk,) = chunks_in(receive(fetcher, request, fetched(claims[0].topic_partition, data)))
    assert chunk.next_offset == 1
    assert sizes(fetcher) == {0: 100_000, 1: 100_000}


def test_the_front_of_the_next_message_tells_how_much_to_ask_for() -> None:
    """What the last answer broke off in is asked for in full, without another try."""
    fetcher, claims = fetcher_of(1, replace(SETTINGS, fetch_bytes=1_000))
    request = fetcher.fetch_request()
    assert request is not None
    data = build_message_set([Record(0, None, b"small"), Record(1, None, bytes(5_000))])
    (chunk,) = chunks_in(
        receive(fetcher, request, fetched(claims[0].topic_partition, data[:1_000]))
    )
    assert chunk.next_offset == 1
    assert sizes(fetcher) == {0: 5_026}


def test_an_empty_answer_ends_a_large_message() -> None:
    """It is not there any more; others must not wait for it for ever."""
    fetcher, claims = fetcher_of(1)
    meet_large(fetcher, claims, 400_000)
    request = fetcher.fetch_request()
    assert request is not None
    assert receive(fetcher, request, fetched(claims[0].topic_partition)) == ()
    assert sizes(fetcher) == {0: 100_000}


def test_partitions_that_share_a_slow_queue_take_turns() -> None:
    """Room for one piece at a time: each partition gets every second one, not the first all."""
    fetcher, claims = fetcher_of(2)
    data = build_message_set([Record(offset, None, bytes(3_000)) for offset in range(20)])
    order: list[int] = []
    for _ in range(12):
        request = fetcher.fetch_request()
        if request is not None:
            responses = (fetched(claim.topic_partition, data) for claim in claims)
            fetcher.receive_fetch(request, together(*responses))
        first = fetcher.packed()[0]
        fetcher.piece(first, 1)
        order.append(first.topic_partition.partition)
    assert order == [0, 1] * 6


def test_a_fetcher_lets_go_of_the_response() -> None:
    """Whatever waits to be unpacked, the frame that it came in can be forgotten."""
    fetcher, claims = fetcher_of(2)
    frame = bytearray(build_message_set(records(*range(50))))
    request = fetcher.fetch_request()
    assert request is not None
    responses = [fetched(claim.topic_partition) for claim in claims]
    views = [
        dataclasses.replace(part, records=memoryview(frame))
        for one_answer in responses
        for topic in one_answer.topics
        for part in topic.partitions
    ]
    response = FetchResponse(topics=(FetchedTopic(topic="t", partitions=tuple(views)),))
    fetcher.receive_fetch(request, response)
    fetcher.let_go()
    del responses, views, response
    frame.clear()
    assert len(fetcher.packed()) == 2
