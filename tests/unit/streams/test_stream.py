"""Iterating a stream: delivered and consumed offsets, its end, time-outs, errors and jumps."""

import logging

import pytest

from tests.support.chunks import T0, T1, chunk_of, claim_of, each_chunk, ignore
from tests.support.manual_clock import ManualClock
from tests.support.queues import new_queue
from tests.support.record_sets import records
from zkconsumer.clock import SystemClock
from zkconsumer.errors import (
    ConsumerTimeout,
    MessageTooLarge,
    PartitionFailed,
    RebalanceFailed,
)
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.membership.zookeeper.threads.commits import consumed_offset, delivered_offset
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.records.decode import decode_record_set
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.queues import StreamQueue
from zkconsumer.streams.stream import KafkaStream

pytestmark = pytest.mark.usefixtures(each_chunk.__name__)

Stream = KafkaStream[bytes, bytes]


def stream_of(*chunks: Chunk, timeout_ms: int = 0) -> tuple[Stream, StreamQueue]:
    """Return a stream over these chunks; after them it raises ConsumerTimeout."""
    queue = new_queue(100)
    for chunk in chunks:
        assert queue.offer(chunk, ignore)
    return KafkaStream(queue, clock=ManualClock(), timeout_ms=timeout_ms), queue


def drain(stream: Stream) -> list[tuple[int, int]]:
    """Return partition and offset of every message."""
    got: list[tuple[int, int]] = []
    with pytest.raises(ConsumerTimeout):
        got.extend((message.partition, message.offset) for message in stream)
    return got


# --- what is delivered ---------------------------------------------------------------------------


def test_messages_come_in_the_order_of_the_queue() -> None:
    """Chunks come in the order of the queue, each in log order."""
    one, two = claim_of(T0), claim_of(T1)
    stream, _ = stream_of(chunk_of(one, [0, 1]), chunk_of(two, [7]), chunk_of(one, [2]))
    assert drain(stream) == [(0, 0), (0, 1), (1, 7), (0, 2)]


def test_a_message_has_its_topic_partition_and_offset() -> None:
    """A message has its record's topic, partition, offset, key and value."""
    stream, _ = stream_of(chunk_of(claim_of(T1), [7]))
    message = next(stream)
    assert (message.topic, message.partition, message.offset) == ("t", 1, 7)
    assert (message.key, message.value) == (b"k7", b"value 7" * 3)


def test_resuming_inside_a_compressed_set() -> None:
    """From offset 5 of a compressed set of 0 to 9, exactly 5 to 9 are delivered."""
    claim = claim_of(committed=5)
    data = build_message_set(records(*range(10)), codec=Codec.GZIP)
    decoded = decode_record_set(data, fetch_offset=5, max_decompressed_bytes=1 << 20)
    stream, queue = stream_of(Chunk(claim, 5, decoded.next_offset, decoded.records, 0))
    queue.close()
    assert [message.offset for message in stream] == [5, 6, 7, 8, 9]
    with pytest.raises(StopIteration):
        next(stream)
    assert queue.chunk_count() == 0
    assert claim.consumed_offset == 10


def test_a_chunk_without_records_moves_on_silently() -> None:
    """A chunk without records, as after compaction, advances the position without a message."""
    claim = claim_of(committed=3)
    stream, _ = stream_of(chunk_of(claim, fetched_at=3, next_offset=9), chunk_of(claim, [9]))
    assert next(stream).offset == 9
    assert claim.consumed_offset == 9


def test_a_gap_at_the_end_of_a_chunk_is_consumed_with_it() -> None:
    """The consumed offset advances to the chunk's end, not only past its last record."""
    claim = claim_of(committed=0)
    stream, _ = stream_of(chunk_of(claim, [0, 1], next_offset=10))
    drain(stream)
    assert (claim.delivered_offset, claim.consumed_offset) == (10, 10)


# --- consumed, delivered, committed --------------------------------------------------------------


def test_a_message_is_consumed_when_the_next_is_requested() -> None:
    """The message in hand is delivered but not consumed: an automatic commit does not cover it."""
    claim = claim_of(committed=5)
    stream, _ = stream_of(chunk_of(claim, [5, 6, 7]))
    seen = []
    for _ in range(3):
        next(stream)
        seen.append((claim.delivered_offset, claim.consumed_offset))
    assert seen == [(6, 5), (7, 6), (8, 7)]


def test_waiting_for_more_consumes_the_last_message() -> None:
    """Requesting another message consumes the last one, even if none comes."""
    claim = claim_of(committed=5)
    stream, _ = stream_of(chunk_of(claim, [5]))
    next(stream)
    with pytest.raises(ConsumerTimeout):
        next(stream)
    assert claim.consumed_offset == 6


def test_a_commit_by_the_caller_covers_the_message_in_hand_and_is_not_undone() -> None:
    """An explicit commit covers the message in hand, and the automatic one does not undo it."""
    claim = claim_of(committed=5)
    stream, _ = stream_of(chunk_of(claim, [5, 6]))
    next(stream)
    assert delivered_offset(claim) == 6
    claim.committed_offset = 6
    assert consumed_offset(claim) is None
    next(stream)
    assert (delivered_offset(claim), consumed_offset(claim)) == (7, None)


def test_a_chunk_that_was_not_begun_moves_nothing() -> None:
    """A chunk that is only queued advances no offset."""
    claim = claim_of(committed=5)
    stream_of(chunk_of(claim, [5, 6]))
    assert (claim.delivered_offset, claim.consumed_offset) == (None, 5)


# --- claims that are given up --------------------------------------------------------------------


def test_chunks_of_a_given_up_claim_are_skipped() -> None:
    """Queued messages of a partition that was given up are not delivered."""
    old, other = claim_of(T0, committed=0), claim_of(T1)
    stream, _ = stream_of(chunk_of(old, [0]), chunk_of(old, [1]), chunk_of(other, [4]))
    old.active = False
    assert drain(stream) == [(1, 4)]
    assert old.consumed_offset == 0


def test_giving_up_stops_in_the_middle_of_a_chunk() -> None:
    """Once a claim is given up, nothing more of the current chunk is delivered."""
    claim, other = claim_of(T0, committed=0), claim_of(T1)
    stream, _ = stream_of(chunk_of(claim, [0, 1, 2]), chunk_of(other, [4]))
    assert next(stream).offset == 0
    claim.active = False
    assert drain(stream) == [(1, 4)]
    assert (claim.delivered_offset, claim.consumed_offset) == (1, 1)


def test_an_error_of_a_given_up_claim_is_not_raised() -> None:
    """An error of a partition that was given up is left to its next owner."""
    claim = claim_of()
    broken = chunk_of(claim, error=PartitionFailed(T0, 3, "any"))
    stream, _ = stream_of(broken)
    claim.active = False
    assert drain(stream) == []


def test_a_partition_that_comes_back_is_not_moved_by_its_old_chunk() -> None:
    """The old claim's chunk leaves the new claim's offsets alone."""
    old = claim_of(T0, committed=0)
    stream, queue = stream_of(chunk_of(old, [0, 1, 2]))
    next(stream)
    old.active = False
    new = claim_of(T0, committed=100)
    queue.offer(chunk_of(new, [100]), ignore)
    assert drain(stream) == [(0, 100)]
    assert (old.consumed_offset, new.consumed_offset) == (1, 101)


# --- the end -------------------------------------------------------------------------------------


def test_a_stream_ends_after_what_is_queued_and_stays_ended() -> None:
    """After a shutdown a stream ends with what was queued, and stays ended."""
    stream, queue = stream_of(chunk_of(claim_of(), [0]), timeout_ms=-1)
    queue.close()
    assert [message.offset for message in stream] == [0]
    for _ in range(3):
        with pytest.raises(StopIteration):
            next(stream)


def test_the_end_consumes_the_last_message() -> None:
    """The end of an iteration consumes the last message, as another one was requested."""
    claim = claim_of(committed=0)
    stream, queue = stream_of(chunk_of(claim, [0]), timeout_ms=-1)
    queue.close()
    assert len(list(stream)) == 1
    assert claim.consumed_offset == 1


def test_an_iterator_is_its_own_iterator() -> None:
    """A stream has one position: a second loop goes on where the first left off."""
    stream, _ = stream_of(chunk_of(claim_of(), [0, 1, 2]))
    for message in stream:
        assert message.offset == 0
        break
    assert next(iter(stream)).offset == 1


def test_iterators_and_next_share_one_position() -> None:
    """Iterators and ``next`` share one position, within chunks, across them and after time-outs."""
    claim = claim_of(committed=0)
    stream, queue = stream_of(chunk_of(claim, [0, 1, 2, 3, 4]), chunk_of(claim, range(5, 9)))
    first, second = iter(stream), iter(stream)
    got = [next(first), next(stream), next(second), next(first), next(second), next(stream)]
    got += [next(first), next(second), next(stream)]
    assert [message.offset for message in got] == list(range(9))
    for iterator in (first, stream, second):
        with pytest.raises(ConsumerTimeout):
            next(iterator)
    assert claim.consumed_offset == 9
    queue.offer(chunk_of(claim, [9, 10, 11]), ignore)
    assert [next(iterator).offset for iterator in (second, stream, first)] == [9, 10, 11]
    assert (claim.consumed_offset, claim.delivered_offset) == (11, 12)


def test_iterators_share_their_position_while_the_gate_is_suspect() -> None:
    """A suspect gate takes the slow path, which shares the position, too."""
    gate, queue, claim = DeliveryGate(ManualClock(), 1_000), new_queue(10), claim_of(committed=0)
    queue.offer(chunk_of(claim, range(8)), ignore)
    stream: Stream = KafkaStream(queue, clock=ManualClock(), gate=gate)
    first, second = iter(stream), iter(stream)
    got = [next(first), next(second), next(first)]
    gate.suspect()
    got += [next(second), next(stream)]
    gate.trust()
    got += [next(first), next(second), next(stream)]
    assert [message.offset for message in got] == list(range(8))


def test_an_iterator_goes_on_after_an_error_and_ends_with_the_stream() -> None:
    """An iterator continues after each error, and ends with the stream."""
    claim = claim_of(committed=0)
    stream, queue = stream_of(chunk_of(claim, [0]))
    reading = iter(stream)
    assert next(reading).offset == 0
    with pytest.raises(ConsumerTimeout):
        next(reading)
    queue.fail(RebalanceFailed("any"))
    with pytest.raises(RebalanceFailed):
        next(reading)
    queue.offer(chunk_of(claim, [1]), ignore)
    queue.close()
    assert [message.offset for message in reading] == [1]
    for iterator in (reading, stream, iter(stream)):
        with pytest.raises(StopIteration):
            next(iterator)


# --- time-outs -----------------------------------------------------------------------------------


def test_no_message_in_time_raises_and_raises_again() -> None:
    """Without messages each call raises ConsumerTimeout after the time-out."""
    queue = new_queue(1)
    stream: Stream = KafkaStream(queue, clock=SystemClock(), timeout_ms=20)
    for _ in range(2):
        with pytest.raises(ConsumerTimeout, match="20 ms"):
            next(stream)


def test_a_stream_is_usable_after_a_timeout() -> None:
    """Messages that arrive after a time-out are delivered as usual."""
    claim = claim_of(committed=0)
    stream, queue = stream_of(chunk_of(claim, [0]))
    assert drain(stream) == [(0, 0)]
    queue.offer(chunk_of(claim, [1]), ignore)
    assert drain(stream) == [(0, 1)]
    assert claim.consumed_offset == 2


def test_given_up_chunks_do_not_make_the_wait_longer() -> None:
    """The time-out counts from the call, however many dead chunks are skipped."""
    clock, dead, queue = ManualClock(), claim_of(), new_queue(100)
    for offset in range(10):
        queue.offer(chunk_of(dead, [offset]), ignore)
    dead.active = False
    clock.step_ms = 10
    stream: Stream = KafkaStream(queue, clock=clock, timeout_ms=50)
    with pytest.raises(ConsumerTimeout):
        next(stream)
    assert clock.now_ms() < 1_000 + 50 + 10 * 12


def test_what_is_queued_comes_even_with_a_timeout_of_zero() -> None:
    """A time-out of 0 delivers what is queued, and only does not wait."""
    stream, _ = stream_of(chunk_of(claim_of(), [0]), timeout_ms=0)
    assert next(stream).offset == 0


# --- errors --------------------------------------------------------------------------------------


def test_an_error_comes_after_the_records_of_its_chunk() -> None:
    """The records before an error are delivered, then it is raised once, and the stream goes on."""
    claim, other = claim_of(T0, committed=3), claim_of(T1)
    error = MessageTooLarge(T0, 5, 2_000, 1_000)
    stream, _ = stream_of(chunk_of(claim, [3, 4], error=error), chunk_of(other, [9]))
    assert [next(stream).offset, next(stream).offset] == [3, 4]
    with pytest.raises(MessageTooLarge) as raised:
        next(stream)
    assert raised.value is error
    assert drain(stream) == [(1, 9)]


def test_an_error_leaves_the_position_in_front_of_what_failed() -> None:
    """The records before an error are consumed, the one that failed is not."""
    claim = claim_of(committed=3)
    failed = chunk_of(claim, [3, 4], error=PartitionFailed(T0, 5, "CRC"))
    stream, _ = stream_of(failed)
    next(stream)
    next(stream)
    with pytest.raises(PartitionFailed):
        next(stream)
    assert claim.consumed_offset == 5
    assert delivered_offset(claim) == 5


def test_an_error_without_records_keeps_the_committed_position() -> None:
    """An error without records, as of a message that is too large, advances no offset."""
    claim = claim_of(committed=5)
    stream, _ = stream_of(chunk_of(claim, fetched_at=5, error=MessageTooLarge(T0, 5, -1, 10)))
    with pytest.raises(MessageTooLarge):
        next(stream)
    assert (claim.consumed_offset, consumed_offset(claim)) == (5, None)


def test_a_failed_rebalance_is_raised_and_the_stream_goes_on() -> None:
    """A failed rebalance is raised between two messages, and the stream continues."""
    claim = claim_of(committed=0)
    stream, queue = stream_of(chunk_of(claim, [0]))
    queue.fail(RebalanceFailed("after 4 tries"))
    queue.offer(chunk_of(claim, [1]), ignore)
    assert next(stream).offset == 0
    with pytest.raises(RebalanceFailed, match="after 4 tries"):
        next(stream)
    assert claim.consumed_offset == 1
    assert next(stream).offset == 1


def test_one_error_object_in_two_streams_keeps_separate_tracebacks() -> None:
    """Each stream raises a shared error with its own traceback."""
    error = RebalanceFailed("any")
    depths = []
    for _ in range(3):
        stream, queue = stream_of()
        queue.fail(error)
        with pytest.raises(RebalanceFailed) as raised:
            next(stream)
        depths.append(len(raised.traceback))
    assert depths == depths[:1] * 3


# --- jumps ---------------------------------------------------------------------------------------


def test_a_jump_is_taken_after_what_is_queued_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    """A position that was reset is used after the queued messages, and logged."""
    claim = claim_of(committed=5)
    stream, _ = stream_of(
        chunk_of(claim, [5, 6]), chunk_of(claim, fetched_at=100), chunk_of(claim, [100])
    )
    with caplog.at_level(logging.WARNING):
        assert drain(stream) == [(0, 5), (0, 6), (0, 100)]
    assert [record.getMessage() for record in caplog.records] == [
        "t-0: position moved from 7 to 100: the log no longer had the records there"
    ]
    assert claim.consumed_offset == 101
    assert claim.jumps_back == 0


def test_a_jump_back_is_followed_too() -> None:
    """A position that was reset to the start delivers the messages again."""
    claim = claim_of(committed=10_000)
    stream, _ = stream_of(chunk_of(claim, fetched_at=0), chunk_of(claim, [0, 1]))
    assert drain(stream) == [(0, 0), (0, 1)]
    assert (claim.consumed_offset, consumed_offset(claim)) == (2, 2)
    assert claim.jumps_back == 1


def test_a_jump_without_messages_is_consumed() -> None:
    """A new position can be committed before a message is read there."""
    claim = claim_of(committed=10_000)
    stream, _ = stream_of(chunk_of(claim, fetched_at=30))
    assert drain(stream) == []
    assert (consumed_offset(claim), delivered_offset(claim)) == (30, 30)


def test_consecutive_chunks_are_no_jump(caplog: pytest.LogCaptureFixture) -> None:
    """Consecutive chunks, with gaps in them or not, log no jump."""
    claim = claim_of(committed=5)
    stream, _ = stream_of(
        chunk_of(claim, [7, 9], fetched_at=5, next_offset=20), chunk_of(claim, [21], fetched_at=20)
    )
    with caplog.at_level(logging.WARNING):
        assert len(drain(stream)) == 3
    assert caplog.records == []


def test_the_first_chunk_of_a_claim_without_an_offset_is_no_jump(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A claim without a position takes that of its first chunk."""
    claim: PartitionClaim = claim_of()
    stream, _ = stream_of(chunk_of(claim, [40]))
    with caplog.at_level(logging.WARNING):
        next(stream)
    assert (claim.consumed_offset, claim.delivered_offset) == (40, 41)
    assert caplog.records == []


# --- decoders ------------------------------------------------------------------------------------


def test_a_decoder_that_always_fails_does_not_break_iteration() -> None:
    """A decoder that fails raises at each access, and iteration continues."""

    def refuse(_data: bytes) -> str:
        raise ValueError("no")

    queue, claim = new_queue(1), claim_of(committed=5)
    queue.offer(chunk_of(claim, range(5, 10)), ignore)
    queue.close()
    stream = KafkaStream[str, str](
        queue, clock=ManualClock(), key_decoder=refuse, value_decoder=refuse
    )
    offsets = []
    for message in stream:
        with pytest.raises(ValueError, match="no"):
            _ = message.value
        with pytest.raises(ValueError, match="no"):
            _ = message.key
        offsets.append(message.offset)
    assert offsets == [5, 6, 7, 8, 9]
    assert claim.consumed_offset == 10
