"""The byte bound of a stream's queue: shares, cutting, giving back; nothing stands still."""

from functools import partial

import pytest

from tests.support.chunks import T1, chunk_of, claim_of, ignore
from tests.support.interrupting import interrupt_at_line
from tests.support.queues import each_queue, new_queue
from tests.support.record_sets import records
from zkconsumer.errors import PartitionFailed
from zkconsumer.fetch.claim import Chunk, PartitionClaim, Poison
from zkconsumer.fetch.sizes import records_bytes
from zkconsumer.model import Record
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.queues import StreamQueue

pytestmark = pytest.mark.usefixtures(each_queue.__name__)

ONE = records_bytes(records(0))
"""What one of the tests' records takes."""


def queue_of(limit_bytes: int, max_chunks: int = 1_000) -> StreamQueue:
    """The only queue of a budget."""
    return new_queue(max_chunks, ByteBudget(limit_bytes))


def heavy(claim: PartitionClaim, offset: int, size_bytes: int) -> Chunk:
    """A chunk of one large record."""
    found = [Record(offset, None, bytes(size_bytes))]
    return Chunk(claim, offset, offset + 1, found, records_bytes(found))


def offsets_in(item: object) -> list[int]:
    """The offsets of a chunk's records."""
    assert isinstance(item, Chunk)
    return [record.offset for record in item.records]


# --- shares --------------------------------------------------------------------------------------


def test_every_queue_has_an_equal_share() -> None:
    """The limit over the number of queues, and never nothing."""
    budget = ByteBudget(90)
    assert budget.share_bytes == 90
    queues = [new_queue(1, budget) for _ in range(3)]
    assert (len(queues), budget.share_bytes) == (3, 30)
    assert ByteBudget(0).share_bytes == 1


def test_a_queue_takes_chunks_up_to_its_share() -> None:
    """The one that would go beyond is refused, and called for when the stream is through."""
    queue, claim = queue_of(4 * ONE), claim_of()
    rung: list[int] = []
    for offset in range(4):
        assert queue.offer(chunk_of(claim, [offset]), ignore)
    assert queue.used_bytes() == 4 * ONE
    assert not queue.offer(chunk_of(claim, [4]), lambda: rung.append(1))
    queue.take(0)
    assert rung
    assert queue.offer(chunk_of(claim, [4]), ignore)


def test_a_chunk_in_the_streams_hands_counts_until_it_is_done_with() -> None:
    """Removing makes room for a chunk, being done with it makes room for its bytes."""
    queue, claim = queue_of(2 * ONE), claim_of()
    queue.offer(chunk_of(claim, [0]), ignore)
    queue.offer(chunk_of(claim, [1]), ignore)
    chunk = queue.head(0)
    assert isinstance(chunk, Chunk)
    queue.remove()
    assert queue.used_bytes() == 2 * ONE
    assert not queue.offer(chunk_of(claim, [2]), ignore)
    queue.done_with(chunk)
    assert queue.used_bytes() == ONE
    assert queue.offer(chunk_of(claim, [2]), ignore)


def test_giving_back_twice_gives_back_once() -> None:
    """Also when another chunk is in hand meanwhile."""
    queue, claim = queue_of(4 * ONE), claim_of()
    queue.offer(chunk_of(claim, [0]), ignore)
    queue.offer(chunk_of(claim, [1]), ignore)
    first = queue.head(0)
    assert isinstance(first, Chunk)
    queue.remove()
    queue.done_with(first)
    queue.remove()
    queue.done_with(first)
    assert queue.used_bytes() == ONE


def test_a_queue_that_nobody_reads_takes_nothing_from_another() -> None:
    """However full the one is, the other's share is there."""
    budget = ByteBudget(8 * ONE)
    slow, quick = new_queue(1_000, budget), new_queue(1_000, budget)
    claim, other = claim_of(), claim_of(T1)
    while slow.offer(chunk_of(claim, [0]), ignore):
        pass
    for offset in range(100):
        assert quick.offer(chunk_of(other, [offset]), ignore)
        assert offsets_in(quick.take(0)) == [offset]
    assert slow.used_bytes() == 4 * ONE


def test_discarding_gives_the_bytes_of_given_up_claims_back_at_once() -> None:
    """The stream need not come by; who waits for room is called."""
    queue, old, new = queue_of(2 * ONE), claim_of(), claim_of()
    rung: list[int] = []
    queue.offer(chunk_of(old, [0]), ignore)
    queue.offer(chunk_of(old, [1]), ignore)
    assert not queue.offer(chunk_of(new, [0]), lambda: rung.append(1))
    old.active = False
    queue.discard_inactive()
    assert (queue.used_bytes(), rung) == (0, [1])
    assert queue.offer(chunk_of(new, [0]), ignore)


def test_discarding_lets_go_of_what_could_not_be_read_too() -> None:
    """A stream that nobody reads does not pile up the raw bytes of every new try."""
    queue, claim = queue_of(100 * ONE), claim_of()
    error = PartitionFailed(claim.topic_partition, 0, "CRC")
    poison = Poison(claim.topic_partition, 0, None, error, bytes(1_000))
    chunk = chunk_of(claim, fetched_at=0, poison=poison)
    assert queue.offer(chunk, ignore)
    claim.active = False
    queue.discard_inactive()
    assert chunk.poison is None


# --- large chunks --------------------------------------------------------------------------------


def test_a_large_chunk_goes_in_by_parts_of_half_a_share() -> None:
    """What does not fit stays with the producer, who offers it again: nothing lost, in order."""
    queue, claim = queue_of(8 * ONE), claim_of(committed=0)
    chunk = chunk_of(claim, range(20))
    got: list[int] = []
    while not queue.offer(chunk, ignore):
        assert 4 * ONE < queue.used_bytes() <= 8 * ONE
        got += offsets_in(queue.take(0))
    while (item := queue.take(0)) is not None:
        got += offsets_in(item)
    assert got == list(range(20))


def test_the_parts_of_a_chunk_lie_end_to_end() -> None:
    """The first begins where the chunk did, each where the last one ended; the poison is last."""
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
    """It waits until all else is done with, and nothing comes in beside it."""
    queue, claim = queue_of(4 * ONE), claim_of()
    queue.offer(chunk_of(claim, [0]), ignore)
    large = heavy(claim, 1, 100 * ONE)
    assert not queue.offer(large, ignore)
    first = queue.head(0)
    assert isinstance(first, Chunk)
    queue.remove()
    assert not queue.offer(large, ignore)
    queue.done_with(first)
    assert queue.offer(large, ignore)
    assert not queue.offer(chunk_of(claim, [2]), ignore)
    assert queue.take(0) is large


def test_the_smallest_budget_delivers_everything() -> None:
    """With one byte for all streams it is one record at a time, and all of them."""
    queue, claim = queue_of(1), claim_of(committed=0)
    chunk = chunk_of(claim, range(10))
    got: list[int] = []
    while not queue.offer(chunk, ignore):
        got += offsets_in(queue.take(0))
    got += offsets_in(queue.take(0))
    assert got == list(range(10))


def test_room_is_told_before_anything_is_made_for_it() -> None:
    """What is free, up to half a share; next to nothing is none, and a call when that changes."""
    queue, claim = queue_of(16 * ONE), claim_of()
    rung: list[int] = []
    assert queue.free_bytes(ignore) == 8 * ONE
    queue.offer(chunk_of(claim, range(8)), ignore)
    assert queue.free_bytes(ignore) == 8 * ONE
    queue.offer(chunk_of(claim, range(5)), ignore)
    assert queue.free_bytes(ignore) == 3 * ONE
    queue.offer(chunk_of(claim, range(2)), ignore)
    assert queue.free_bytes(lambda: rung.append(1)) == 0
    queue.take(0)
    assert rung
    assert queue.free_bytes(ignore) == 8 * ONE


def test_a_queue_full_of_chunks_has_no_room_whatever_the_bytes() -> None:
    """The limits of chunks and of bytes both hold."""
    queue, claim = queue_of(1_000 * ONE, max_chunks=1), claim_of()
    assert queue.offer(chunk_of(claim, [0]), ignore)
    assert queue.free_bytes(ignore) == 0
    assert not queue.offer(chunk_of(claim, [1]), ignore)


def test_a_poison_counts_its_raw_bytes_and_travels_last() -> None:
    """A single record with a large poison is cut between the two."""
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


# --- waking --------------------------------------------------------------------------------------


def test_a_wake_ends_a_wait_once() -> None:
    """None comes at once, though nothing is there and no time was set; then it waits again."""
    queue = new_queue(1)
    queue.wake()
    assert queue.head(None) is None
    assert queue.head(10) is None
    queue.offer(chunk_of(claim_of(), [7]), ignore)
    queue.wake()
    assert offsets_in(queue.head(None)) == [7]


def test_a_pause_ends_with_a_wake_or_an_item_whatever_is_there() -> None:
    """A stream that may not deliver waits although something is queued."""
    queue = new_queue(5)
    queue.pause(10)
    queue.wake()
    queue.pause(None)
    queue.close()
    queue.pause(None)


def test_a_listener_hears_of_every_put_and_wake() -> None:
    """Chunks, errors, the end and wakes; nothing any more once it is taken away."""
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


@pytest.mark.parametrize("step", ["remove", "done_with"])
def test_a_signal_handler_may_do_anything_wherever_it_interrupts_the_stream(step: str) -> None:
    """Closing, discarding and waking inside of each line block nothing and leave no bytes."""
    for stop_at in range(100):
        queue, claim = queue_of(8 * ONE), claim_of()
        chunk = chunk_of(claim, [0])
        queue.offer(chunk, ignore)
        assert queue.head(0) is chunk
        if step == "done_with":
            queue.remove()

        def handler(queue: StreamQueue = queue) -> None:
            queue.discard_inactive()
            queue.wake()
            queue.close()

        run = queue.remove if step == "remove" else partial(queue.done_with, chunk)
        interrupted = interrupt_at_line(stop_at, handler, run)
        queue.done_with(chunk)
        assert queue.used_bytes() == 0
        if not interrupted:
            assert stop_at > 0
            return
    raise AssertionError("never came to the end")
