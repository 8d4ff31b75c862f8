"""The native loop with some queues full and others empty, or with nothing to do."""

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.chunks import T0, T1
from tests.support.fetch_bench import (
    SETTINGS,
    FetchBench,
    claim_on,
    each_loop,
    new_queue,
    take_values,
    values,
    wait_for,
)
from tests.support.native_chunks import native_queue
from tests.support.pump_bench import Slot, pump_bench, slot
from tests.support.queues import needs_native_engine
from tests.support.record_sets import records
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.streams.budget import ByteBudget

if TYPE_CHECKING:
    from zkconsumer.streams.queues import NativeChunkQueue

__all__ = ["each_loop"]

pytestmark = needs_native_engine


@pytest.mark.usefixtures("each_loop")
def test_a_busy_queue_is_not_delayed_by_an_idle_one() -> None:
    """A response that leaves few free bytes is followed by the next request at once."""
    settings = replace(SETTINGS, max_wait_ms=20_000, request_timeout_ms=30_000)
    with FetchBench() as bench:
        budget = ByteBudget(4 * settings.max_partition_bytes)
        busy, idle = new_queue(100, budget), new_queue(100, budget)
        loop = bench.loop(settings=settings)
        loop.add(claim_on(busy, T0), 0)
        loop.add(claim_on(idle, T1), 0)
        bench.run(loop)
        for number in range(4):
            # Large enough that no early request fits.
            text = str(number) * 6_000
            bench.cluster.append(T0, values(text, text))
            assert take_values(busy, 2) == [text, text]


FEW_BYTES = 4096
"""The socket buffers hold few requests."""


def many_slots(place: int, queue: "NativeChunkQueue") -> list[Slot]:
    """Return so many slots that their request does not fit into the socket buffers."""
    claims = [PartitionClaim(TopicPartition("t", n), queue, 0) for n in range(1, 20_001)]
    return [slot(claim, place) for claim in claims]


def test_capacity_is_noticed_while_a_request_is_stuck() -> None:
    """A chunk that waits for its queue is delivered, whatever the broker does."""
    queue, other = native_queue(1), native_queue(1)
    first, second = (PartitionClaim(T0, queue, 0) for _ in range(2))
    assert queue.native.put_set(first, build_message_set(records(0)), 0) is None
    with pump_bench(buffer_bytes=FEW_BYTES) as bench:
        queue.native.adopt(second)
        waits = slot(second, 0, build_message_set(records(1)), 1)
        bench.load([queue.native, other.native], [waits, *many_slots(1, other)])
        bench.start()
        assert bench.broker.recv(1) == b"\0"
        wait_for(lambda: queue.native.waiting_pumps, "the pump to wait for room")
        for offset in (0, 1):
            item = queue.take(5_000)
            assert isinstance(item, Chunk), f"offset {offset} did not come"
            assert [record.offset for record in item.records] == [offset]


def test_a_stop_is_noticed_while_a_request_is_stuck() -> None:
    """The pump's thread ends at once."""
    queue = native_queue(1)
    with pump_bench(buffer_bytes=FEW_BYTES) as bench:
        bench.load([queue.native], many_slots(0, queue))
        bench.start()
        assert bench.broker.recv(1) == b"\0"
        bench.pump.stop()
        bench.ended()
        assert bench.counts().sent_bytes == 0, "it was not sent as a whole"


def test_one_decompressed_set_at_a_time_waits_for_a_queue() -> None:
    """A set is decompressed as a whole: without the limit those of all partitions could wait."""
    large = [Record(offset, None, bytes(100_000)) for offset in range(40)]
    data = build_message_set(large, codec=Codec.GZIP)
    queue = native_queue(3)
    claims = [PartitionClaim(TopicPartition("t", number), queue, 0) for number in range(2)]
    delivered: list[tuple[int, int]] = []
    with pump_bench() as bench:
        for claim in claims:
            queue.native.adopt(claim)
        bench.load([queue.native], [slot(claim, 0, data) for claim in claims])
        bench.start()
        while len(delivered) < 2 * len(large):
            item = queue.take(5_000)
            assert isinstance(item, Chunk)
            partition = item.claim.topic_partition.partition
            delivered += [(partition, record.offset) for record in item.records]
    assert delivered == [(partition, record.offset) for partition in range(2) for record in large]
