"""Partitions of several topics in one fetch loop: what comes is what each of them holds."""

import pytest

from tests.support.fetch_bench import FetchBench, claim_on, each_loop, new_queue, values
from zkconsumer.fetch.claim import Chunk
from zkconsumer.model import TopicPartition

__all__ = ["each_loop"]

pytestmark = pytest.mark.usefixtures("each_loop")

MESSAGES = 20


def test_partitions_of_several_topics_keep_what_is_theirs() -> None:
    """They come in an order that no request has, and the loop is interrupted at each piece."""
    wanted = {TopicPartition(topic, n): MESSAGES for n in (1, 0, 2) for topic in ("b", "t", "a")}
    with FetchBench() as bench:
        for topic in ("a", "b", "t"):
            bench.cluster.create_topic(topic, 3)
        loop, queue = bench.loop(), new_queue(1)
        for tp in wanted:
            for number in range(MESSAGES):
                # Large against a fetch, and different in each partition: every offset is seen.
                text = f"{tp} {number} ".ljust(500 + 300 * tp.partition, ".")
                bench.cluster.append(tp, values(text))
            loop.add(claim_on(queue, tp), 0)
        bench.run(loop)
        came = dict.fromkeys(wanted, 0)
        while came != wanted:
            loop.wake()
            item = queue.take(5_000)
            assert isinstance(item, Chunk), f"only {came} came"
            tp = item.claim.topic_partition
            assert item.fetch_offset == came[tp]
            for record in item.records:
                assert record.offset == came[tp]
                assert (record.value or b"").startswith(f"{tp} {came[tp]} ".encode())
                came[tp] += 1
