"""Partitions that wait for capacity of one queue: each gets its turn, whatever is lost."""

from dataclasses import replace

import pytest

from tests.support.chunks import T0, T1, ListSink, claim_of
from tests.support.fetch_bench import (
    SETTINGS,
    FetchBench,
    claim_on,
    each_loop,
    forget_waiters,
    new_queue,
    take_values,
    values,
    wait_for,
    waiting_for,
)
from tests.support.fetch_responses import fetched, requested, requested_about
from tests.support.record_sets import records
from tests.support.stream_fetchers import OTHER, fetcher_with, request_of
from zkconsumer.fetch.claim import Chunk
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set
from zkconsumer.streams.budget import ByteBudget

__all__ = ["each_loop"]

pytestmark = pytest.mark.usefixtures("each_loop")


def test_a_large_record_is_not_starved_by_small_ones() -> None:
    """Another partition of the stream has a long backlog, but the large record comes soon."""
    with FetchBench() as bench:
        bench.cluster.append(T0, [Record(-1, None, bytes(500)) for _ in range(1_000)])
        bench.cluster.append(T1, [Record(-1, None, bytes(9_000))])
        queue = new_queue(1_000, ByteBudget(6_000))
        loop = bench.loop(settings=replace(SETTINGS, growth_max_bytes=20_000))
        loop.add(claim_on(queue, T0), 0)
        loop.add(claim_on(queue, T1), 0)
        bench.run(loop)
        partitions: list[int] = []
        while 1 not in partitions:
            if not partitions or queue.chunk_count():
                wait_for(lambda: waiting_for(queue), "the fetcher to wait for room")
            item = queue.take(5_000)
            assert isinstance(item, Chunk)
            partitions.append(item.claim.topic_partition.partition)
            assert len(partitions) < 20


def test_a_lost_capacity_callback_does_not_block_for_long() -> None:
    """A signal handler that raises may lose it; the fetcher checks for itself as well."""
    with FetchBench() as bench:
        bench.cluster.append(T0, values("a"))
        queue = new_queue(1)
        loop = bench.run(bench.loop())
        loop.add(claim_on(queue), 0)
        wait_for(queue.chunk_count, "the queue to be full")
        bench.cluster.append(T0, values("b"))
        wait_for(lambda: waiting_for(queue), "the second one to wait")
        forget_waiters(queue)
        assert take_values(queue, 2) == ["a", "b"]


def test_no_more_is_fetched_for_a_queue_that_a_chunk_waits_for() -> None:
    """Its stream has work, and each chunk would cost a request; other queues are filled."""
    shared = ListSink(room=0)
    one, two = claim_of(T0, sink=shared), claim_of(T1, sink=shared)
    fetcher = fetcher_with((one, 0), (two, 0), (claim_of(OTHER), 0))
    request = request_of(fetcher)
    assert set(requested(request)) == {T0, T1, OTHER}
    response = fetched(T0, build_message_set(records(0)))
    fetcher.receive_fetch(requested_about(request, response), response)
    assert set(requested(fetcher.fetch_request())) == {OTHER}
    assert fetcher.piece(one, 1_000) is not None
    assert set(requested(fetcher.fetch_request())) == {T0, T1, OTHER}
