"""``async for`` over a stream: the loop stays free, several streams share it, nothing gets lost."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

import pytest

from tests.support.chunks import T0, T1, chunk_of, claim_of, ignore
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.errors import (
    ConsumerTimeout,
    OffsetCommitFailed,
    PartitionFailed,
    RebalanceFailed,
    StreamInUse,
)
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.streams.aio import _Wait
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.delivery import CommitAhead, Delivery
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.stream import KafkaStream

T = TypeVar("T")
Stream = KafkaStream[bytes, bytes]


def stream_of(*chunks: Chunk, timeout_ms: int = -1) -> tuple[Stream, ChunkQueue]:
    """A stream over these chunks."""
    queue = ChunkQueue(100)
    for chunk in chunks:
        assert queue.offer(chunk, ignore)
    return KafkaStream(queue, clock=SystemClock(), timeout_ms=timeout_ms), queue


async def collect(stream: Stream, into: list[int]) -> None:
    """Read to the end."""
    async for message in stream:
        into += [message.offset]


async def until(probe: Callable[[], object], what: str) -> None:
    """Let the loop run until this holds."""
    deadline_s = asyncio.get_running_loop().time() + 20
    while not probe():
        assert asyncio.get_running_loop().time() < deadline_s, f"waited for {what}"
        await asyncio.sleep(0.001)


async def until_waiting(queue: ChunkQueue) -> None:
    """Until a task waits for this queue to change."""
    await until(lambda: queue._on_change is not None, "a task that waits")


@asynccontextmanager
async def ticking() -> AsyncIterator[list[float]]:
    """A task that notes the time whenever the loop lets it; gives the gaps between its turns."""
    loop = asyncio.get_running_loop()
    gaps: list[float] = []

    async def tick() -> None:
        before = loop.time()
        while True:
            await asyncio.sleep(0)
            gaps.append(loop.time() - before)
            before = loop.time()

    task = asyncio.create_task(tick())
    try:
        yield gaps
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


def run(main: Callable[[], Coroutine[object, object, T]]) -> T:
    """Run it in a loop of its own."""
    return asyncio.run(main())


# --- messages ------------------------------------------------------------------------------------


def test_what_is_queued_comes_in_order_and_the_end_ends_the_loop() -> None:
    """As with a plain for, and again after the end."""
    claim = claim_of(committed=0)
    stream, queue = stream_of(chunk_of(claim, [0, 1]), chunk_of(claim, [2], next_offset=5))
    queue.close()

    async def main() -> list[int]:
        got: list[int] = []
        await collect(stream, got)
        await collect(stream, got)
        return got

    assert run(main) == [0, 1, 2]
    assert claim.consumed_offset == 5


def test_a_message_is_consumed_when_the_next_is_asked_for() -> None:
    """The delivery modes hold as they do without a loop."""
    claim = claim_of(committed=5)
    stream, _ = stream_of(chunk_of(claim, [5, 6]))

    async def main() -> list[int | None]:
        seen = []
        for _ in range(2):
            await anext(stream)
            seen.append(claim.consumed_offset)
        return seen

    assert run(main) == [5, 6]


def test_what_comes_while_a_task_waits_wakes_it() -> None:
    """From another thread, chunk by chunk, with the end behind it."""
    stream, queue = stream_of()
    claim = claim_of(committed=0)

    async def main() -> list[int]:
        got: list[int] = []
        task = asyncio.create_task(collect(stream, got))
        for offset in range(5):
            await until_waiting(queue)
            await asyncio.to_thread(queue.offer, chunk_of(claim, [offset]), ignore)
            await until(lambda n=offset: len(got) > n, "the message")  # type: ignore[misc]
        await asyncio.to_thread(queue.close)
        await asyncio.wait_for(task, 10)
        return got

    assert run(main) == list(range(5))
    assert queue._on_change is None


def test_several_streams_share_a_loop_with_a_producer_thread_each() -> None:
    """Everything comes once and in order, through queues that are full most of the time."""
    count = 400
    pairs = [stream_of() for _ in range(3)]
    small = [ChunkQueue(2) for _ in pairs]
    streams: list[Stream] = [KafkaStream(queue, clock=SystemClock()) for queue in small]

    def produce(queue: ChunkQueue) -> None:
        claim, room = claim_of(committed=0), threading.Event()
        for first in range(0, count, 4):
            while not queue.offer(chunk_of(claim, range(first, first + 4)), room.set):
                assert room.wait(10), "nobody said that there is room"
                room.clear()
        queue.close()

    async def main() -> list[list[int]]:
        got: list[list[int]] = [[] for _ in streams]
        producers = [asyncio.to_thread(produce, queue) for queue in small]
        readers = [collect(*pair) for pair in zip(streams, got, strict=True)]
        await asyncio.wait_for(asyncio.gather(*producers, *readers), 30)
        return got

    assert run(main) == [list(range(count))] * 3


def test_the_loop_ticks_on_while_a_task_waits() -> None:
    """Waiting blocks nobody, and costs nothing."""
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


def test_the_loop_ticks_on_while_there_is_much_to_read() -> None:
    """A reader that never waits gives others their turn every few milliseconds."""
    claim, queue = claim_of(committed=0), ChunkQueue(1_000)
    for first in range(0, 100_000, 1_000):
        queue.offer(chunk_of(claim, range(first, first + 1_000)), ignore)
    queue.close()
    stream: Stream = KafkaStream(queue, clock=SystemClock())

    async def main() -> tuple[int, list[float]]:
        got: list[int] = []
        async with ticking() as gaps:
            await collect(stream, got)
        return len(got), gaps

    count, gaps = run(main)
    assert count == 100_000
    assert len(gaps) >= 5
    assert sorted(gaps)[len(gaps) // 2] < 0.1


# --- time-outs, errors, pauses -------------------------------------------------------------------


def test_no_message_in_time_raises_and_the_stream_goes_on() -> None:
    """``consumer.timeout.ms`` holds, again and again, and what comes later is delivered."""
    claim = claim_of(committed=0)
    stream, queue = stream_of(timeout_ms=20)

    async def main() -> int:
        for _ in range(2):
            with pytest.raises(ConsumerTimeout, match="20 ms"):
                await anext(stream)
        queue.offer(chunk_of(claim, [0]), ignore)
        return (await anext(stream)).offset

    assert run(main) == 0
    assert queue._on_change is None


def test_what_is_queued_comes_even_with_a_timeout_of_zero() -> None:
    """0 means not to wait, not to give up at once."""
    stream, _ = stream_of(chunk_of(claim_of(), [0]), timeout_ms=0)

    async def main() -> int:
        offset = (await anext(stream)).offset
        with pytest.raises(ConsumerTimeout):
            await anext(stream)
        return offset

    assert run(main) == 0


def test_a_failed_rebalance_wakes_a_task_and_the_stream_goes_on() -> None:
    """Raised once, in the task that waits."""
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


def test_what_cannot_be_read_is_raised_behind_its_records() -> None:
    """As without a loop: once, and then the other partitions."""
    broken = chunk_of(claim_of(T0), [3], error=PartitionFailed(T0, 4, "CRC"))
    stream, queue = stream_of(broken, chunk_of(claim_of(T1), [9]))

    async def main() -> list[int]:
        first = (await anext(stream)).offset
        with pytest.raises(PartitionFailed):
            await anext(stream)
        return [first, (await anext(stream)).offset]

    assert run(main) == [3, 9]
    assert queue.chunk_count() == 0


def test_a_pause_of_delivery_holds_a_task_until_trust() -> None:
    """In mid-chunk, without blocking the loop; a time-out would come as usual."""
    gate, queue = DeliveryGate(SystemClock(), 0), ChunkQueue(10)
    queue.offer(chunk_of(claim_of(), [0, 1, 2]), ignore)
    stream: Stream = KafkaStream(queue, clock=SystemClock(), gate=gate)
    timed: Stream = KafkaStream(ChunkQueue(1), clock=SystemClock(), gate=gate, timeout_ms=30)

    async def main() -> list[int]:
        got: list[int] = [(await anext(stream)).offset]
        gate.suspect()
        task = asyncio.create_task(collect(stream, got))
        await until_waiting(queue)
        with pytest.raises(ConsumerTimeout):
            await anext(timed)
        held = list(got)
        await asyncio.to_thread(gate.trust)
        queue.close()
        await asyncio.wait_for(task, 10)
        return [*held, -1, *got]

    assert run(main) == [0, -1, 0, 1, 2]


# --- being called -------------------------------------------------------------------------------


def test_a_wait_hears_every_ring_that_comes_after_it_looked() -> None:
    """Rings from other threads, one after the other, many at a time, and before it rests."""

    async def main() -> None:
        wait = _Wait(asyncio.get_running_loop())
        for _ in range(3):
            resting = asyncio.create_task(wait.rest(60))
            await asyncio.sleep(0)
            for _ in range(5):
                await asyncio.to_thread(wait.ring)
            await asyncio.wait_for(resting, 5)
        wait.ring()
        await asyncio.sleep(0)
        await asyncio.wait_for(wait.rest(60), 5)

    run(main)


class RacingQueue(ChunkQueue):
    """A queue that is filled just before somebody listens."""

    def listen(self, on_change: Callable[[], None] | None) -> None:
        """Fill, then listen."""
        if on_change is not None:
            self.offer(chunk_of(claim_of(), [0]), ignore)
        super().listen(on_change)


def test_what_comes_just_before_a_task_listens_is_seen() -> None:
    """It looks once more before it waits."""
    stream: Stream = KafkaStream(RacingQueue(10), clock=SystemClock(), timeout_ms=100)

    async def main() -> int:
        return (await anext(stream)).offset

    assert run(main) == 0


# --- cancelling ----------------------------------------------------------------------------------


def test_a_cancelled_wait_loses_nothing_and_leaves_nothing_behind() -> None:
    """The message comes to the next who asks; no listener and no timer is left."""
    stream, queue = stream_of()
    claim = claim_of(committed=0)

    async def main() -> int:
        task = asyncio.create_task(stream.__anext__())
        await until_waiting(queue)
        queue.offer(chunk_of(claim, [0]), ignore)  # it is called, and cancelled before it runs
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert queue._on_change is None
        assert claim.delivered_offset is None
        return (await anext(stream)).offset

    assert run(main) == 0


def test_short_timeouts_of_the_caller_lose_nothing() -> None:
    """``wait_for`` around every message, while a thread feeds the stream at the same pace."""
    count = 300
    queue, claim = ChunkQueue(count), claim_of(committed=0)
    stream: Stream = KafkaStream(queue, clock=SystemClock())
    go_on = threading.Event()

    def produce() -> None:
        for offset in range(count):
            queue.offer(chunk_of(claim, [offset]), ignore)
            go_on.wait(0.0005 if offset % 20 else 0.01)

    async def main() -> tuple[list[int], int]:
        got: list[int] = []
        timeouts = 0
        producer = asyncio.create_task(asyncio.to_thread(produce))
        while len(got) < count:
            try:
                got.append((await asyncio.wait_for(anext(stream), 0.0005)).offset)
            except TimeoutError:
                timeouts += 1
        await producer
        return got, timeouts

    got, timeouts = run(main)
    assert got == list(range(count))
    assert timeouts > 0


# --- one reader at a time ------------------------------------------------------------------------


def test_nobody_else_reads_while_a_task_waits() -> None:
    """Neither a plain for nor another task; afterwards both may."""
    stream, queue = stream_of()
    claim = claim_of(committed=0)

    async def main() -> list[int]:
        task = asyncio.create_task(stream.__anext__())
        await until_waiting(queue)
        with pytest.raises(StreamInUse, match="one reader"):
            next(stream)
        with pytest.raises(StreamInUse):
            await anext(stream)
        queue.offer(chunk_of(claim, [0, 1]), ignore)
        first = await task
        return [first.offset, next(stream).offset]

    assert run(main) == [0, 1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_loop_that_is_closed_under_its_task_gives_the_stream_back() -> None:
    """The task never goes on; whoever puts gets no error, and the next reader is served."""
    stream, queue = stream_of()
    claim = claim_of(committed=0)
    loop = asyncio.new_event_loop()
    task = loop.create_task(stream.__anext__())
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.run_until_complete(until_waiting(queue))
    loop.close()
    assert queue.offer(chunk_of(claim, [0, 1]), ignore)
    assert next(stream).offset == 0
    assert run(partial(_next_offset, stream)) == 1
    del task
    queue.offer(chunk_of(claim, [2]), ignore)
    assert next(stream).offset == 2


async def _next_offset(stream: Stream) -> int:
    return (await anext(stream)).offset


# --- at most once --------------------------------------------------------------------------------


class SlowCommits:
    """Commits that wait until they are let go; then they do what they are told to."""

    def __init__(self, *errors: OffsetCommitFailed) -> None:
        self.go = threading.Event()
        self.asked: list[int] = []
        self.errors = list(errors)

    def commit(self, _claim: PartitionClaim, offset: int) -> bool:
        """See ``CommitAhead``."""
        self.asked.append(offset)
        assert self.go.wait(20)
        if self.errors:
            raise self.errors.pop(0)
        return True


def at_most_once(commit: CommitAhead, *chunks: Chunk) -> Stream:
    """A stream over these chunks that commits them ahead."""
    queue = ChunkQueue(10)
    for chunk in chunks:
        assert queue.offer(chunk, ignore)
    return KafkaStream(
        queue, clock=SystemClock(), delivery=Delivery.AT_MOST_ONCE, commit_ahead=commit
    )


def test_a_commit_ahead_does_not_block_the_loop() -> None:
    """It runs elsewhere; the message comes once it is through."""
    commits = SlowCommits()
    stream = at_most_once(commits.commit, chunk_of(claim_of(committed=0), [0, 1]))

    async def main() -> int:
        task = asyncio.create_task(stream.__anext__())
        await until(lambda: commits.asked, "the commit")
        async with ticking() as gaps:
            await until(lambda: len(gaps) > 20, "ticks")
        assert not task.done()
        commits.go.set()
        return (await task).offset

    assert run(main) == 0
    assert commits.asked == [2]


def test_a_commit_ahead_outlives_the_task_that_asked_for_it() -> None:
    """Cancelled while it runs: the next task waits for the same one instead of another."""
    commits = SlowCommits()
    stream = at_most_once(commits.commit, chunk_of(claim_of(committed=0), [0, 1]))

    async def main() -> int:
        task = asyncio.create_task(stream.__anext__())
        await until(lambda: commits.asked, "the commit")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        again = asyncio.create_task(stream.__anext__())
        asyncio.get_running_loop().call_later(0.02, commits.go.set)
        return (await again).offset

    assert run(main) == 0
    assert commits.asked == [2]


def test_a_commit_ahead_that_fails_is_raised_and_tried_again() -> None:
    """As without a loop."""
    commits = SlowCommits(OffsetCommitFailed("g", {T0: "no answer"}))
    commits.go.set()
    stream = at_most_once(commits.commit, chunk_of(claim_of(committed=0), [0, 1]))

    async def main() -> int:
        with pytest.raises(OffsetCommitFailed):
            await anext(stream)
        return (await anext(stream)).offset

    assert run(main) == 0
    assert commits.asked == [2, 2]


def test_an_awaitable_of_a_message_can_become_a_task() -> None:
    """``anext(stream)`` is a coroutine, as ``create_task`` wants it."""
    stream, _ = stream_of(chunk_of(claim_of(), [0]))
    made: Awaitable[object] = stream.__anext__()
    assert asyncio.iscoroutine(made)
    made.close()
    assert wait_until(lambda: next(stream).offset == 0, timeout_s=1, what="the message")
