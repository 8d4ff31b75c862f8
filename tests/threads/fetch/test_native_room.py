"""What the native loop does where some queues have room and others have none, or nothing to do."""

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
def test_a_busy_queue_is_not_held_up_by_one_that_has_nothing() -> None:
    """No pause comes between what came, which left little room, and the next question."""
    settings = replace(SETTINGS, max_wait_ms=20_000, request_timeout_ms=30_000)
    with FetchBench() as bench:
        budget = ByteBudget(4 * settings.fetch_bytes)
        busy, idle = new_queue(100, budget), new_queue(100, budget)
        loop = bench.loop(settings=settings)
        loop.add(claim_on(busy, T0), 0)
        loop.add(claim_on(idle, T1), 0)
        bench.run(loop)
        for number in range(4):
            # As much as leaves no room for an early request.
            text = str(number) * 6_000
            bench.cluster.append(T0, values(text, text))
            assert take_values(busy, 2) == [text, text]


Slot = tuple[object, ...]


def slot(claim: PartitionClaim, place: int, data: bytes = b"", offset: int = 0) -> Slot:
    """A partition as a pump takes it, with what is packed of it."""
    packed = (memoryview(data), 0, offset, 4096) if data else None
    return (place, claim.topic_partition.partition, claim, offset, 0, 0, packed)


class SilentBroker:
    """A pump whose broker reads nothing, and whose system takes a few requests at most."""

    def __init__(self, broker: socket.socket, ours: socket.socket, scope: ThreadScope) -> None:
        self.broker, self._ours, self._scope = broker, ours, scope
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
        """Have it work; whose sets are packed must be adopted."""
        native = [queue.native for queue in queues]
        self.pump.load(native, [(b"t", slots)], part_bytes=4096, grown_bytes=0, others_wait=False)
        self._scope.spawn("pump", self._run, stop=self.pump.stop)

    def _run(self) -> None:
        self.pump.run(
            self._ours.fileno(),
            version=0,
            correlation_id=1,
            client_id=b"c",
            max_response_bytes=1 << 20,
            max_entry_bytes=1 << 20,
            quiet_ms=0,
        )


@contextmanager
def silent_broker() -> Iterator[SilentBroker]:
    """One over two connected sockets with small buffers."""
    broker, ours = socket.socketpair()
    scope = ThreadScope("silent")
    with broker, ours:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        ours.settimeout(0)
        yield SilentBroker(broker, ours, scope)
        assert scope.close(5_000) == []
        assert scope.first_error() is None


def many_slots(place: int, queue: "NativeChunkQueue") -> list[Slot]:
    """So many that the request about them does not get through."""
    claims = [PartitionClaim(TopicPartition("t", n), queue, 0) for n in range(1, 20_001)]
    return [slot(claim, place) for claim in claims]


def test_room_is_heard_of_while_a_request_does_not_get_through() -> None:
    """What waits for a queue comes when there is room, whatever the broker does."""
    queue, other = native_queue(1), native_queue(1)
    first, second = (PartitionClaim(T0, queue, 0) for _ in range(2))
    assert queue.native.put_set(first, build_message_set(records(0)), 0) is None
    with silent_broker() as bench:
        queue.adopt(second)
        waits = slot(second, 0, build_message_set(records(1)), 1)
        bench.start([queue, other], [waits, *many_slots(1, other)])
        assert bench.broker.recv(1) == b"\0"
        wait_for(lambda: queue.native.waiting_pumps, "the pump to wait for room")
        for offset in (0, 1):
            item = queue.take(5_000)
            assert isinstance(item, Chunk), f"offset {offset} did not come"
            assert [record.offset for record in item.records] == [offset]


def test_a_stop_is_heard_while_a_request_does_not_get_through() -> None:
    """Its thread ends at once."""
    queue = native_queue(1)
    with silent_broker() as bench:
        bench.start([queue], many_slots(0, queue))
        assert bench.broker.recv(1) == b"\0"


def test_one_decompressed_set_at_a_time_waits_for_a_queue() -> None:
    """It has to be decompressed whole: else the sets of all partitions could lie there at once."""
    large = [Record(offset, None, bytes(100_000)) for offset in range(40)]
    data = build_message_set(large, codec=Codec.GZIP)
    queue = native_queue(3)
    claims = [PartitionClaim(TopicPartition("t", number), queue, 0) for number in range(2)]
    came: list[tuple[int, int]] = []
    with silent_broker() as bench:
        for claim in claims:
            queue.adopt(claim)
        bench.start([queue], [slot(claim, 0, data) for claim in claims])
        while len(came) < 2 * len(large):
            item = queue.take(5_000)
            assert isinstance(item, Chunk)
            partition = item.claim.topic_partition.partition
            came += [(partition, record.offset) for record in item.records]
    assert came == [(partition, record.offset) for partition in range(2) for record in large]
