"""Partitions that wait for room in one queue: each comes to its right, whatever is lost."""

from dataclasses import replace

from tests.support.chunks import T0, T1
from tests.support.fetch_bench import SETTINGS, FetchBench, claim_on, take_values, values, wait_for
from zkconsumer.fetch.claim import Chunk
from zkconsumer.model import Record
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.chunk_queue import ChunkQueue


def test_a_record_larger_than_the_share_is_not_passed_by_small_ones_for_ever() -> None:
    """Another partition of the stream has a long backlog; the large one comes soon all the same."""
    with FetchBench() as bench:
        bench.cluster.append(T0, [Record(-1, None, bytes(500)) for _ in range(1_000)])
        bench.cluster.append(T1, [Record(-1, None, bytes(9_000))])
        queue = ChunkQueue(1_000, ByteBudget(6_000))
        loop = bench.loop(settings=replace(SETTINGS, growth_max_bytes=20_000))
        loop.add(claim_on(queue, T0), 0)
        loop.add(claim_on(queue, T1), 0)
        bench.run(loop)
        came: list[int] = []
        while 1 not in came:
            if not came or queue.chunk_count():
                wait_for(lambda: queue._waiters, "the fetcher to wait for room")
            item = queue.take(5_000)
            assert isinstance(item, Chunk)
            came.append(item.claim.topic_partition.partition)
            assert len(came) < 20


def test_a_call_for_room_that_was_swallowed_holds_nothing_up_for_long() -> None:
    """A signal handler that raises may do that to it; the fetcher looks around by itself."""
    with FetchBench() as bench:
        bench.cluster.append(T0, values("a"))
        queue = ChunkQueue(1)
        loop = bench.run(bench.loop())
        loop.add(claim_on(queue), 0)
        wait_for(queue.chunk_count, "the queue to be full")
        bench.cluster.append(T0, values("b"))
        wait_for(lambda: queue._waiters, "the second one to wait")
        queue._waiters.clear()
        assert take_values(queue, 2) == ["a", "b"]
