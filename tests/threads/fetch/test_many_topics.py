"""Partitions of several topics in one fetch loop: each gets its own records."""

import pytest

from tests.support.fetch_bench import FetchBench, claim_on, each_loop, new_queue, values
from zkconsumer.fetch.claim import Chunk
from zkconsumer.model import TopicPartition

__all__ = ["each_loop"]

pytestmark = pytest.mark.usefixtures("each_loop")

MESSAGES = 20


def test_partitions_of_several_topics_are_not_mixed_up() -> None:
    """They are added in another order than requests have, and the loop is woken at each piece."""
    wanted = {TopicPartition(topic, n): MESSAGES for n in (1, 0, 2) for topic in ("b", "t", "a")}
    with FetchBench() as bench:
        for topic in ("a", "b", "t"):
            bench.cluster.create_topic(topic, 3)
        loop, queue = bench.loop(), new_queue(1)
        for tp in wanted:
            for number in range(MESSAGES):
                # Each value is large compared with a fetch, and unlike any of other partitions.
                text = f"{tp} {number} ".ljust(500 + 300 * tp.partition, ".")
                bench.cluster.append(tp, values(text))
            loop.add(claim_on(queue, tp), 0)
        bench.run(loop)
        offsets = dict.fromkeys(wanted, 0)
        while offsets != wanted:
            loop.wake()
            item = queue.take(5_000)
            assert isinstance(item, Chunk), f"only {offsets} came"
            tp = item.claim.topic_partition
            assert item.fetch_offset == offsets[tp]
            for record in item.records:
                assert record.offset == offsets[tp]
                assert (record.value or b"").startswith(f"{tp} {offsets[tp]} ".encode())
                offsets[tp] += 1
