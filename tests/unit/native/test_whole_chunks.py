"""A native queue whose reader takes whole chunks, and awaits them by a callback."""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from tests.support.chunks import chunk_of, claim_of
from tests.support.native_chunks import new_wakeup, set_of
from tests.support.queues import needs_native_engine
from tests.support.record_sets import records
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import BatchTraits, build_batch

if TYPE_CHECKING:
    from zkconsumer.native._core import Fetched, Queue, Wakeup

pytestmark = needs_native_engine


def new_queue(max_chunks: int = 1_000, on_change: Callable[[], None] | None = None) -> "Queue":
    """Return a queue without a limit of its bytes."""
    made: Queue = import_module("zkconsumer.native._core").Queue(max_chunks, Chunk, on_change)
    return made


def put(
    queue: "Queue",
    claim: PartitionClaim,
    offsets: Iterable[int],
    wakeup: "Wakeup | None" = None,
) -> bool:
    """Put a chunk as the pump does; return whether it fitted."""
    offsets = list(offsets)
    return queue.put_set(claim, set_of(offsets), offsets[0], wakeup) is None


def offsets_in(fetched: "Fetched") -> list[int]:
    """Take the offsets of all records."""
    return [record.offset for record in fetched.take(len(fetched))]


def taken_offsets(queue: "Queue") -> list[int]:
    """Take the next chunk, and return the offsets of its records."""
    taken = queue.take_chunk()
    assert taken is not None
    return offsets_in(taken[-1])


# --- taking --------------------------------------------------------------------------------------


def test_a_chunk_comes_with_its_offsets_and_records() -> None:
    """All that a poll needs to know of it; nothing is left in the queue."""
    queue, claim = new_queue(), claim_of()
    assert queue.put_set(claim, set_of(range(8)), 3) is None
    charge = queue.used_bytes
    taken = queue.take_chunk()
    assert taken is not None
    assert taken[:4] == (3, 8, -1, charge)
    fetched = taken[4]
    assert fetched.memory_bytes == charge > 0
    assert (fetched.first_offset, fetched.last_offset, len(fetched)) == (3, 7, 5)
    assert list(fetched.take(9)) == records(3, 4, 5, 6, 7)
    assert (queue.chunk_count, queue.named_items()) == (0, [])
    assert queue.take_chunk() is None


def test_the_leader_epoch_is_that_of_the_last_batch() -> None:
    """A set may be the work of several leaders."""
    queue, stamped = new_queue(), records(0, 1, magic=1)
    batches = [
        build_batch([record], traits=BatchTraits(leader_epoch=epoch))
        for record, epoch in zip(stamped, (4, 6), strict=True)
    ]
    assert queue.put_set(claim_of(), b"".join(batches), 0) is None
    taken = queue.take_chunk()
    assert taken is not None
    assert taken[2] == 6


def test_a_chunk_without_records_moves_the_offset() -> None:
    """Of a log that lost its last records to compaction."""
    queue = new_queue()
    traits = BatchTraits(base_offset=5, last_offset=9, leader_epoch=3)
    assert queue.put_set(claim_of(), build_batch([], traits=traits), 5) is None
    taken = queue.take_chunk()
    assert taken is not None
    assert taken[:3] == (5, 10, 3)
    assert len(taken[4]) == 0


def test_a_charge_lasts_until_the_next_chunk_is_wanted() -> None:
    """The bytes are the reader's until then; without another chunk none is charged."""
    queue, claim = new_queue(), claim_of()
    assert put(queue, claim, range(50))
    first_bytes = queue.used_bytes
    assert put(queue, claim, [50])
    both_bytes = queue.used_bytes
    assert queue.take_chunk() is not None
    assert queue.used_bytes == both_bytes
    second = queue.take_chunk()
    assert second is not None
    assert queue.used_bytes == second[3] == both_bytes - first_bytes
    assert queue.take_chunk() is None
    assert queue.used_bytes == 0


def test_records_outlive_the_queue() -> None:
    """They were moved out."""
    queue = new_queue()
    assert put(queue, claim_of(), range(3))
    taken = queue.take_chunk()
    del queue
    assert taken is not None
    assert offsets_in(taken[-1]) == [0, 1, 2]


def test_chunks_come_in_order_and_once() -> None:
    """Whatever claims they are of."""
    queue, claims = new_queue(), [claim_of(), claim_of()]
    for number in range(6):
        assert put(queue, claims[number % 2], [number])
    assert [taken_offsets(queue) for _ in range(6)] == [[number] for number in range(6)]
    assert queue.take_chunk() is None


def test_chunks_that_were_given_up_are_dropped_on_the_way() -> None:
    """And nothing is charged for them."""
    queue, lost, held = new_queue(), claim_of(), claim_of()
    for number, claim in enumerate([lost, lost, held, lost, held, lost]):
        assert put(queue, claim, [number])
    lost.active = False
    assert [taken_offsets(queue), taken_offsets(queue)] == [[2], [4]]
    assert queue.take_chunk() is None
    assert (queue.used_bytes, queue.chunk_count) == (0, 0)


def test_what_python_put_is_not_taken() -> None:
    """It is not the pump's; what lies before it is."""
    queue, claim = new_queue(), claim_of()
    assert put(queue, claim, [0])
    item = chunk_of(claim, [1])
    assert queue.add(item, claim, 10)
    assert taken_offsets(queue) == [0]
    assert queue.take_chunk() is None
    assert queue.head(0) is item


# --- capacity ------------------------------------------------------------------------------------


def test_a_chunk_that_is_taken_makes_room_for_another() -> None:
    """The pump that waits for it is woken."""
    queue, claim, wakeup = new_queue(max_chunks=1), claim_of(), new_wakeup()
    assert put(queue, claim, [0])
    assert not put(queue, claim, [1], wakeup)
    assert (queue.waiting_pumps, wakeup.wait()) == (1, False)
    assert taken_offsets(queue) == [0]
    assert (queue.waiting_pumps, wakeup.wait()) == (0, True)
    assert put(queue, claim, [1], wakeup)


def test_the_end_of_a_charge_makes_room() -> None:
    """Even if nothing is left to take."""
    queue, claim, wakeup = new_queue(), claim_of(), new_wakeup()
    queue.set_share(1)
    assert put(queue, claim, [0])
    assert taken_offsets(queue) == [0]
    assert not put(queue, claim, [1], wakeup), "its bytes are the reader's"
    assert not wakeup.wait()
    assert queue.take_chunk() is None
    assert wakeup.wait()
    assert put(queue, claim, [1], wakeup)


def test_dropped_chunks_make_room() -> None:
    """Even if nothing is left to take."""
    queue, lost, wakeup = new_queue(), claim_of(), new_wakeup()
    queue.set_share(1)
    assert put(queue, lost, [0])
    assert not put(queue, claim_of(), [0], wakeup)
    lost.active = False
    assert not wakeup.wait()
    assert queue.take_chunk() is None
    assert wakeup.wait()


# --- awaiting ------------------------------------------------------------------------------------


def counting_queue() -> "tuple[Queue, list[int]]":
    """Return a queue, and how many chunks were there at each call."""
    calls: list[int] = []
    queue = new_queue(on_change=lambda: calls.append(queue.chunk_count))
    return queue, calls


def test_the_next_chunk_is_told_once() -> None:
    """Whoever awaits none is not called."""
    queue, calls = counting_queue()
    claim = claim_of()
    assert put(queue, claim, [0])
    assert calls == []
    assert taken_offsets(queue) == [0]
    assert not queue.await_chunk()
    assert not queue.await_chunk()
    assert put(queue, claim, [1])
    assert put(queue, claim, [2])
    assert calls == [1]
    assert [taken_offsets(queue), taken_offsets(queue)] == [[1], [2]]
    assert not queue.await_chunk()
    assert put(queue, claim, [3])
    assert calls == [1, 1]


def test_a_chunk_that_is_there_is_not_awaited() -> None:
    """The next one is told to nobody."""
    queue, calls = counting_queue()
    claim = claim_of()
    assert put(queue, claim, [0])
    assert queue.await_chunk()
    assert put(queue, claim, [1])
    assert calls == []


def test_a_chunk_that_was_given_up_is_not_there() -> None:
    """Nor is one told that is dropped at once."""
    queue, calls = counting_queue()
    lost = claim_of()
    assert put(queue, lost, [0])
    lost.active = False
    assert not queue.await_chunk()
    assert put(queue, lost, [1])
    assert calls == []
    assert put(queue, claim_of(), [2])
    assert calls == [1]
    assert queue.await_chunk()


def test_a_cut_chunk_is_told_with_its_first_piece() -> None:
    """The rest may not fit for long."""
    queue, calls = counting_queue()
    queue.set_share(1_000)
    assert not queue.await_chunk()
    data = build_message_set([Record(offset, None, bytes(100)) for offset in range(50)])
    left = queue.put_set(claim_of(), data, 0)
    assert left
    assert calls == [1]


def test_a_listener_is_still_called_for_every_chunk() -> None:
    """Awaited or not, once; without it nobody is."""
    queue, calls = counting_queue()
    heard: list[int] = []
    claim = claim_of()
    queue.listen(lambda: heard.append(queue.chunk_count))
    assert put(queue, claim, [0])
    queue.take_chunk()
    assert not queue.await_chunk()
    assert put(queue, claim, [1])
    assert put(queue, claim, [2])
    queue.listen(None)
    assert put(queue, claim, [3])
    assert (heard, calls) == ([1, 1, 2], [])


def test_a_queue_without_a_callback_may_be_asked() -> None:
    """Nobody is called."""
    queue = new_queue()
    assert not queue.await_chunk()
    assert put(queue, claim_of(), [0])
    assert queue.await_chunk()


def test_a_callback_may_take_what_it_is_told_of() -> None:
    """It holds no lock of the queue, and may await the next one."""
    taken: list[list[int]] = []

    def on_change() -> None:
        taken.append(taken_offsets(queue))
        assert not queue.await_chunk()

    queue, claim = new_queue(on_change=on_change), claim_of()
    assert not queue.await_chunk()
    for number in range(3):
        assert put(queue, claim, [number])
    assert taken == [[0], [1], [2]]


# --- counting ------------------------------------------------------------------------------------


def test_records_are_counted_while_they_wait() -> None:
    """Neither those of claims that were given up, nor those that were taken."""
    queue, claims = new_queue(), [claim_of(), claim_of()]
    assert queue.record_count == 0
    assert put(queue, claims[0], range(5))
    assert put(queue, claims[1], range(7))
    assert put(queue, claims[0], range(5, 16))
    assert queue.record_count == 23
    claims[1].active = False
    assert queue.record_count == 16
    assert taken_offsets(queue) == [0, 1, 2, 3, 4]
    assert queue.record_count == 11
    assert taken_offsets(queue) == list(range(5, 16))
    assert queue.record_count == 0


@pytest.mark.parametrize("magic", [0, 1])
def test_records_of_every_entry_are_counted(magic: int) -> None:
    """Of all runs of a chunk."""
    queue = new_queue()
    plain = build_message_set(records(*range(9), magic=magic), magic=magic)
    batch = build_batch(records(9, 10, magic=1))
    assert queue.put_set(claim_of(), plain + batch, 0) is None
    assert queue.record_count == 11
