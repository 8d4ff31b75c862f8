"""Forked children: told at once that a connector is their parent's, which notices nothing."""

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


def said_by(call: Callable[[], object]) -> str:
    """What ``ConsumerForked`` says; an error if ``call`` does not raise it."""
    with pytest.raises(ConsumerForked) as raised:
        call()
    return str(raised.value)


def stream_of(*offsets: int, guard: ForkGuard | None = None) -> tuple[Stream, StreamQueue]:
    """A stream without a time-out over a chunk with these offsets, if any."""
    queue = new_queue(10)
    if offsets:
        queue.offer(chunk_of(claim_of(), offsets), ignore)
    gate = DeliveryGate(SystemClock(), 0, guard=guard)
    return KafkaStream(queue, clock=SystemClock(), gate=gate), queue


# --- the guard -----------------------------------------------------------------------------------


def test_a_guard_lets_its_own_process_pass() -> None:
    """Nothing is raised where it was made."""
    guard = ForkGuard("consumer c of group g")
    guard.check()
    assert (guard.forked, guard.process_id) == (False, os.getpid())


def test_a_child_hears_whose_it_is_and_what_to_do() -> None:
    """The error names the owner, both processes, and the way out."""
    guard = ForkGuard("consumer c of group g")
    said = in_forked_child(lambda: f"{os.getpid()} {guard.forked} {said_by(guard.check)}")
    child, forked, text = said.split(" ", 2)
    assert forked == "True"
    assert text == (
        f"consumer c of group g belongs to process {os.getpid()} and can't be used in its forked "
        f"child {child}: create a connector in the child"
    )
    guard.check()


def test_a_fork_that_passes_over_the_hooks_is_noticed_by_the_process_id() -> None:
    """As one from C code does."""
    guard = ForkGuard("c")
    guard.process_id += 1
    assert f"belongs to process {os.getpid() + 1}" in said_by(guard.check)


def test_a_grandchild_is_told_too_and_what_a_child_makes_is_its_own() -> None:
    """Each guard belongs to the process that made it."""
    guard = ForkGuard("grandmother")

    def child() -> str:
        own = ForkGuard("mother")
        own.check()
        return in_forked_child(lambda: f"{said_by(guard.check)}; {said_by(own.check)}")

    said = in_forked_child(child)
    assert f"grandmother belongs to process {os.getpid()}" in said
    assert "mother belongs to process" in said.split("; ")[1]


def test_listeners_are_called_in_the_child_only_and_before_its_first_line() -> None:
    """Whoever can't pay for a check in its hot path is told."""
    guard, received = ForkGuard("c"), []
    guard.on_fork(lambda: received.append(os.getpid()))
    said = in_forked_child(lambda: f"{received == [os.getpid()]}")
    assert (said, received) == ("True", [])


def test_guards_are_not_kept_alive() -> None:
    """A connector that is gone leaves nothing for the next fork to do."""
    guard = ForkGuard("c")
    gone = weakref.ref(guard)
    del guard
    gc.collect()
    assert gone() is None


# --- streams -------------------------------------------------------------------------------------


def test_a_child_gets_nothing_from_a_stream_wherever_it_stands() -> None:
    """In mid-chunk, before the first message, with nothing queued, and after the end."""
    middle, _ = stream_of(0, 1, 2)
    assert next(middle).offset == 0
    fresh, _ = stream_of(0)
    empty, _ = stream_of()
    ended, queue = stream_of()
    queue.close()
    streams = (middle, fresh, empty, ended)
    said = in_forked_child(
        lambda: "\n".join(said_by(lambda item=stream: next(item)) for stream in streams)  # type: ignore[misc]
    )
    assert len(said.splitlines()) == 4
    assert all(f"belongs to process {os.getpid()}" in line for line in said.splitlines())
    assert [message.offset for message in (next(middle), next(middle), next(fresh))] == [1, 2, 0]


def test_streams_of_one_guard_name_their_connector() -> None:
    """The gate brings the connector's guard along."""
    stream, _ = stream_of(0, guard=ForkGuard("consumer c of group g"))
    said = in_forked_child(lambda: said_by(lambda: next(stream)))
    assert said.startswith("consumer c of group g belongs to")


def test_a_child_commits_nothing_ahead() -> None:
    """At most once: no commit is asked for in a child, where nobody would answer."""
    requested: list[int] = []

    def commit(_claim: PartitionClaim, offset: int) -> bool:
        requested.append(offset)
        return True

    queue = new_queue(10)
    queue.offer(chunk_of(claim_of(), [0]), ignore)
    stream: Stream = KafkaStream(
        queue, clock=SystemClock(), delivery=Delivery.AT_MOST_ONCE, commit_ahead=commit
    )
    said = in_forked_child(lambda: f"{said_by(lambda: next(stream)) != ''} {requested}")
    assert said == "True []"
    assert (next(stream).offset, requested) == (0, [1])


@pytest.mark.timeout(10)
def test_a_child_that_is_forked_inside_of_a_wait_wakes_and_is_told() -> None:
    """By a signal handler, say, while the main thread waits for messages that never come there."""
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


def test_a_child_is_told_by_an_event_loop_too() -> None:
    """In a loop of its own, and inside of the task that it was forked in."""
    stream, queue = stream_of(0, 1, 2, 3)
    waiting, other_queue = stream_of()

    async def one(of: Stream) -> int:
        return (await anext(of)).offset

    def fresh_loop() -> str:
        return said_by(lambda: asyncio.run(one(stream)))

    def by_hand(of: Stream) -> str:
        return said_by(lambda: of.__anext__().send(None))

    async def main() -> list[object]:
        first = await one(stream)
        task = asyncio.create_task(one(waiting))
        while not is_listened_to(other_queue):
            await asyncio.sleep(0)
        said = [in_forked_child(lambda: by_hand(stream)), in_forked_child(lambda: by_hand(waiting))]
        other_queue.offer(chunk_of(claim_of(), [9]), ignore)
        return [first, *said, await task, await one(stream)]

    assert in_forked_child(fresh_loop).startswith("this consumer stream belongs to")
    first, *said, late, second = asyncio.run(main())
    assert (first, late, second) == (0, 9, 1)
    assert [str(item).split(" belongs")[0] for item in said] == ["this consumer stream"] * 2
    queue.close()


def test_the_parent_reads_on_while_children_come_and_go() -> None:
    """A stream that a thread feeds loses and repeats nothing over many forks."""
    queue, claim, count = new_queue(3), claim_of(committed=0), 300
    stream: Stream = KafkaStream(queue, clock=SystemClock())
    room = threading.Event()

    def produce() -> None:
        for offset in range(count):
            while not queue.offer(chunk_of(claim, [offset]), room.set):
                assert room.wait(20)
                room.clear()
        queue.close()

    scope = ThreadScope("forks")
    scope.spawn("fetcher", produce, stop=ignore)
    got: list[int] = []
    for message in stream:
        got.append(message.offset)
        if message.offset % 30 == 0:
            assert "belongs to process" in in_forked_child(lambda: said_by(lambda: next(stream)))
    assert scope.close(10_000) == []
    assert got == list(range(count))


def _child_of_multiprocessing(
    stream: Stream, pipe: "multiprocessing.connection.Connection"
) -> None:
    pipe.send(said_by(lambda: next(stream)))


def test_a_child_of_multiprocessing_is_told_too() -> None:
    """With its fork context, which hands the stream over as it is."""
    stream, _ = stream_of(0)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    with ours, theirs:
        child = context.Process(target=_child_of_multiprocessing, args=(stream, theirs))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child.start()
        assert ours.poll(20)
        assert "create a connector in the child" in ours.recv()
        child.join(20)
        assert child.exitcode == 0
    assert next(stream).offset == 0
