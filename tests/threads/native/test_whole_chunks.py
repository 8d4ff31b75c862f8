"""A native queue whose reader takes whole chunks, between threads and in forked children."""

import threading
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from tests.support.chunks import claim_of, ignore
from tests.support.forks import in_forked_child
from tests.support.native_chunks import new_wakeup, set_of
from tests.support.queues import needs_native_engine
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import TopicPartition
from zkconsumer.scope import ThreadScope

if TYPE_CHECKING:
    from zkconsumer.native._core import Queue

pytestmark = needs_native_engine


def new_queue(max_chunks: int, on_change: Callable[[], None] | None = None) -> "Queue":
    """Return a queue without a limit of its bytes."""
    made: Queue = import_module("zkconsumer.native._core").Queue(max_chunks, tuple, on_change)
    return made


def producer(queue: "Queue", claim: PartitionClaim, count: int, step: int) -> Callable[[], None]:
    """Behave as a pump: put record sets, and wait for the wakeup when the queue is full."""

    def run() -> None:
        wakeup = new_wakeup()
        for begin in range(0, count, step):
            data, at = set_of(range(begin, min(begin + step, count))), begin
            while (left := queue.put_set(claim, data, at, wakeup)) is not None:
                at = left
                assert wakeup.wait(20_000), "not notified"

    return run


@pytest.mark.usefixtures("frequent_switches")
@pytest.mark.parametrize(("max_chunks", "share_bytes"), [(2, 1 << 20), (1_000, 9_000), (3, 1)])
def test_no_chunk_is_missed(max_chunks: int, share_bytes: int) -> None:
    """Neither by the reader, which is told of it once, nor by the pumps, which wait for room."""
    is_there = threading.Event()
    queue, count = new_queue(max_chunks, is_there.set), 600 if share_bytes > 1 else 60
    queue.set_share(share_bytes)
    claims = [claim_of(TopicPartition("t", number)) for number in range(3)]
    scope = ThreadScope("queue")
    for claim, step in zip(claims, (1, 7, 200), strict=True):
        scope.spawn("pump", producer(queue, claim, count, step), stop=ignore)
    received: list[int] = []
    while len(received) < count * len(claims):
        taken = queue.take_chunk()
        if taken is None:
            if not queue.await_chunk():
                assert is_there.wait(20), f"stalled with {len(received)}"
                is_there.clear()
            continue
        fetched = taken[-1]
        offsets = [record.offset for record in fetched.take(len(fetched))]
        assert offsets == list(range(taken[0], taken[1]))
        assert queue.used_bytes <= share_bytes or len(offsets) == 1
        received += offsets
    assert scope.close(5_000) == []
    assert scope.first_error() is None
    assert sorted(received) == sorted(list(range(count)) * len(claims))
    assert queue.take_chunk() is None
    assert (queue.used_bytes, queue.record_count) == (0, 0)


def test_in_a_forked_child_nothing_is_there_to_take() -> None:
    """Every call returns at once, and the parent's queue is not affected."""
    queue = new_queue(10)
    assert queue.put_set(claim_of(), set_of([0]), 0) is None

    def child() -> str:
        return repr((queue.take_chunk(), queue.await_chunk(), queue.record_count))

    assert in_forked_child(child) == "(None, False, 0)"
    assert (queue.await_chunk(), queue.record_count) == (True, 1)
    assert queue.take_chunk() is not None
