"""The native loop with some queues full and others empty, or with nothing to do."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
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
from tests.support.queues import needs_native_engine
from tests.support.record_sets import records
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.budget import ByteBudget

if TYPE_CHECKING:
    from zkconsumer.native._core import Pump
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


Slot = tuple[object, ...]


def slot(claim: PartitionClaim, place: int, data: bytes = b"", offset: int = 0) -> Slot:
    """A partition as the pump loads it, with what is left of its record set."""
    packed = (memoryview(data), 0, offset, 4096) if data else None
    return (place, claim.topic_partition.partition, claim, offset, 0, 0, packed)


class SilentBroker:
    """A pump whose broker reads nothing, and whose socket buffers hold few requests."""

    def __init__(self, broker: socket.socket, own: socket.socket, scope: ThreadScope) -> None:
        self.broker, self._own, self._scope = broker, own, scope
        self.pump: Pump = import_module("zkconsumer.native._core").Pump()
        self.pump.configure(
            min_bytes=1,
            max_bytes=1 << 30,
            max_wait_ms=100,
            timeout_ms=60_000,
            max_decompressed_bytes=1 << 30,
            growth_max_bytes=1 << 20,
            report_ms=0,
        )

    def start(self, queues: "list[NativeChunkQueue]", slots: list[Slot]) -> None:
        """Start the pump; claims with a record set must have been adopted by their queue."""
        native = [queue.native for queue in queues]
        self.pump.load(native, [(b"t", slots)], part_bytes=4096, grown_bytes=0, others_wait=False)
        self._scope.spawn("pump", self._run, stop=self.pump.stop)

    def _run(self) -> None:
        self.pump.run(
            self._own.fileno(),
            version=0,
            correlation_id=1,
            client_id=b"c",
            max_response_bytes=1 << 20,
            max_entry_bytes=1 << 20,
            quiet_ms=0,
        )


@contextmanager
def silent_broker() -> Iterator[SilentBroker]:
    """Connect a pump and a silent broker by two sockets with small buffers."""
    broker, own = socket.socketpair()
    scope = ThreadScope("silent")
    with broker, own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        own.settimeout(0)
        yield SilentBroker(broker, own, scope)
        assert scope.close(5_000) == []
        assert scope.first_error() is None


def many_slots(place: int, queue: "NativeChunkQueue") -> list[Slot]:
    """Return so many slots that their request does not fit into the socket buffers."""
    claims = [PartitionClaim(TopicPartition("t", n), queue, 0) for n in range(1, 20_001)]
    return [slot(claim, place) for claim in claims]


def test_capacity_is_noticed_while_a_request_is_stuck() -> None:
    """A chunk that waits for its queue is delivered, whatever the broker does."""
    queue, other = native_queue(1), native_queue(1)
    first, second = (PartitionClaim(T0, queue, 0) for _ in range(2))
    assert queue.native.put_set(first, build_message_set(records(0)), 0) is None
    with silent_broker() as bench:
        queue.native.adopt(second)
        waits = slot(second, 0, build_message_set(records(1)), 1)
        bench.start([queue, other], [waits, *many_slots(1, other)])
        assert bench.broker.recv(1) == b"\0"
        wait_for(lambda: queue.native.waiting_pumps, "the pump to wait for room")
        for offset in (0, 1):
            item = queue.take(5_000)
            assert isinstance(item, Chunk), f"offset {offset} did not come"
            assert [record.offset for record in item.records] == [offset]


def test_a_stop_is_noticed_while_a_request_is_stuck() -> None:
    """The pump's thread ends at once."""
    queue = native_queue(1)
    with silent_broker() as bench:
        bench.start([queue], many_slots(0, queue))
        assert bench.broker.recv(1) == b"\0"


def test_one_decompressed_set_at_a_time_waits_for_a_queue() -> None:
    """A set is decompressed as a whole: without the limit those of all partitions could wait."""
    large = [Record(offset, None, bytes(100_000)) for offset in range(40)]
    data = build_message_set(large, codec=Codec.GZIP)
    queue = native_queue(3)
    claims = [PartitionClaim(TopicPartition("t", number), queue, 0) for number in range(2)]
    delivered: list[tuple[int, int]] = []
    with silent_broker() as bench:
        for claim in claims:
            queue.native.adopt(claim)
        bench.start([queue], [slot(claim, 0, data) for claim in claims])
        while len(delivered) < 2 * len(large):
            item = queue.take(5_000)
            assert isinstance(item, Chunk)
            partition = item.claim.topic_partition.partition
            delivered += [(partition, record.offset) for record in item.records]
    assert delivered == [(partition, record.offset) for partition in range(2) for record in large]
