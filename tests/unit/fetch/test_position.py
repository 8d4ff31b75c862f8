"""One partition's position: what an answer does to it, growth, corruption, jumps."""

import dataclasses
from zlib import crc32

import pytest

from tests.support.chunks import T0, chunk_of, claim_of
from tests.support.queues import RUNS_NATIVE
from tests.support.record_sets import ROOM, records
from zkconsumer.errors import CorruptRecord, MessageTooLarge, PartitionFailed, ZkConsumerError
from zkconsumer.fetch.claim import Chunk
from zkconsumer.fetch.position import FetchPosition, start_at, take_response, unpack
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.fetch.sizes import records_bytes
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set, wrap_message_set
from zkconsumer.records.codecs import Codec

SETTINGS = FetchSettings(fetch_bytes=1_000, growth_max_bytes=10_000)


def position_at(offset: int | None, *, committed: int | None = None) -> FetchPosition:
    """A fresh position."""
    return FetchPosition(claim_of(committed=committed), offset)


def take(
    position: FetchPosition,
    data: bytes,
    settings: FetchSettings = SETTINGS,
    *,
    requested_bytes: int = 0,
    free_bytes: int = ROOM,
) -> Chunk | None:
    """Advance over an answer with these bytes, as far as one piece goes."""
    requested_bytes = requested_bytes or max(settings.fetch_bytes, position.needed_bytes)
    if position.claim.high_watermark < 0:
        position.claim.high_watermark = 1_000
    take_response(position, memoryview(data), requested_bytes, settings)
    return unpack(position, free_bytes, settings) if position.packed else None


def error_of(chunk: Chunk) -> ZkConsumerError:
    """What its poison raises."""
    assert chunk.poison is not None
    return chunk.poison.error


def damaged(data: bytes, at: int) -> bytes:
    """The bytes with one of them changed."""
    return data[:at] + bytes((data[at] ^ 0x55,)) + data[at + 1 :]


def last_message_damaged(*offsets: int) -> bytes:
    """A set whose last message fails its checksum."""
    data = build_message_set(records(*offsets))
    return damaged(data, len(data) - 1)


# --- sound answers -------------------------------------------------------------------------------


def test_a_chunk_spans_from_the_offset_asked_for_to_the_next() -> None:
    """Records, ends and size; the position stands behind it."""
    position = position_at(3)
    chunk = take(position, build_message_set(records(5, 6, 9)))
    assert chunk is not None
    assert (chunk.fetch_offset, chunk.next_offset, chunk.poison) == (3, 10, None)
    assert [record.offset for record in chunk.records] == [5, 6, 9]
    assert chunk.claim is position.claim
    assert position.fetch_offset == 10


def test_size_counts_keys_values_and_headers() -> None:
    """What the records take in memory, keys and values as far as they are there."""
    position = position_at(0)
    found = [Record(0, b"ab", b"cde"), Record(1, None, None)]
    chunk = take(position, build_message_set(found))
    assert chunk is not None
    held = chunk.records
    of_runs = getattr(held, "memory_bytes", 0)
    assert chunk.size_bytes == (of_runs if RUNS_NATIVE else records_bytes(found))
    assert chunk.size_bytes > len(b"abcde")


def test_an_empty_answer_brings_nothing_and_moves_nothing() -> None:
    """At the end of the log: ask for the same again, with the same size."""
    position = position_at(7)
    assert take(position, b"") is None
    assert (position.fetch_offset, position.needed_bytes, position.halted) == (7, 0, False)


def test_a_cut_off_tail_is_asked_for_again() -> None:
    """The position stands at the message that was not whole."""
    data = build_message_set(records(0, 1, 2))
    position = position_at(0)
    chunk = take(position, data[:-1])
    assert chunk is not None
    size = len(data) // 3
    assert (chunk.next_offset, position.fetch_offset, position.needed_bytes) == (2, 2, size)


def test_resuming_inside_a_compressed_set_leaves_out_what_was_before() -> None:
    """The broker sends the whole set again; only what lies at or above the offset counts."""
    position = position_at(5)
    chunk = take(position, build_message_set(records(*range(10)), codec=Codec.GZIP))
    assert chunk is not None
    assert [record.offset for record in chunk.records] == [5, 6, 7, 8, 9]
    assert position.fetch_offset == 10


def test_a_chunk_may_have_no_records_and_still_move_on() -> None:
    """An empty compressed set advances the position; its chunk tells the stream."""
    wrapper = build_message_set([Record(4, None, b"")], codec=Codec.NONE)
    # Attributes say gzip; the value is empty: the original skips such a wrapper.
    data = bytearray(wrapper)
    data[17] = Codec.GZIP
    data[12:16] = crc32(bytes(data[16:])).to_bytes(4, "big")
    position = position_at(4)
    chunk = take(position, bytes(data))
    assert chunk is not None
    assert (list(chunk.records), chunk.next_offset, position.fetch_offset) == ([], 5, 5)


# --- growth --------------------------------------------------------------------------------------


def big(offset: int, size: int) -> bytes:
    """A message set with one message of so many bytes of value."""
    return build_message_set([Record(offset, None, bytes(size))])


def test_growth_asks_for_just_the_size_of_a_message_that_does_not_fit() -> None:
    """The size is in the entry's header; with it the message fits at the next try."""
    data = big(5, 4_000)
    position = position_at(5)
    assert take(position, data[:1_000]) is None
    assert (position.needed_bytes, position.fetch_offset) == (len(data), 5)
    chunk = take(position, data)
    assert chunk is not None
    assert chunk.next_offset == 6


def test_growth_ends_with_the_message_that_needed_it() -> None:
    """The next fetch asks for the configured size again."""
    position = position_at(5)
    data = big(5, 4_000)
    take(position, data[:1_000])
    take(position, data)
    assert position.needed_bytes == 0


def test_growth_up_to_the_very_bound_is_allowed() -> None:
    """A message of exactly the bound is read."""
    data = big(5, 4_000)
    settings = dataclasses.replace(SETTINGS, growth_max_bytes=len(data))
    position = position_at(5)
    assert take(position, data[:1_000], settings) is None
    assert not position.halted
    assert position.needed_bytes == len(data)


def test_a_message_larger_than_the_bound_stops_the_partition_with_its_size() -> None:
    """One byte more than the bound: the stream hears topic, partition, offset and size."""
    data = big(5, 4_000)
    settings = dataclasses.replace(SETTINGS, growth_max_bytes=len(data) - 1)
    position = position_at(5)
    chunk = take(position, data[:1_000], settings)
    assert chunk is not None
    error = error_of(chunk)
    assert isinstance(error, MessageTooLarge)
    assert (error.topic_partition, error.offset) == (T0, 5)
    assert (error.size_bytes, error.limit_bytes) == (len(data), len(data) - 1)
    assert (list(chunk.records), chunk.fetch_offset, chunk.next_offset) == ([], 5, 5)
    assert position.halted
    assert not position.ready
    assert not position.needs_offset


def test_an_answer_too_short_to_tell_a_size_is_asked_for_with_twice_as_much() -> None:
    """Fewer bytes than an entry's header."""
    position = position_at(5)
    assert take(position, big(5, 50)[:10], requested_bytes=10) is None
    assert position.needed_bytes == 20


def test_growth_without_a_known_size_tries_the_bound_before_it_gives_up() -> None:
    """Doubling does not jump over the bound; only an answer at the bound is the end."""
    settings = dataclasses.replace(SETTINGS, fetch_bytes=8, growth_max_bytes=11)
    position = position_at(5)
    assert take(position, big(5, 50)[:8], settings) is None
    assert (position.needed_bytes, position.halted) == (11, False)
    chunk = take(position, big(5, 50)[:11], settings)
    assert chunk is not None
    error = error_of(chunk)
    assert isinstance(error, MessageTooLarge)
    assert error.size_bytes == -1
    assert position.halted


def test_an_empty_answer_is_no_reason_to_grow() -> None:
    """At the end of the log there is nothing that did not fit."""
    position = position_at(5)
    for _ in range(5):
        assert take(position, b"") is None
    assert position.needed_bytes == 0


# --- corruption ----------------------------------------------------------------------------------


def test_corrupt_once_is_asked_for_again_behind_what_was_sound() -> None:
    """The sound records are handed on; a clean second answer goes on as if nothing had been."""
    position = position_at(0)
    first = take(position, last_message_damaged(0, 1, 2))
    assert first is not None
    assert [record.offset for record in first.records] == [0, 1]
    assert (first.next_offset, first.poison, position.fetch_offset) == (2, None, 2)
    assert position.ready
    second = take(position, build_message_set(records(2, 3)))
    assert second is not None
    assert [record.offset for record in second.records] == [2, 3]
    assert position.suspect_offset is None


def test_corrupt_at_the_first_message_hands_on_nothing_the_first_time() -> None:
    """No chunk for no records: the same offset is asked for again."""
    position = position_at(4)
    assert take(position, last_message_damaged(4)) is None
    assert (position.fetch_offset, position.halted) == (4, False)


def test_corrupt_twice_stops_the_partition_there() -> None:
    """The stream hears it with the cause, behind the records; the position stays in front."""
    position = position_at(0)
    take(position, last_message_damaged(0, 1, 2))
    chunk = take(position, last_message_damaged(2))
    assert chunk is not None
    error = error_of(chunk)
    assert isinstance(error, PartitionFailed)
    assert (error.topic_partition, error.offset) == (T0, 2)
    assert isinstance(error.__cause__, CorruptRecord)
    assert (list(chunk.records), chunk.fetch_offset, chunk.next_offset) == ([], 2, 2)
    assert position.halted
    assert position.fetch_offset == 2


def test_corrupt_at_another_place_is_a_first_time_again() -> None:
    """Each place gets its second chance."""
    position = position_at(0)
    take(position, last_message_damaged(0, 1))
    take(position, last_message_damaged(1, 2, 3))
    assert (position.fetch_offset, position.halted) == (3, False)
    chunk = take(position, last_message_damaged(3))
    assert chunk is not None
    assert position.halted


def test_an_empty_answer_between_two_corrupt_ones_does_not_clear_the_suspicion() -> None:
    """Nothing was proved meanwhile."""
    position = position_at(0)
    take(position, last_message_damaged(0))
    assert take(position, b"") is None
    assert take(position, last_message_damaged(0)) is not None
    assert position.halted


def test_a_sound_answer_clears_the_suspicion() -> None:
    """Later corruption at a later place is again believed only the second time."""
    position = position_at(0)
    take(position, last_message_damaged(0))
    take(position, build_message_set(records(0, 1)))
    assert take(position, last_message_damaged(2)) is None
    assert not position.halted


def test_corrupt_inside_a_compressed_set_goes_on_behind_the_last_sound_record() -> None:
    """Not at the wrapper's own offset, which is that of its last message: that would skip some."""
    inner = damaged(build_message_set(records(0, 1, 2)), len(build_message_set(records(0, 1))) + 20)
    data = wrap_message_set(inner, offset=2, codec=Codec.GZIP)
    position = position_at(0)
    first = take(position, data)
    assert first is not None
    assert [record.offset for record in first.records] == [0, 1]
    assert position.fetch_offset == 2
    second = take(position, data)
    assert second is not None
    error = error_of(second)
    assert isinstance(error, PartitionFailed)
    assert error.offset == 2


# --- starts and jumps ----------------------------------------------------------------------------


def test_the_first_start_sets_the_consumed_offset_and_needs_no_chunk() -> None:
    """Nothing is queued yet, so there is nothing to travel behind."""
    position = position_at(None)
    assert position.needs_offset
    assert start_at(position, 30) is None
    assert (position.fetch_offset, position.claim.consumed_offset) == (30, 30)
    assert position.ready


def test_a_later_start_travels_behind_what_is_queued() -> None:
    """The jump is a chunk without records; the consumed offset is the stream's to move."""
    position = position_at(None, committed=10_000)
    chunk = start_at(position, 0)
    assert chunk is not None
    assert (chunk.fetch_offset, chunk.next_offset, list(chunk.records)) == (0, 0, [])
    assert chunk.poison is None
    assert position.claim.consumed_offset == 10_000
    assert position.fetch_offset == 0


def test_a_new_start_forgets_where_the_log_was_corrupt() -> None:
    """The place is another one."""
    position = position_at(0)
    take(position, last_message_damaged(0))
    start_at(position, 0)
    assert take(position, last_message_damaged(0)) is None
    assert not position.halted


# --- pausing -------------------------------------------------------------------------------------


def test_a_pending_chunk_pauses_the_partition() -> None:
    """Neither a fetch nor a look for an offset until the queue took it."""
    position = position_at(5)
    position.pending = chunk_of(position.claim, [5])
    assert not position.ready
    position.fetch_offset = None
    assert not position.needs_offset


@pytest.mark.parametrize("halted", [False, True])
def test_another_fetcher_goes_on_where_the_pending_chunk_began(halted: bool) -> None:
    """What was fetched but not queued must be fetched again."""
    position = position_at(5)
    chunk = take(position, build_message_set(records(5, 6)))
    assert position.resume_offset == 7
    position.pending = chunk
    position.halted = halted
    assert position.resume_offset == 5


@pytest.mark.parametrize("growth", [1, 5, 100])
def test_what_only_the_next_entry_can_tell_is_asked_for_with_it(growth: int) -> None:
    """An entry behind the log's end, twice and alone: where to go on stands behind it."""
    data = build_message_set(records(5_000))
    size = len(data)
    settings = dataclasses.replace(SETTINGS, skip_poison=True, growth_max_bytes=size * growth + 5)
    position = position_at(0)
    for _ in range(2):
        assert take(position, data, settings, requested_bytes=size) is None
    assert position.needed_bytes == min(2 * size, size * growth + 5)
    last = take(position, data, settings, requested_bytes=position.needed_bytes)
    assert last is not None
    assert "5000" in str(error_of(last))
