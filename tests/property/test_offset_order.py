"""Offsets, which no checksum covers: a flipped bit in one loses and repeats nothing."""

import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.engines import IS_BUILT, needs_native
from tests.support.flipped_logs import FlippedBroker, LogEntry, make_log, read_log
from tests.support.shares import examples
from zkconsumer.records.decode import decode_record_set
from zkconsumer.records.engine import trusted_range
from zkconsumer.records.entries import cut_off_entry
from zkconsumer.records.offset_order import SetPosition, find_descent

if IS_BUILT:
    from zkconsumer.native import _core
    from zkconsumer.records import native_fetched

ROOM = 1 << 20
SEEDS = st.integers(0, 2**32)
MAGICS = st.sampled_from([0, 1, 2])
OLD_MAGICS = st.sampled_from([0, 1])
FETCHES = st.sampled_from([30, 80, 200, 10_000])
BITS = st.sampled_from([*range(14), 20, 36, 47, 62, 63])


def flipped(offset: int, bit: int) -> int:
    """Return the number with one bit flipped, as an int64."""
    flipped_number = (offset % (1 << 64)) ^ (1 << bit)
    return flipped_number - (1 << 64) if flipped_number >= 1 << 63 else flipped_number


def all_records(log: list[LogEntry], start: int) -> list[tuple[int, bytes | None]]:
    """Return the records that a reader must get from this offset on."""
    found = ((offset, value) for entry in log for offset, value in entry.values.items())
    return [pair for pair in found if pair[0] >= start]


@given(SEEDS, MAGICS, st.sampled_from([0, 3]), st.data())
@settings(max_examples=examples(200), deadline=None)
def test_valid_sets_are_accepted(seed: int, magic: int, gap: int, data: st.DataObject) -> None:
    """They may have gaps, begin within an entry, and be truncated; both engines agree."""
    log = make_log(random.Random(seed), magic, 8, gap=gap, base=data.draw(st.integers(0, 500)))
    at = data.draw(st.integers(0, 7))
    start = data.draw(st.integers(log[at].first, log[at].last))
    whole = b"".join(entry.data for entry in log[at:])
    part = memoryview(whole)[: data.draw(st.integers(0, len(whole)))]
    found = trusted_range(
        part,
        fetch_offset=start,
        high_watermark=log[-1].last + 1,
        is_again=data.draw(st.booleans()),
        max_decompressed_bytes=ROOM,
    )
    assert found == (0, len(part), None)


@given(SEEDS, OLD_MAGICS, FETCHES, BITS, st.integers(0, 3), st.data())
@settings(max_examples=examples(300), deadline=None)
def test_a_bit_that_flips_on_the_network_costs_nothing(
    seed: int, magic: int, fetch_bytes: int, bit: int, at: int, data: st.DataObject
) -> None:
    """The next response has it right: every message comes once, and none counts as damaged."""
    log = make_log(random.Random(seed), magic, 10, base=data.draw(st.integers(0, 200)))
    start = data.draw(st.integers(log[0].first, log[-1].last))
    want = all_records(log, start)
    number = next(place for place, entry in enumerate(log) if entry.last >= start) + at
    # A single entry in a response may follow a gap: only the end of the log can contradict its
    # offset, and only upwards. The same holds for an offset between those of its neighbours.
    if fetch_bytes <= 200 or number >= len(log) or is_plausible(log, number, bit, start):
        bit = 36
    broker = FlippedBroker(log, log[-1].last + 1, {at: lambda offset: flipped(offset, bit)})
    found, poisoned = read_log(broker, start=start, fetch_bytes=fetch_bytes)
    assert found == want
    assert poisoned == []


def is_plausible(log: list[LogEntry], number: int, bit: int, start: int) -> bool:
    """Return whether the flipped offset is between its neighbours', so that it may be a gap."""
    claimed = flipped(log[number].claimed, bit)
    before = max(start, log[number - 1].last + 1 if number else 0)
    behind = log[number + 1].claimed if number + 1 < len(log) else log[-1].last + 1
    return before <= claimed < behind


@given(SEEDS, OLD_MAGICS, FETCHES, st.integers(12, 62), st.integers(0, 9))
@settings(max_examples=examples(200), deadline=None)
def test_a_damaged_offset_on_disk_is_skipped_alone(
    seed: int, magic: int, fetch_bytes: int, bit: int, number: int
) -> None:
    """If it is beyond the log end it is reported, and the entries before and after are read."""
    log = make_log(random.Random(seed), magic, 10)
    want = all_records(log, 0)
    damaged = list(log)
    damaged[number] = log[number].claiming(flipped(log[number].claimed, bit))
    broker = FlippedBroker(damaged, log[-1].last + 1)
    found, poisoned = read_log(broker, fetch_bytes=fetch_bytes, skip=True)
    [chunk] = poisoned
    assert chunk.poison is not None
    assert "the log ends at" in str(chunk.poison.error)
    assert chunk.poison.offset == log[number].first
    assert chunk.poison.raw == damaged[number].data
    if number == 9:
        assert chunk.poison.next_offset is None  # no entry after it says how far it reaches
        assert found == want[: len(want) - len(log[number].values)]
    else:
        assert chunk.poison.next_offset == log[number].last + 1
        assert found == [pair for pair in want if pair[0] not in log[number].values]
    stopped, poisoned = read_log(broker, fetch_bytes=fetch_bytes)
    assert stopped == [pair for pair in want if pair[0] < log[number].first]
    assert len(poisoned) == 1


@given(SEEDS, MAGICS, st.lists(st.tuples(st.integers(0, 7), BITS), max_size=3), st.data())
@settings(max_examples=examples(300), deadline=None)
def test_contradictory_offsets_are_not_accepted(
    seed: int, magic: int, flips: list[tuple[int, int]], data: st.DataObject
) -> None:
    """With any flips, accepted offsets ascend from the fetch offset to the end of the log."""
    log = make_log(random.Random(seed), magic, 8, gap=data.draw(st.sampled_from([0, 3])))
    end = log[-1].last + 1
    start = data.draw(st.integers(0, end - 1))
    for number, bit in flips:
        log[number] = log[number].claiming(flipped(log[number].claimed, bit))
    whole = memoryview(FlippedBroker(log, end).fetch(start, 10_000))
    found = trusted_range(
        whole, fetch_offset=start, high_watermark=end, is_again=False, max_decompressed_bytes=ROOM
    )
    assert found.error is None or found.error.position == found.stop
    decoded = decode_record_set(
        whole[found.start : found.stop], fetch_offset=start, max_decompressed_bytes=ROOM
    )
    offsets = [record.offset for record in decoded.records]
    assert decoded.next_offset <= end
    if decoded.error is None:
        assert all(start <= offset < end for offset in offsets)
        assert offsets == sorted(set(offsets))


@needs_native
@given(SEEDS, MAGICS, st.lists(st.tuples(st.integers(0, 7), BITS), max_size=3), st.data())
@settings(max_examples=examples(300), deadline=None)
def test_both_engines_accept_the_same_entries(
    seed: int, magic: int, flips: list[tuple[int, int]], data: st.DataObject
) -> None:
    """They do in sets of any magic, truncated anywhere, with changed bytes."""
    log = make_log(random.Random(seed), magic, 8, gap=data.draw(st.sampled_from([0, 3])))
    for number, bit in flips:
        log[number] = log[number].claiming(flipped(log[number].claimed, bit))
    whole = bytearray(b"".join(entry.data for entry in log))
    for at, byte in data.draw(
        st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255)), max_size=2)
    ):
        whole[at] = byte
    part = memoryview(bytes(whole[: data.draw(st.integers(0, len(whole)))]))
    place = SetPosition(0, data.draw(st.integers(0, 40)), is_first=data.draw(st.booleans()))
    end = data.draw(st.sampled_from([-1, 0, log[-1].last + 1, 1 << 40, (1 << 63) - 1]))
    assert native_fetched.find_descent(part, place, end) == find_descent(part, place, end)


@needs_native
@given(
    SEEDS,
    MAGICS,
    st.one_of(st.integers(-1, 60), st.sampled_from([-(1 << 31), 1 << 20, (1 << 31) - 1])),
    st.integers(0, 80),
    st.sampled_from([(-1, 0), (-(1 << 63), 2), (0, 3), (0, 127)]),
)
@settings(max_examples=examples(300), deadline=None)
def test_the_core_sizes_a_truncated_entry_as_python_does(
    seed: int, magic: int, size: int, there: int, sign: tuple[int, int]
) -> None:
    """It does after valid entries, where the walk ends; a complete entry is not truncated.

    A complete one ends the walk only if its offset or magic is invalid for any reader.
    """
    log = make_log(random.Random(seed), magic, 3)
    offset, tail_magic = sign
    header = struct.pack(">qi", log[-1].last + 1 if offset >= 0 else offset, size)
    tail = (header + bytes([0, 0, 0, 0, tail_magic]) + bytes(80))[:there]
    found = _core.look_ahead(b"".join(entry.data for entry in log) + tail, 0)
    assert found is not None
    next_offset, _, cut_off_bytes, _ = found
    cut_off = cut_off_entry(tail)
    assert next_offset == log[-1].last + 1
    assert cut_off_bytes == (0 if cut_off is None else cut_off.size_bytes)


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_stale_high_watermark_costs_another_fetch(magic: int) -> None:
    """Brokers from 2.2 on read it before the log; the next response has a later one."""
    log = make_log(random.Random(1), magic, 5)
    whole = memoryview(b"".join(entry.data for entry in log))
    found = trusted_range(
        whole,
        fetch_offset=0,
        high_watermark=log[3].first,
        is_again=False,
        max_decompressed_bytes=ROOM,
    )
    assert found.stop == sum(len(entry.data) for entry in log[:3])
    assert found.error is not None
    assert f"the log ends at {log[3].first}" in str(found.error)
