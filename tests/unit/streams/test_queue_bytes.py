"""The byte bound of a stream's queue: shares, splitting and freeing, without a deadlock."""

from functools import partial

import pytest

from tests.support.chunks import T1, chunk_of, claim_of, ignore
from tests.support.interrupting import interrupt_at_line
from tests.support.queues import each_queue, new_queue
from tests.support.record_sets import records
from zkconsumer.errors import PartitionFailed
from zkconsumer.fetch.claim import Chunk, PartitionClaim, Poison
from zkconsumer.model import Record
from zkconsumer.records.memory import records_bytes
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.queues import StreamQueue

pytestmark = pytest.mark.usefixtures(each_queue.__name__)

ONE = records_bytes(records(0))
"""The bytes of one of the tests' records."""


def queue_of(limit_bytes: int, max_chunks: int = 1_000) -> StreamQueue:
    """Create the only queue of a budget."""
    return new_queue(max_chunks, ByteBudget(limit_bytes))


def heavy(claim: PartitionClaim, offset: int, size_bytes: int) -> Chunk:
    """Return a chunk of one large record."""
    found = [Record(offset, None, bytes(size_bytes))]
    return Chunk(claim, offset, offset + 1, found, records_bytes(found))


def offsets_in(item: object) -> list[int]:
    """Return the offsets of a chunk's records."""
    assert isinstance(item, Chunk)
    return [record.offset for record in item.records]


# --- shares --------------------------------------------------------------------------------------


def test_every_queue_has_an_equal_share() -> None:
    """A queue's share is the limit divided by the number of queues, and at least one byte."""
    budget = ByteBudget(90)
    assert budget.share_bytes == 90
    queues = [new_queue(1, budget) for _ in range(3)]
    assert (len(queues), budget.share_bytes) == (3, 30)
    assert ByteBudget(0).share_bytes == 1


def test_a_queue_takes_chunks_up_to_its_share() -> None:
    """A chunk beyond the share is refused, and its producer is notified when bytes are free."""
    queue, claim = queue_of(4 * ONE), claim_of()
    notifications: list[int] = []
    for offset in range(4):
        assert queue.offer(chunk_of(claim, [offset]), ignore)
    assert queue.used_bytes() == 4 * ONE
    assert not queue.offer(chunk_of(claim, [4]), lambda: notifications.append(1))
    queue.take(0)
    assert notifications
    assert queue.offer(chunk_of(claim, [4]), ignore)


def test_a_chunk_in_hand_counts_until_it_is_released() -> None:
    """Removing a chunk frees its place in the queue; being done with it frees its bytes."""
    queue, claim = queue_of(2 * ONE), claim_of()
    queue.offer(chunk_of(claim, [0]), ignore)
    queue.offer(chunk_of(claim, [1]), ignore)
    chunk = queue.head(0)
    assert isinstance(chunk, Chunk)
    queue.remove()
    assert queue.used_bytes() == 2 * ONE
    assert not queue.offer(chunk_of(claim, [2]), ignore)
    queue.release(chunk)
    assert queue.used_bytes() == ONE
    assert queue.offer(chunk_of(claim, [2]), ignore)


def test_being_done_twice_frees_the_bytes_once() -> None:
    """Being done twice with a chunk frees its bytes once, even if another one is in hand."""
    queue, claim = queue_of(4 * ONE), claim_of()
    queue.offer(chunk_of(claim, [0]), ignore)
    queue.offer(chunk_of(claim, [1]), ignore)
    first = queue.head(0)
    assert isinstance(first, Chunk)
    queue.remove()
    queue.release(first)
    queue.remove()
    queue.release(first)
    assert queue.used_bytes() == ONE


def test_a_queue_that_is_not_read_takes_nothing_from_another() -> None:
    """A full queue that is not read takes nothing from the share of another."""
    budget = ByteBudget(8 * ONE)
    slow, quick = new_queue(1_000, budget), new_queue(1_000, budget)
    claim, other = claim_of(), claim_of(T1)
    while slow.offer(chunk_of(claim, [0]), ignore):
        pass
    for offset in range(100):
        assert quick.offer(chunk_of(other, [offset]), ignore)
        assert offsets_in(quick.take(0)) == [offset]
    assert slow.used_bytes() == 4 * ONE


def test_discarding_frees_the_bytes_of_given_up_claims_at_once() -> None:
    """Discarding frees the bytes of given up claims and notifies producers without the stream."""
    queue, old, new = queue_of(2 * ONE), claim_of(), claim_of()
    notifications: list[int] = []
    queue.offer(chunk_of(old, [0]), ignore)
    queue.offer(chunk_of(old, [1]), ignore)
    assert not queue.offer(chunk_of(new, [0]), lambda: notifications.append(1))
    old.active = False
    queue.discard_inactive()
    assert (queue.used_bytes(), notifications) == (0, [1])
    assert queue.offer(chunk_of(new, [0]), ignore)


def test_discarding_frees_poison_too() -> None:
    """Discarding frees the raw bytes of poison, which each new attempt would add to."""
    queue, claim = queue_of(100 * ONE), claim_of()
    error = PartitionFailed(claim.topic_partition, 0, "CRC")
    poison = Poison(claim.topic_partition, 0, None, error, bytes(1_000))
    chunk = chunk_of(claim, fetched_at=0, poison=poison)
    assert queue.offer(chunk, ignore)
    claim.active = False
    queue.discard_inactive()
    assert chunk.poison is None


# --- large chunks --------------------------------------------------------------------------------


def test_a_large_chunk_is_put_in_parts_of_half_a_share() -> None:
    """What does not fit of a large chunk is offered again: nothing is lost, and order is kept."""
    queue, claim = queue_of(8 * ONE), claim_of(committed=0)
    chunk = chunk_of(claim, range(20))
    got: list[int] = []
    while not queue.offer(chunk, ignore):
        assert 4 * ONE < queue.used_bytes() <= 8 * ONE
        got += offsets_in(queue.take(0))
    while (item := queue.take(0)) is not None:
        got += offsets_in(item)
    assert got == list(range(20))


def test_the_parts_of_a_chunk_are_consecutive() -> None:
    """The parts of a chunk are consecutive and cover it, gaps included; its poison comes last."""
    queue, claim = queue_of(100 * ONE), claim_of(committed=0)
    poison = Poison(claim.topic_partition, 30, 40, PartitionFailed(claim.topic_partition, 30, "x"))
    chunk = chunk_of(claim, range(5, 120, 2), fetched_at=3, next_offset=125, poison=poison)
    assert queue.offer(chunk, ignore)
    parts = [part for part in (queue.take(0), queue.take(0)) if isinstance(part, Chunk)]
    first, last = parts
    assert (first.fetch_offset, last.next_offset) == (3, 125)
    assert first.next_offset == last.fetch_offset == first.records[-1].offset + 1
    assert offsets_in(first) + offsets_in(last) == list(range(5, 120, 2))
    assert [part.poison for part in parts] == [None, poison]
    assert all(part.size_bytes == records_bytes(part.records) for part in parts)


def test_a_record_larger_than_the_share_gets_in_when_it_is_alone() -> None:
    """A record larger than the share waits until the queue is empty, and keeps others out."""
    queue, claim = queue_of(4 * ONE), claim_of()
    queue.offer(chunk_of(claim, [0]), ignore)
    large = heavy(claim, 1, 100 * ONE)
    assert not queue.offer(large, ignore)
    first = queue.head(0)
    assert isinstance(first, Chunk)
    queue.remove()
    assert not queue.offer(large, ignore)
    queue.release(first)
    assert queue.offer(large, ignore)
    assert not queue.offer(chunk_of(claim, [2]), ignore)
    assert queue.take(0) is large


def test_the_smallest_budget_delivers_everything() -> None:
    """With a budget of one byte records are delivered one at a time."""
    queue, claim = queue_of(1), claim_of(committed=0)
    chunk = chunk_of(claim, range(10))
    got: list[int] = []
    while not queue.offer(chunk, ignore):
        got += offsets_in(queue.take(0))
    got += offsets_in(queue.take(0))
    assert got == list(range(10))


def test_free_bytes_are_known_before_a_chunk_is_made() -> None:
    """Free bytes are at most half a share; when next to none are left, the producer is notified."""
    queue, claim = queue_of(16 * ONE), claim_of()
    notifications: list[int] = []
    assert queue.free_bytes(ignore) == 8 * ONE
    queue.offer(chunk_of(claim, range(8)), ignore)
    assert queue.free_bytes(ignore) == 8 * ONE
    queue.offer(chunk_of(claim, range(5)), ignore)
    assert queue.free_bytes(ignore) == 3 * ONE
    queue.offer(chunk_of(claim, range(2)), ignore)
    assert queue.free_bytes(lambda: notifications.append(1)) == 0
    queue.take(0)
    assert notifications
    assert queue.free_bytes(ignore) == 8 * ONE


def test_a_queue_full_of_chunks_has_no_free_bytes() -> None:
    """The limits of chunks and of bytes both apply."""
    queue, claim = queue_of(1_000 * ONE, max_chunks=1), claim_of()
    assert queue.offer(chunk_of(claim, [0]), ignore)
    assert queue.free_bytes(ignore) == 0
    assert not queue.offer(chunk_of(claim, [1]), ignore)


def test_poison_counts_its_raw_bytes_and_comes_last() -> None:
    """Poison counts with its raw bytes, and is split from a record if both don't fit."""
    queue, claim = queue_of(8 * ONE), claim_of()
    poison = Poison(claim.topic_partition, 1, 2, PartitionFailed(claim.topic_partition, 1, "x"))
    chunk = chunk_of(claim, [0], poison=poison)
    chunk.size_bytes += 8 * ONE
    assert not queue.offer(chunk, ignore)
    assert offsets_in(queue.take(0)) == [0]
    assert queue.offer(chunk, ignore)
    last = queue.take(0)
    assert isinstance(last, Chunk)
    assert (offsets_in(last), last.poison) == ([], poison)


# --- wakeups -------------------------------------------------------------------------------------


def test_a_wakeup_ends_one_wait() -> None:
    """A wakeup ends one wait at once with None, and the next wait lasts again."""
    queue = new_queue(1)
    queue.wake()
    assert queue.head(None) is None
    assert queue.head(10) is None
    queue.offer(chunk_of(claim_of(), [7]), ignore)
    queue.wake()
    assert offsets_in(queue.head(None)) == [7]


def test_a_pause_ends_with_a_wakeup_or_an_item() -> None:
    """A pause ends with a wakeup or a new item, even if something is queued."""
    queue = new_queue(5)
    queue.pause(10)
    queue.wake()
    queue.pause(None)
    queue.close()
    queue.pause(None)


def test_a_listener_is_called_for_every_put_and_wakeup() -> None:
    """A listener is called for chunks, errors, the end and wakeups, until it is removed."""
    queue, received = new_queue(5), []
    queue.listen(lambda: received.append(1))
    queue.offer(chunk_of(claim_of(), [0]), ignore)
    queue.fail(PartitionFailed(T1, 3, "any"))
    queue.wake()
    queue.close()
    assert len(received) == 4
    queue.listen(None)
    queue.wake()
    assert len(received) == 4


@pytest.mark.parametrize("step", ["remove", "release"])
def test_a_signal_handler_may_change_the_queue_wherever_it_interrupts(step: str) -> None:
    """A signal handler may close, discard and wake at any line: nothing blocks, no bytes leak."""
    for stop_at in range(100):
        queue, claim = queue_of(8 * ONE), claim_of()
        chunk = chunk_of(claim, [0])
        queue.offer(chunk, ignore)
        assert queue.head(0) is chunk
        if step == "release":
            queue.remove()

        def handler(queue: StreamQueue = queue) -> None:
            queue.discard_inactive()
            queue.wake()
            queue.close()

        run = queue.remove if step == "remove" else partial(queue.release, chunk)
        interrupted = interrupt_at_line(stop_at, handler, run)
        queue.release(chunk)
        assert queue.used_bytes() == 0
        if not interrupted:
            assert stop_at > 0
            return
    raise AssertionError("never came to the end")
