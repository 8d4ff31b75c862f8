"""The position of a stream's partition: responses, growth, corruption, jumps."""

import dataclasses
from zlib import crc32

import pytest

from tests.support.chunks import T0, chunk_of
from tests.support.fetch_responses import chunks_in, listed
from tests.support.queues import RUNS_NATIVE
from tests.support.record_sets import records
from tests.support.single_partition import SinglePartitionFetcher
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import CorruptRecord, MessageTooLarge, PartitionFailed, ZkConsumerError
from zkconsumer.fetch.claim import Chunk
from zkconsumer.fetch.core.partition_state import PendingError
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set, wrap_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.records.memory import records_bytes

SETTINGS = FetchSettings(max_partition_bytes=1_000, growth_max_bytes=10_000)


def position_at(
    offset: int | None, settings: FetchSettings = SETTINGS, *, committed: int | None = None
) -> SinglePartitionFetcher:
    """Build a new position."""
    return SinglePartitionFetcher(settings, offset, committed=committed)


def error_of(chunk: Chunk) -> ZkConsumerError:
    """Return the error of the chunk's poison."""
    assert chunk.poison is not None
    return chunk.poison.error


def damaged(data: bytes, at: int) -> bytes:
    """Return the bytes with one of them changed."""
    return data[:at] + bytes((data[at] ^ 0x55,)) + data[at + 1 :]


def last_message_damaged(*offsets: int) -> bytes:
    """Build a set whose last message fails its checksum."""
    data = build_message_set(records(*offsets))
    return damaged(data, len(data) - 1)


# --- sound responses -----------------------------------------------------------------------------


def test_a_chunk_spans_from_the_requested_offset_to_the_next() -> None:
    """The position follows the chunk."""
    position = position_at(3)
    chunk = position.take(build_message_set(records(5, 6, 9)))
    assert chunk is not None
    assert (chunk.fetch_offset, chunk.next_offset, chunk.poison) == (3, 10, None)
    assert [record.offset for record in chunk.records] == [5, 6, 9]
    assert chunk.claim is position.claim
    assert position.offset == 10


def test_size_counts_keys_values_and_headers() -> None:
    """The size of a chunk is the memory of its records, with their keys and values."""
    position = position_at(0)
    found = [Record(0, b"ab", b"cde"), Record(1, None, None)]
    chunk = position.take(build_message_set(found))
    assert chunk is not None
    held = chunk.records
    of_runs = getattr(held, "memory_bytes", 0)
    assert chunk.size_bytes == (of_runs if RUNS_NATIVE else records_bytes(found))
    assert chunk.size_bytes > len(b"abcde")


def test_an_empty_response_moves_nothing() -> None:
    """At the end of the log the same is requested again, in the same size."""
    position = position_at(7)
    assert position.take(b"") is None
    assert (position.offset, position.state.needed_bytes, position.part.is_halted) == (7, 0, False)


def test_a_truncated_last_message_is_requested_again() -> None:
    """The position is at the incomplete message."""
    data = build_message_set(records(0, 1, 2))
    position = position_at(0)
    chunk = position.take(data[:-1])
    assert chunk is not None
    size = len(data) // 3
    assert (chunk.next_offset, position.offset, position.state.needed_bytes) == (2, 2, size)


def test_resuming_inside_a_compressed_set_skips_earlier_records() -> None:
    """The broker sends the whole set again; only records from the offset on count."""
    position = position_at(5)
    chunk = position.take(build_message_set(records(*range(10)), codec=Codec.GZIP))
    assert chunk is not None
    assert [record.offset for record in chunk.records] == [5, 6, 7, 8, 9]
    assert position.offset == 10


def test_a_chunk_without_records_moves_the_position() -> None:
    """An empty compressed set advances the position, and its chunk tells the stream."""
    wrapper = build_message_set([Record(4, None, b"")], codec=Codec.NONE)
    # Attributes say gzip; the value is empty: the original skips such a wrapper.
    data = bytearray(wrapper)
    data[17] = Codec.GZIP
    data[12:16] = crc32(bytes(data[16:])).to_bytes(4, "big")
    position = position_at(4)
    chunk = position.take(bytes(data))
    assert chunk is not None
    assert (list(chunk.records), chunk.next_offset, position.offset) == ([], 5, 5)


# --- growth --------------------------------------------------------------------------------------


def big(offset: int, size: int) -> bytes:
    """Build a message set with one message whose value has ``size`` bytes."""
    return build_message_set([Record(offset, None, bytes(size))])


def test_growth_requests_exactly_the_size_of_a_large_message() -> None:
    """The size is in the entry's header, so the next request fits."""
    data = big(5, 4_000)
    position = position_at(5)
    assert position.take(data[:1_000]) is None
    assert (position.state.needed_bytes, position.offset) == (len(data), 5)
    chunk = position.take(data)
    assert chunk is not None
    assert chunk.next_offset == 6


def test_growth_ends_with_the_message_that_needed_it() -> None:
    """The next fetch has the configured size again."""
    position = position_at(5)
    data = big(5, 4_000)
    position.take(data[:1_000])
    position.take(data)
    assert position.state.needed_bytes == 0


def test_growth_up_to_the_limit_is_allowed() -> None:
    """A message of exactly the limit is read."""
    data = big(5, 4_000)
    settings = dataclasses.replace(SETTINGS, growth_max_bytes=len(data))
    position = position_at(5, settings)
    assert position.take(data[:1_000]) is None
    assert not position.part.is_halted
    assert position.state.needed_bytes == len(data)


def test_a_message_beyond_the_limit_stops_the_partition() -> None:
    """The error has its topic, partition, offset and size."""
    data = big(5, 4_000)
    settings = dataclasses.replace(SETTINGS, growth_max_bytes=len(data) - 1)
    position = position_at(5, settings)
    chunk = position.take(data[:1_000])
    assert chunk is not None
    error = error_of(chunk)
    assert isinstance(error, MessageTooLarge)
    assert (error.topic_partition, error.offset) == (T0, 5)
    assert (error.size_bytes, error.limit_bytes) == (len(data), len(data) - 1)
    assert (list(chunk.records), chunk.fetch_offset, chunk.next_offset) == ([], 5, 5)
    assert position.part.is_halted
    assert not position.part.is_ready
    assert not position.state.is_asking


def test_a_response_shorter_than_a_header_doubles_the_request() -> None:
    """Such a response does not tell the size of the entry."""
    position = position_at(5)
    assert position.take(big(5, 50)[:10], requested_bytes=10) is None
    assert position.state.needed_bytes == 20


def test_growth_without_a_known_size_ends_at_the_limit() -> None:
    """Doubling stops at the limit, and only a response to that is an error."""
    settings = dataclasses.replace(SETTINGS, max_partition_bytes=8, growth_max_bytes=11)
    position = position_at(5, settings)
    assert position.take(big(5, 50)[:8]) is None
    assert (position.state.needed_bytes, position.part.is_halted) == (11, False)
    chunk = position.take(big(5, 50)[:11])
    assert chunk is not None
    error = error_of(chunk)
    assert isinstance(error, MessageTooLarge)
    assert error.size_bytes == -1
    assert position.part.is_halted


def test_an_empty_response_is_no_reason_to_grow() -> None:
    """At the end of the log there is nothing that did not fit."""
    position = position_at(5)
    for _ in range(5):
        assert position.take(b"") is None
    assert position.state.needed_bytes == 0


# --- corruption ----------------------------------------------------------------------------------


def test_a_corrupt_message_is_fetched_again() -> None:
    """Sound records before it are delivered; if the next response is sound, reading continues."""
    position = position_at(0)
    first = position.take(last_message_damaged(0, 1, 2))
    assert first is not None
    assert [record.offset for record in first.records] == [0, 1]
    assert (first.next_offset, first.poison, position.offset) == (2, None, 2)
    assert position.part.is_ready
    second = position.take(build_message_set(records(2, 3)))
    assert second is not None
    assert [record.offset for record in second.records] == [2, 3]
    assert position.state.suspect_offset is None


def test_a_corrupt_first_message_delivers_nothing_at_first() -> None:
    """There is no chunk without records; the same offset is requested again."""
    position = position_at(4)
    assert position.take(last_message_damaged(4)) is None
    assert (position.offset, position.part.is_halted) == (4, False)


def test_a_message_that_is_corrupt_twice_stops_the_partition() -> None:
    """The error, with its cause, follows the records; the position stays before the message."""
    position = position_at(0)
    position.take(last_message_damaged(0, 1, 2))
    chunk = position.take(last_message_damaged(2))
    assert chunk is not None
    error = error_of(chunk)
    assert isinstance(error, PartitionFailed)
    assert (error.topic_partition, error.offset) == (T0, 2)
    assert isinstance(error.__cause__, CorruptRecord)
    assert (list(chunk.records), chunk.fetch_offset, chunk.next_offset) == ([], 2, 2)
    assert position.part.is_halted
    assert position.offset == 2


def test_corruption_at_another_offset_gets_its_own_second_attempt() -> None:
    """A corrupt message is fetched again before it stops the partition."""
    position = position_at(0)
    position.take(last_message_damaged(0, 1))
    position.take(last_message_damaged(1, 2, 3))
    assert (position.offset, position.part.is_halted) == (3, False)
    chunk = position.take(last_message_damaged(3))
    assert chunk is not None
    assert position.part.is_halted


def test_an_empty_response_does_not_clear_the_suspicion() -> None:
    """It proves nothing about the corrupt message."""
    position = position_at(0)
    position.take(last_message_damaged(0))
    assert position.take(b"") is None
    assert position.take(last_message_damaged(0)) is not None
    assert position.part.is_halted


def test_a_sound_response_clears_the_suspicion() -> None:
    """Corruption at a later offset must be seen twice again."""
    position = position_at(0)
    position.take(last_message_damaged(0))
    position.take(build_message_set(records(0, 1)))
    assert position.take(last_message_damaged(2)) is None
    assert not position.part.is_halted


def test_corruption_inside_a_compressed_set_continues_after_the_last_sound_record() -> None:
    """The wrapper's offset is that of its last message, so continuing there would skip some."""
    inner = damaged(build_message_set(records(0, 1, 2)), len(build_message_set(records(0, 1))) + 20)
    data = wrap_message_set(inner, offset=2, codec=Codec.GZIP)
    position = position_at(0)
    first = position.take(data)
    assert first is not None
    assert [record.offset for record in first.records] == [0, 1]
    assert position.offset == 2
    second = position.take(data)
    assert second is not None
    error = error_of(second)
    assert isinstance(error, PartitionFailed)
    assert error.offset == 2


# --- starts and jumps ----------------------------------------------------------------------------


def test_the_first_start_sets_the_consumed_offset() -> None:
    """Nothing is queued yet, so no chunk has to carry it."""
    position = position_at(None)
    assert position.state.is_asking
    assert position.start_at(30) == ()
    assert (position.offset, position.claim.consumed_offset) == (30, 30)
    assert position.part.is_ready


def test_a_later_start_is_queued_after_earlier_chunks() -> None:
    """It is a chunk without records; the stream moves the consumed offset."""
    position = position_at(None, committed=10_000)
    (chunk,) = chunks_in(position.start_at(0))
    assert (chunk.fetch_offset, chunk.next_offset, list(chunk.records)) == (0, 0, [])
    assert chunk.poison is None
    assert position.claim.consumed_offset == 10_000
    assert position.offset == 0


def test_a_new_start_forgets_earlier_corruption() -> None:
    """It was at another offset."""
    position = position_at(0, committed=0)
    position.take(last_message_damaged(0))
    position.receive_error(ErrorCode.OFFSET_OUT_OF_RANGE)
    outcomes = position.fetcher.receive_ends(listed(T0, 5), listed(T0, 9))
    assert [chunk.next_offset for chunk in chunks_in(outcomes)] == [9]
    assert position.take(last_message_damaged(9)) is None
    assert not position.part.is_halted


# --- pausing -------------------------------------------------------------------------------------


def test_a_pending_chunk_pauses_the_partition() -> None:
    """Nothing is fetched until the queue has accepted it."""
    position = position_at(5)
    position.part.pending = chunk_of(position.claim, [5])
    assert not position.part.is_ready
    assert position.fetcher.fetch_request() is None


@pytest.mark.parametrize("halted", [False, True])
def test_another_fetcher_continues_at_the_pending_chunk(halted: bool) -> None:
    """Records that were fetched but not queued must be fetched again."""
    position = position_at(5)
    chunk = position.take(build_message_set(records(5, 6)))
    assert position.part.resume_offset == 7
    position.part.pending = chunk
    if halted:
        position.state.stop_with(PendingError(ZkConsumerError("any")))
    assert position.part.resume_offset == 5


@pytest.mark.parametrize("growth", [1, 5, 100])
def test_an_impossible_offset_is_requested_with_the_next_entry(growth: int) -> None:
    """The entry after it tells where to continue."""
    data = build_message_set(records(5_000))
    size = len(data)
    settings = dataclasses.replace(SETTINGS, skip_poison=True, growth_max_bytes=size * growth + 5)
    position = position_at(0, settings)
    for _ in range(2):
        assert position.take(data, requested_bytes=size) is None
    assert position.state.needed_bytes == min(2 * size, size * growth + 5)
    last = position.take(data, requested_bytes=position.state.needed_bytes)
    assert last is not None
    assert "5000" in str(error_of(last))
