"""What the pump puts into a stream's queue, beside what Python puts there."""

import gc
import weakref

import pytest

from tests.support.chunks import T1, chunk_of, claim_of, ignore
from tests.support.native_chunks import (
    native_queue,
    native_records,
    new_wakeup,
    offsets_in,
    put,
    set_of,
)
from tests.support.queues import needs_native_engine
from tests.support.record_sets import records
from zkconsumer.errors import ConsumerTimeout, PartitionFailed
from zkconsumer.fetch.claim import Chunk, Poison
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.stream_queue import Closed, Failed

pytestmark = needs_native_engine


def charge_of(*offsets: int) -> int:
    """Return the bytes that a chunk of these records is charged."""
    queue, claim = native_queue(), claim_of()
    put(queue, claim, offsets)
    return queue.used_bytes()


TEN = range(10)
SHARE = 40_000
"""Large compared with one record, small compared with the record sets of these tests."""


# --- one queue -----------------------------------------------------------------------------------


def test_a_native_chunk_is_a_chunk_for_whoever_takes_it() -> None:
    """A native chunk has its claim's own object, its offsets, and the records of its set."""
    queue, claim = native_queue(), claim_of(committed=3)
    assert queue.native.put_set(claim, set_of(range(8)), 3) is None
    chunk = queue.head(0)
    assert isinstance(chunk, Chunk)
    assert chunk.claim is claim
    assert (chunk.fetch_offset, chunk.next_offset) == (3, 8)
    assert list(chunk.records) == records(3, 4, 5, 6, 7)
    assert chunk.size_bytes == queue.used_bytes() == native_records(chunk).memory_bytes
    assert chunk.poison is None


def test_the_head_is_the_same_object_until_it_is_taken() -> None:
    """The head of the queue is the same object until it is taken."""
    queue = native_queue()
    put(queue, claim_of(), TEN)
    assert queue.head(0) is queue.head(None) is queue.native.named_head
    assert queue.take(0) is not None
    assert queue.head(0) is None


def test_all_kinds_of_items_share_one_queue() -> None:
    """Native chunks, those of Python, errors and the end come in the order of their puts."""
    queue, claim = native_queue(), claim_of()
    error = ConsumerTimeout("any")
    put(queue, claim, [0])
    queue.offer(chunk_of(claim, [1]), ignore)
    queue.fail(error)
    put(queue, claim, [2])
    queue.offer(chunk_of(claim, [3]), ignore)
    put(queue, claim, [4])
    queue.close()
    taken = [queue.take(0) for _ in range(8)]
    assert [offsets_in(chunk) for chunk in taken if isinstance(chunk, Chunk)] == [
        [n] for n in range(5)
    ]
    kinds = [type(item) for item in taken]
    assert kinds == [Chunk, Chunk, Failed, Chunk, Chunk, Chunk, Closed, Closed]
    assert queue.used_bytes() == 0


def test_native_records_are_a_sequence() -> None:
    """A native chunk's records have a length, items and slices, as well as runs."""
    queue, claim = native_queue(), claim_of()
    put(queue, claim, TEN)
    put(queue, claim, [])
    found, none = (native_records(queue.take(0)) for _ in range(2))
    assert (len(found), bool(found), len(none), bool(none)) == (10, True, 0, False)
    assert list(found) == list(found) == records(*TEN)
    assert (found[0].offset, found[-1].offset, found[2:4]) == (0, 9, records(2, 3))
    assert [len(run) for run in found.runs] == [10]
    assert (list(none), none.runs) == ([], [])
    with pytest.raises(IndexError):
        found[10]


def test_a_corrupt_set_is_refused() -> None:
    """The tests' own entry point refuses a corrupt record set, as the pump never puts one."""
    queue = native_queue()
    broken = bytearray(set_of(TEN))
    broken[-1] ^= 1
    with pytest.raises(ValueError, match="not sound at byte"):
        queue.native.put_set(claim_of(), broken, 0)
    assert queue.head(0) is None


def test_claims_that_were_given_up_are_forgotten_in_time() -> None:
    """Claims that were given up are removed from the queue's table after some time."""
    queue = native_queue()
    for _ in range(1_000):
        claim = claim_of()
        put(queue, claim, [0])
        assert offsets_in(queue.take(0)) == [0]
        claim.active = False
    assert queue.native.claim_count < 200


# --- bounds --------------------------------------------------------------------------------------


def test_a_chunk_is_charged_the_memory_that_it_pins() -> None:
    """A chunk is charged at least its messages' bytes, and little more than twice as many."""
    size = len(set_of(TEN))
    assert size <= charge_of(*TEN) <= 2 * size + 500


def test_a_queue_full_of_chunks_is_full_for_the_pump_too() -> None:
    """Chunks of Python fill the queue for the pump, too, which is notified once."""
    queue, claim, wakeup = native_queue(2), claim_of(), new_wakeup()
    assert put(queue, claim, [0], wakeup) is None
    assert queue.offer(chunk_of(claim, [1]), ignore)
    assert put(queue, claim, [2], wakeup) == 2
    assert put(queue, claim, [2], wakeup) == 2
    assert not wakeup.wait()
    queue.take(0)
    assert wakeup.wait()
    assert put(queue, claim, [2], wakeup) is None
    queue.take(0)
    assert not wakeup.wait()


def test_bytes_of_the_pump_and_of_python_are_counted_together() -> None:
    """Bytes of the pump and of Python are counted together, including the chunk in hand."""
    queue, claim, wakeup = native_queue(share_bytes=SHARE), claim_of(), new_wakeup()
    notifications: list[int] = []
    assert put(queue, claim, range(300)) is None
    assert put(queue, claim, range(300, 600)) is None
    assert put(queue, claim, range(600, 900), wakeup) is not None
    assert not queue.offer(chunk_of(claim, range(900, 950)), lambda: notifications.append(1))
    chunk = queue.head(0)
    assert isinstance(chunk, Chunk)
    queue.remove()
    assert wakeup.wait()
    assert notifications == [1]
    assert put(queue, claim, range(600, 900), wakeup) is not None
    queue.release(chunk)
    assert wakeup.wait()
    assert queue.offer(chunk_of(claim, range(900, 950)), ignore)


def test_a_large_native_chunk_is_put_in_parts_of_half_a_share() -> None:
    """A large chunk is put in parts of at most half a share, each charged by itself."""
    queue, claim = native_queue(share_bytes=SHARE), claim_of(committed=0)
    count, got, at = 3_000, [], 0
    whole = set_of(range(count))
    assert len(whole) > 3 * SHARE
    next_offset = 0
    while (left := queue.native.put_set(claim, whole, at)) is not None:
        assert left >= at
        at = left
        assert SHARE // 2 < queue.used_bytes() <= SHARE
        chunk = queue.head(0)
        assert isinstance(chunk, Chunk)
        assert chunk.fetch_offset == next_offset
        next_offset = chunk.next_offset
        got += offsets_in(queue.take(0))
        assert chunk.size_bytes <= SHARE // 2
    while (item := queue.take(0)) is not None:
        got += offsets_in(item)
    assert got == list(range(count))
    assert queue.used_bytes() == 0


def test_a_message_larger_than_the_share_gets_in_when_it_is_alone() -> None:
    """A message larger than the share is put once the queue is empty, and is delivered whole."""
    queue, claim, wakeup = native_queue(share_bytes=2_000), claim_of(), new_wakeup()
    large = build_message_set(
        [Record(0, None, b"a"), Record(1, None, bytes(9_000)), Record(2, None, b"b")]
    )
    got: list[list[int]] = []
    at = 0
    while (left := queue.native.put_set(claim, large, at, wakeup)) is not None:
        at = left
        got.append(offsets_in(queue.take(0)))
        assert wakeup.wait()
    got.append(offsets_in(queue.take(0)))
    assert got == [[0], [1], [2]]


def test_the_smallest_share_delivers_everything() -> None:
    """With the smallest share messages are delivered one at a time."""
    queue, claim = native_queue(share_bytes=1), claim_of()
    whole, at, got = set_of(range(20)), 0, []
    while (left := queue.native.put_set(claim, whole, at)) is not None:
        at = left
        got.append(offsets_in(queue.take(0)))
    got.append(offsets_in(queue.take(0)))
    assert got == [[n] for n in range(20)]


def test_a_native_chunk_that_python_offers_is_split_into_native_parts() -> None:
    """A native chunk that Python offers is split into native parts, and its poison comes last."""
    queue, claim = native_queue(share_bytes=SHARE), claim_of(committed=0)
    source = native_queue()
    put(source, claim, range(1_000))
    chunk = source.take(0)
    assert isinstance(chunk, Chunk)
    error = PartitionFailed(claim.topic_partition, 1_000, "x")
    chunk.poison = Poison(claim.topic_partition, 1_000, 1_001, error)
    got: list[int] = []
    parts: list[Chunk] = []
    is_in = False
    while not is_in or queue.head(0) is not None:
        is_in = is_in or queue.offer(chunk, ignore)
        part = queue.take(0)
        assert isinstance(part, Chunk)
        parts.append(part)
        got += offsets_in(part)
        if part.records:
            assert native_records(part).memory_bytes <= SHARE // 2
    assert got == list(range(1_000))
    assert [part.poison for part in parts if part.poison] == [chunk.poison]
    assert parts[-1].poison is chunk.poison


def test_shares_shrink_with_every_queue_that_is_made() -> None:
    """When queues are added to a budget, native code sees the smaller shares at once."""
    budget = ByteBudget(SHARE)
    first = native_queue()
    budgeted = [type(first)(10, budget) for _ in range(4)]
    assert {queue.native.half_share_bytes for queue in budgeted} == {SHARE // 8}
    assert first.native.half_share_bytes > SHARE


# --- claims that are given up --------------------------------------------------------------------


def test_native_chunks_of_given_up_claims_do_not_fill_the_queue() -> None:
    """Native chunks of claims that were given up neither fill the queue nor are delivered."""
    queue, old, new = native_queue(1), claim_of(), claim_of(T1)
    put(queue, old, [0])
    old.active = False
    assert queue.chunk_count() == 0
    assert put(queue, new, [7]) is None
    assert put(queue, new, [8]) == 8
    assert offsets_in(queue.take(0)) == [7]
    assert queue.head(0) is None


def test_nothing_is_put_for_a_claim_that_was_given_up() -> None:
    """A chunk for a claim that was given up is accepted from the producer and dropped."""
    queue, claim = native_queue(1), claim_of()
    claim.active = False
    assert put(queue, claim, [0]) is None
    assert (queue.used_bytes(), queue.head(0)) == (0, None)


def test_a_claim_may_be_given_up_while_its_chunk_is_looked_at() -> None:
    """A notified producer may give up the claim whose chunk is just looked at."""
    queue, dead, claim = native_queue(), claim_of(), claim_of(T1)
    put(queue, dead, [0])
    put(queue, claim, [5])
    dead.active = False

    def give_up() -> None:
        claim.active = False
        for _ in range(200):
            queue.native.adopt(claim_of())

    queue.native.wait_for_capacity(give_up)
    chunk = queue.take(0)
    assert isinstance(chunk, Chunk)
    assert chunk.claim is claim
    assert (queue.head(0), queue.used_bytes()) == (None, 0)


def test_discarding_frees_native_chunks() -> None:
    """Discarding frees native chunks, empties the one that the stream saw, and notifies pumps."""
    queue, old, kept, wakeup = native_queue(3), claim_of(), claim_of(T1), new_wakeup()
    put(queue, old, [0])
    put(queue, kept, [5])
    put(queue, old, [1])
    seen = queue.head(0)
    assert isinstance(seen, Chunk)
    assert put(queue, kept, [6], wakeup) == 6
    old.active = False
    queue.discard_inactive()
    assert wakeup.wait()
    assert queue.used_bytes() == charge_of(5)
    assert (queue.take(0), list(seen.records)) == (seen, [])
    assert offsets_in(queue.take(0)) == [5]
    assert queue.head(0) is None


def test_a_queue_with_chunks_is_freed() -> None:
    """A queue with chunks in it is freed, also in a reference cycle."""
    queue, claim = native_queue(), claim_of()
    claim.sink = queue
    for n in range(10):
        put(queue, claim, range(n * 10, n * 10 + 10))
        queue.offer(chunk_of(claim, [n]), ignore)
    gone = weakref.ref(queue)
    queue.head(0)
    del queue, claim
    gc.collect()
    assert gone() is None


# --- wakeups -------------------------------------------------------------------------------------


def test_a_listener_is_called_for_native_puts_too() -> None:
    """A listener is called for native puts, too, as long as it is set."""
    queue, claim, notified = native_queue(), claim_of(), []
    queue.listen(lambda: notified.append(1))
    put(queue, claim, [0])
    put(queue, claim, [1])
    assert len(notified) == 2
    queue.listen(None)
    put(queue, claim, [2])
    assert len(notified) == 2


def test_a_pause_ends_with_a_native_chunk() -> None:
    """A native chunk ends a pause, as any other item does."""
    queue = native_queue()
    put(queue, claim_of(), [0])
    queue.pause(None)
    queue.pause(10)
