"""Forked children: they get an error for the parent's connector, which is not affected."""

import asyncio
import gc
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import warnings
import weakref
from collections.abc import Callable

import pytest

from tests.support.chunks import chunk_of, claim_of, ignore
from tests.support.forks import in_forked_child
from tests.support.queues import each_queue, is_listened_to, new_queue
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConsumerForked
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.forking import ForkGuard
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.delivery import Delivery
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.queues import StreamQueue
from zkconsumer.streams.stream import KafkaStream

pytestmark = pytest.mark.usefixtures(each_queue.__name__)
Stream = KafkaStream[bytes, bytes]


def message_of(call: Callable[[], object]) -> str:
    """Return the message of the ``ConsumerForked`` that ``call`` must raise."""
    with pytest.raises(ConsumerForked) as raised:
        call()
    return str(raised.value)


def stream_of(*offsets: int, guard: ForkGuard | None = None) -> tuple[Stream, StreamQueue]:
    """Make a stream without a time-out over a chunk with these offsets, if any."""
    queue = new_queue(10)
    if offsets:
        queue.offer(chunk_of(claim_of(), offsets), ignore)
    gate = DeliveryGate(SystemClock(), 0, guard=guard)
    return KafkaStream(queue, clock=SystemClock(), gate=gate), queue


# --- the guard -----------------------------------------------------------------------------------


def test_a_guard_lets_its_own_process_pass() -> None:
    """It raises nothing in the process that created it."""
    guard = ForkGuard("consumer c of group g")
    guard.check()
    assert (guard.forked, guard.process_id) == (False, os.getpid())


def test_a_child_gets_an_error_with_the_owner_and_the_remedy() -> None:
    """It names both processes, too."""
    guard = ForkGuard("consumer c of group g")
    output = in_forked_child(lambda: f"{os.getpid()} {guard.forked} {message_of(guard.check)}")
    child, forked, text = output.split(" ", 2)
    assert forked == "True"
    assert text == (
        f"consumer c of group g belongs to process {os.getpid()} and can't be used in its forked "
        f"child {child}: create a connector in the child"
    )
    guard.check()


def test_a_fork_without_hooks_is_noticed_by_the_process_id() -> None:
    """A fork by C code does not call Python's hooks."""
    guard = ForkGuard("c")
    guard.process_id += 1
    assert f"belongs to process {os.getpid() + 1}" in message_of(guard.check)


def test_a_guard_belongs_to_the_process_that_created_it() -> None:
    """A child can use its own guard, and a grandchild neither of both."""
    guard = ForkGuard("grandmother")

    def child() -> str:
        own = ForkGuard("mother")
        own.check()
        return in_forked_child(lambda: f"{message_of(guard.check)}; {message_of(own.check)}")

    output = in_forked_child(child)
    assert f"grandmother belongs to process {os.getpid()}" in output
    assert "mother belongs to process" in output.split("; ")[1]


def test_fork_listeners_are_called_in_the_child_only() -> None:
    """They come before the child's first line, for code that can't afford a check itself."""
    guard, received = ForkGuard("c"), []
    guard.on_fork(lambda: received.append(os.getpid()))
    output = in_forked_child(lambda: f"{received == [os.getpid()]}")
    assert (output, received) == ("True", [])


def test_guards_are_not_kept_alive() -> None:
    """A connector that is gone leaves no work for the next fork."""
    guard = ForkGuard("c")
    gone = weakref.ref(guard)
    del guard
    gc.collect()
    assert gone() is None


# --- streams -------------------------------------------------------------------------------------


def test_a_child_gets_nothing_from_a_stream_at_any_position() -> None:
    """It does not within a chunk, before the first message, with an empty queue, or at the end."""
    middle, _ = stream_of(0, 1, 2)
    assert next(middle).offset == 0
    fresh, _ = stream_of(0)
    empty, _ = stream_of()
    ended, queue = stream_of()
    queue.close()
    streams = (middle, fresh, empty, ended)
    output = in_forked_child(
        lambda: "\n".join(message_of(lambda item=stream: next(item)) for stream in streams)  # type: ignore[misc]
    )
    assert len(output.splitlines()) == 4
    assert all(f"belongs to process {os.getpid()}" in line for line in output.splitlines())
    assert [message.offset for message in (next(middle), next(middle), next(fresh))] == [1, 2, 0]


def test_streams_of_one_guard_name_their_connector() -> None:
    """They get its guard by their gate."""
    stream, _ = stream_of(0, guard=ForkGuard("consumer c of group g"))
    output = in_forked_child(lambda: message_of(lambda: next(stream)))
    assert output.startswith("consumer c of group g belongs to")


def test_a_child_commits_nothing_ahead() -> None:
    """With at most once, a child requests no commit, which no thread would make."""
    requested: list[int] = []

    def commit(_claim: PartitionClaim, offset: int) -> bool:
        requested.append(offset)
        return True

    queue = new_queue(10)
    queue.offer(chunk_of(claim_of(), [0]), ignore)
    stream: Stream = KafkaStream(
        queue, clock=SystemClock(), delivery=Delivery.AT_MOST_ONCE, commit_ahead=commit
    )
    output = in_forked_child(lambda: f"{message_of(lambda: next(stream)) != ''} {requested}")
    assert output == "True []"
    assert (next(stream).offset, requested) == (0, [1])


@pytest.mark.timeout(10)
def test_a_child_that_is_forked_within_a_wait_raises() -> None:
    """A signal handler forks while the main thread waits for messages, which no child gets."""
    stream, queue = stream_of()
    results: list[str] = []
    reading, writing = os.pipe()

    def fork(_number: int, _frame: object) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            results.append(str(os.fork()))
        if results[0] != "0":
            queue.offer(chunk_of(claim_of(), [7]), ignore)

    before = signal.signal(signal.SIGALRM, fork)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            offset = next(stream).offset
        except BaseException as error:
            if results == ["0"]:
                os.write(writing, type(error).__name__.encode())
                os._exit(0)
            raise
        if results == ["0"]:
            os._exit(1)
    finally:
        signal.signal(signal.SIGALRM, before)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"ConsumerForked"
    os.waitpid(int(results[0]), 0)
    assert offset == 7


def test_a_child_with_an_event_loop_raises_too() -> None:
    """It does in an event loop of its own, and in the task in which it was forked."""
    stream, queue = stream_of(0, 1, 2, 3)
    waiting, other_queue = stream_of()

    async def next_offset(of: Stream) -> int:
        return (await anext(of)).offset

    def fresh_loop() -> str:
        return message_of(lambda: asyncio.run(next_offset(stream)))

    def by_hand(of: Stream) -> str:
        return message_of(lambda: of.__anext__().send(None))

    async def main() -> list[object]:
        first = await next_offset(stream)
        task = asyncio.create_task(next_offset(waiting))
        while not is_listened_to(other_queue):
            await asyncio.sleep(0)
        output = [
            in_forked_child(lambda: by_hand(stream)),
            in_forked_child(lambda: by_hand(waiting)),
        ]
        other_queue.offer(chunk_of(claim_of(), [9]), ignore)
        return [first, *output, await task, await next_offset(stream)]

    assert in_forked_child(fresh_loop).startswith("this consumer stream belongs to")
    first, *output, late, second = asyncio.run(main())
    assert (first, late, second) == (0, 9, 1)
    assert [str(item).split(" belongs")[0] for item in output] == ["this consumer stream"] * 2
    queue.close()


def test_the_parent_reads_on_while_children_come_and_go() -> None:
    """A stream with a producer thread loses and repeats nothing over many forks."""
    queue, claim, count = new_queue(3), claim_of(committed=0), 300
    stream: Stream = KafkaStream(queue, clock=SystemClock())
    capacity = threading.Event()

    def produce() -> None:
        for offset in range(count):
            while not queue.offer(chunk_of(claim, [offset]), capacity.set):
                assert capacity.wait(20)
                capacity.clear()
        queue.close()

    scope = ThreadScope("forks")
    scope.spawn("fetcher", produce, stop=ignore)
    received: list[int] = []
    for message in stream:
        received.append(message.offset)
        if message.offset % 30 == 0:
            assert "belongs to process" in in_forked_child(lambda: message_of(lambda: next(stream)))
    assert scope.close(10_000) == []
    assert received == list(range(count))


def _child_of_multiprocessing(
    stream: Stream, pipe: "multiprocessing.connection.Connection"
) -> None:
    pipe.send(message_of(lambda: next(stream)))


def test_a_child_of_multiprocessing_raises_too() -> None:
    """Its fork context passes the stream on as it is."""
    stream, _ = stream_of(0)
    context = multiprocessing.get_context("fork")
    parent_end, child_end = context.Pipe()
    with parent_end, child_end:
        child = context.Process(target=_child_of_multiprocessing, args=(stream, child_end))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child.start()
        assert parent_end.poll(20)
        assert "create a connector in the child" in parent_end.recv()
        child.join(20)
        assert child.exitcode == 0
    assert next(stream).offset == 0
