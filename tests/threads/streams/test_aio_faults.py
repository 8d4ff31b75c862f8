"""``async for`` over a stream that is cancelled, shared, abandoned, or commits ahead."""

import asyncio
import threading
from collections.abc import Awaitable
from functools import partial

import pytest

from tests.support.chunks import T0, chunk_of, claim_of, each_chunk, ignore
from tests.support.loops import Stream, run, stream_of, ticking, until, until_waiting
from tests.support.queues import is_listened_to, new_queue
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.errors import OffsetCommitFailed, StreamInUse
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.streams.delivery import CommitAhead, Delivery
from zkconsumer.streams.stream import KafkaStream

pytestmark = pytest.mark.usefixtures(each_chunk.__name__)

# --- cancelling ----------------------------------------------------------------------------------


def test_a_cancelled_wait_loses_no_message() -> None:
    """The next reader gets it, and no listener or timer is left."""
    stream, queue = stream_of()
    claim = claim_of(committed=0)

    async def main() -> int:
        task = asyncio.create_task(stream.__anext__())
        await until_waiting(queue)
        queue.offer(chunk_of(claim, [0]), ignore)  # wakes the task, which is cancelled before
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not is_listened_to(queue)
        assert claim.delivered_offset is None
        return (await anext(stream)).offset

    assert run(main) == 0


def test_short_timeouts_of_the_caller_lose_nothing() -> None:
    """Each message has a ``wait_for``, while a thread offers messages at the same rate."""
    count = 300
    queue, claim = new_queue(count), claim_of(committed=0)
    stream: Stream = KafkaStream(queue, clock=SystemClock())
    go_on = threading.Event()

    def produce() -> None:
        for offset in range(count):
            queue.offer(chunk_of(claim, [offset]), ignore)
            go_on.wait(0.0005 if offset % 20 else 0.01)

    async def main() -> tuple[list[int], int]:
        received: list[int] = []
        timeouts = 0
        producer = asyncio.create_task(asyncio.to_thread(produce))
        while len(received) < count:
            try:
                received.append((await asyncio.wait_for(anext(stream), 0.0005)).offset)
            except TimeoutError:
                timeouts += 1
        await producer
        return received, timeouts

    received, timeouts = run(main)
    assert received == list(range(count))
    assert timeouts > 0


# --- one reader at a time ------------------------------------------------------------------------


def test_nobody_else_reads_while_a_task_waits() -> None:
    """Neither a plain for nor another task may; afterwards both may again."""
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
def test_a_closed_event_loop_releases_the_stream() -> None:
    """Its task never runs again; offering raises no error, and the next reader works."""
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
    """Commits that wait for the test, and then succeed or raise the given errors."""

    def __init__(self, *errors: OffsetCommitFailed) -> None:
        self.go = threading.Event()
        self.requested: list[int] = []
        self.errors = list(errors)

    def commit(self, _claim: PartitionClaim, offset: int) -> bool:
        """See ``CommitAhead``."""
        self.requested.append(offset)
        assert self.go.wait(20)
        if self.errors:
            raise self.errors.pop(0)
        return True


def at_most_once(commit: CommitAhead, *chunks: Chunk) -> Stream:
    """Make a stream over these chunks that commits them ahead."""
    queue = new_queue(10)
    for chunk in chunks:
        assert queue.offer(chunk, ignore)
    return KafkaStream(
        queue, clock=SystemClock(), delivery=Delivery.AT_MOST_ONCE, commit_ahead=commit
    )


def test_a_commit_ahead_does_not_block_the_loop() -> None:
    """It runs in another thread, and the message comes once it is done."""
    commits = SlowCommits()
    stream = at_most_once(commits.commit, chunk_of(claim_of(committed=0), [0, 1]))

    async def main() -> int:
        task = asyncio.create_task(stream.__anext__())
        await until(lambda: commits.requested, "the commit")
        async with ticking() as gaps:
            await until(lambda: len(gaps) > 20, "ticks")
        assert not task.done()
        commits.go.set()
        return (await task).offset

    assert run(main) == 0
    assert commits.requested == [2]


def test_a_commit_ahead_outlives_its_cancelled_task() -> None:
    """The next task waits for the same commit instead of starting another one."""
    commits = SlowCommits()
    stream = at_most_once(commits.commit, chunk_of(claim_of(committed=0), [0, 1]))

    async def main() -> int:
        task = asyncio.create_task(stream.__anext__())
        await until(lambda: commits.requested, "the commit")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        again = asyncio.create_task(stream.__anext__())
        asyncio.get_running_loop().call_later(0.02, commits.go.set)
        return (await again).offset

    assert run(main) == 0
    assert commits.requested == [2]


def test_a_failed_commit_ahead_is_raised_and_retried() -> None:
    """It is as without an event loop."""
    commits = SlowCommits(OffsetCommitFailed("g", {T0: "no answer"}))
    commits.go.set()
    stream = at_most_once(commits.commit, chunk_of(claim_of(committed=0), [0, 1]))

    async def main() -> int:
        with pytest.raises(OffsetCommitFailed):
            await anext(stream)
        return (await anext(stream)).offset

    assert run(main) == 0
    assert commits.requested == [2, 2]


def test_an_awaitable_of_a_message_can_become_a_task() -> None:
    """``anext(stream)`` is a coroutine, as ``create_task`` requires."""
    stream, _ = stream_of(chunk_of(claim_of(), [0]))
    made: Awaitable[object] = stream.__anext__()
    assert asyncio.iscoroutine(made)
    made.close()
    assert wait_until(lambda: next(stream).offset == 0, what="the message")
