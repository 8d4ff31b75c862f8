"""``async for`` over a stream: the event loop stays free, streams share it, and nothing is lost."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from tests.support.chunks import T0, T1, chunk_of, claim_of, each_chunk, ignore
from tests.support.loops import Stream, collect, run, stream_of, ticking, until, until_waiting
from tests.support.queues import is_listened_to, new_queue
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConsumerTimeout, PartitionFailed, RebalanceFailed
from zkconsumer.streams.aio import _Wait
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.queues import StreamQueue
from zkconsumer.streams.stream import KafkaStream

pytestmark = pytest.mark.usefixtures(each_chunk.__name__)

# --- messages ------------------------------------------------------------------------------------


def test_queued_messages_come_in_order_until_the_end() -> None:
    """The end ends the iteration, as with a plain for, and again if it is repeated."""
    claim = claim_of(committed=0)
    stream, queue = stream_of(chunk_of(claim, [0, 1]), chunk_of(claim, [2], next_offset=5))
    queue.close()

    async def main() -> list[int]:
        received: list[int] = []
        await collect(stream, received)
        await collect(stream, received)
        return received

    assert run(main) == [0, 1, 2]
    assert claim.consumed_offset == 5


def test_a_message_is_consumed_when_the_next_is_requested() -> None:
    """The delivery modes hold as they do without an event loop."""
    claim = claim_of(committed=5)
    stream, _ = stream_of(chunk_of(claim, [5, 6]))

    async def main() -> list[int | None]:
        seen = []
        for _ in range(2):
            await anext(stream)
            seen.append(claim.consumed_offset)
        return seen

    assert run(main) == [5, 6]


def test_a_message_wakes_a_waiting_task() -> None:
    """Another thread offers chunk by chunk, and then the end."""
    stream, queue = stream_of()
    claim = claim_of(committed=0)

    async def main() -> list[int]:
        received: list[int] = []
        task = asyncio.create_task(collect(stream, received))
        for offset in range(5):
            await until_waiting(queue)
            await asyncio.to_thread(queue.offer, chunk_of(claim, [offset]), ignore)
            await until(lambda n=offset: len(received) > n, "the message")  # type: ignore[misc]
        await asyncio.to_thread(queue.close)
        await asyncio.wait_for(task, 10)
        return received

    assert run(main) == list(range(5))
    assert not is_listened_to(queue)


def test_several_streams_share_a_loop_with_a_producer_thread_each() -> None:
    """Every message comes once and in order, through queues that are mostly full."""
    count = 400
    pairs = [stream_of() for _ in range(3)]
    small = [new_queue(2) for _ in pairs]
    streams: list[Stream] = [KafkaStream(queue, clock=SystemClock()) for queue in small]

    def produce(queue: StreamQueue) -> None:
        claim, capacity = claim_of(committed=0), threading.Event()
        for first in range(0, count, 4):
            while not queue.offer(chunk_of(claim, range(first, first + 4)), capacity.set):
                assert capacity.wait(10), "no callback for capacity"
                capacity.clear()
        queue.close()

    async def main() -> list[list[int]]:
        received: list[list[int]] = [[] for _ in streams]
        producers = [asyncio.to_thread(produce, queue) for queue in small]
        readers = [collect(*pair) for pair in zip(streams, received, strict=True)]
        await asyncio.wait_for(asyncio.gather(*producers, *readers), 30)
        return received

    assert run(main) == [list(range(count))] * 3


def test_a_waiting_task_does_not_block_the_event_loop() -> None:
    """Other tasks run at full speed meanwhile."""
    stream, queue = stream_of()

    async def main() -> int:
        task = asyncio.create_task(collect(stream, []))
        await until_waiting(queue)
        async with ticking() as gaps:
            await until(lambda: len(gaps) > 100, "ticks")
        queue.close()
        await task
        return len(gaps)

    assert run(main) > 100


def test_a_busy_reader_does_not_block_the_event_loop() -> None:
    """A reader that never waits lets other tasks run every few milliseconds."""
    claim, queue = claim_of(committed=0), new_queue(1_000)
    for first in range(0, 100_000, 1_000):
        queue.offer(chunk_of(claim, range(first, first + 1_000)), ignore)
    queue.close()
    stream: Stream = KafkaStream(queue, clock=SystemClock())

    async def main() -> tuple[int, list[float]]:
        received: list[int] = []
        async with ticking() as gaps:
            await collect(stream, received)
        return len(received), gaps

    count, gaps = run(main)
    assert count == 100_000
    assert len(gaps) >= 5
    assert sorted(gaps)[len(gaps) // 2] < 0.1


# --- time-outs, errors, pauses -------------------------------------------------------------------


def test_no_message_in_time_raises_and_the_stream_goes_on() -> None:
    """``consumer.timeout.ms`` holds each time, and later messages are delivered."""
    claim = claim_of(committed=0)
    stream, queue = stream_of(timeout_ms=20)

    async def main() -> int:
        for _ in range(2):
            with pytest.raises(ConsumerTimeout, match="20 ms"):
                await anext(stream)
        queue.offer(chunk_of(claim, [0]), ignore)
        return (await anext(stream)).offset

    assert run(main) == 0
    assert not is_listened_to(queue)


def test_queued_messages_come_even_with_a_timeout_of_zero() -> None:
    """0 means not to wait, but messages that are there come."""
    stream, _ = stream_of(chunk_of(claim_of(), [0]), timeout_ms=0)

    async def main() -> int:
        offset = (await anext(stream)).offset
        with pytest.raises(ConsumerTimeout):
            await anext(stream)
        return offset

    assert run(main) == 0


def test_a_failed_rebalance_wakes_a_task_and_the_stream_goes_on() -> None:
    """It is raised once, in the waiting task."""
    stream, queue = stream_of()
    claim = claim_of(committed=0)

    async def main() -> int:
        task = asyncio.create_task(stream.__anext__())
        await until_waiting(queue)
        queue.fail(RebalanceFailed("after 4 tries"))
        with pytest.raises(RebalanceFailed, match="after 4 tries"):
            await task
        queue.offer(chunk_of(claim, [0]), ignore)
        return (await anext(stream)).offset

    assert run(main) == 0


def test_an_unreadable_record_is_raised_after_those_before_it() -> None:
    """It is once, as without an event loop, and then come other partitions."""
    broken = chunk_of(claim_of(T0), [3], error=PartitionFailed(T0, 4, "CRC"))
    stream, queue = stream_of(broken, chunk_of(claim_of(T1), [9]))

    async def main() -> list[int]:
        first = (await anext(stream)).offset
        with pytest.raises(PartitionFailed):
            await anext(stream)
        return [first, (await anext(stream)).offset]

    assert run(main) == [3, 9]
    assert queue.chunk_count() == 0


def test_a_task_waits_while_delivery_is_paused() -> None:
    """It does within a chunk, without blocking the event loop; time-outs come as usual."""
    gate, queue = DeliveryGate(SystemClock(), 0), new_queue(10)
    queue.offer(chunk_of(claim_of(), [0, 1, 2]), ignore)
    stream: Stream = KafkaStream(queue, clock=SystemClock(), gate=gate)
    timed: Stream = KafkaStream(new_queue(1), clock=SystemClock(), gate=gate, timeout_ms=30)

    async def main() -> list[int]:
        received: list[int] = [(await anext(stream)).offset]
        gate.suspect()
        task = asyncio.create_task(collect(stream, received))
        await until_waiting(queue)
        with pytest.raises(ConsumerTimeout):
            await anext(timed)
        held = list(received)
        await asyncio.to_thread(gate.trust)
        queue.close()
        await asyncio.wait_for(task, 10)
        return [*held, -1, *received]

    assert run(main) == [0, -1, 0, 1, 2]


# --- signals to a waiting task ------------------------------------------------------------------


def test_a_wait_ends_with_any_signal_after_its_check() -> None:
    """Signals may come from other threads, several at a time, and before it sleeps."""

    async def main() -> None:
        wait = _Wait(asyncio.get_running_loop())
        for _ in range(3):
            sleeping = asyncio.create_task(wait.sleep(60))
            await asyncio.sleep(0)
            for _ in range(5):
                await asyncio.to_thread(wait.signal)
            await asyncio.wait_for(sleeping, 5)
        wait.signal()
        await asyncio.sleep(0)
        await asyncio.wait_for(wait.sleep(60), 5)

    run(main)


class RacingQueue(ChunkQueue):
    """A queue that gets a chunk just before a listener is registered."""

    def listen(self, on_change: Callable[[], None] | None) -> None:
        """Fill, then listen."""
        if on_change is not None:
            self.offer(chunk_of(claim_of(), [0]), ignore)
        super().listen(on_change)


def test_a_message_just_before_the_wait_is_noticed() -> None:
    """The task checks the queue again before it waits."""
    stream: Stream = KafkaStream(RacingQueue(10), clock=SystemClock(), timeout_ms=100)

    async def main() -> int:
        return (await anext(stream)).offset

    assert run(main) == 0
