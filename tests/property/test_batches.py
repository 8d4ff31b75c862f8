"""Record sets with batches of magic 2, with random content, truncation, damage and noise."""

from functools import cache
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.test_records_sets import boundaries, record_lists
from tests.support.batches import ROOM, decode, with_body, with_head
from tests.support.engines import check_fetched, each_engine, needs_native
from tests.support.shares import examples
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.codecs import CODECS_OF_MESSAGES, Codec
from zkconsumer.records.decode import decode_record_set
from zkconsumer.records.pure_fetched import decode_fetched as decode_purely
from zkconsumer.records.rows import Headers

__all__ = ["each_engine"]
pytestmark = pytest.mark.usefixtures("each_engine")

BLOBS = st.none() | st.binary(max_size=150)
STAMPS = st.integers(-1, 2**41) | st.integers(-(2**62) + 1, 2**62 - 1)
HEADERS = st.lists(st.tuples(st.text(max_size=5), BLOBS), max_size=3).map(tuple)
bounded = settings(max_examples=examples(150), deadline=None)

Made = tuple[list[Record], list[Headers], bytes]


@st.composite
def one_batch(draw: st.DrawFn, first: int) -> tuple[list[Record], list[Headers], bytes, int]:
    """Draw a batch from an offset on, perhaps compacted, and the offset of the next batch."""
    before, after = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    steps = draw(st.lists(st.integers(1, 70), max_size=6))
    has_append_time = bool(steps) and draw(st.booleans())
    stamp = draw(STAMPS)
    found: list[Record] = []
    offset = first + before - 1
    for step in steps:
        offset += step
        if has_append_time:
            kind = TimestampType.LOG_APPEND_TIME
        else:
            kind, stamp = TimestampType.CREATE_TIME, draw(STAMPS)
        found.append(Record(offset, draw(BLOBS), draw(BLOBS), stamp, kind))
    headers = [draw(HEADERS) for _ in found]
    traits = BatchTraits(
        base_offset=first,
        last_offset=offset + after + (not steps),
        leader_epoch=draw(st.integers(-1, 5)),
        producer_id=draw(st.integers(-1, 5)),
        is_transactional=draw(st.booleans()),
        delete_horizon_ms=draw(st.none() | STAMPS),
    )
    batch = build_batch(
        found,
        codec=draw(st.sampled_from(Codec)),
        headers={place: entry for place, entry in enumerate(headers) if entry},
        traits=traits,
    )
    return found, headers, batch, offset + after + (not steps) + 1


@st.composite
def mixed_sets(draw: st.DrawFn) -> tuple[list[Record], list[Headers], bytes, int]:
    """Draw a set with entries of any magic, with its records and the offset after it."""
    every: list[Record] = []
    headers: list[Headers] = []
    data, first = b"", draw(st.integers(0, 5))
    for _ in range(draw(st.integers(1, 5))):
        magic = draw(st.sampled_from([0, 1, 2, 2, 2]))
        if magic == 2:
            part, beside, written, first = draw(one_batch(first))
        else:
            part = draw(record_lists(magic, first=first))
            codec = draw(st.sampled_from(CODECS_OF_MESSAGES))
            written = build_message_set(part, magic=magic, codec=codec)
            beside, first = [()] * len(part), part[-1].offset + 1
        every += part
        headers += beside
        data += written
    return every, headers, data, first


@bounded
@given(mixed_sets(), st.data())
def test_round_trip_from_any_offset(
    made: tuple[list[Record], list[Headers], bytes, int], data: st.DataObject
) -> None:
    """Any fetch offset gives exactly the records from there on, with their headers."""
    every, headers, written, behind = made
    fetch_offset = data.draw(st.integers(0, behind + 2))
    decoded = decode(written, fetch_offset)
    assert decoded.error is None
    wanted = [
        (record, beside)
        for record, beside in zip(every, headers, strict=True)
        if record.offset >= fetch_offset
    ]
    assert list(decoded.records) == [record for record, _ in wanted]
    assert [decoded.headers.get(at, ()) for at in range(len(wanted))] == [
        beside for _, beside in wanted
    ]
    assert decoded.valid_bytes == len(written)
    assert decoded.next_offset == max(fetch_offset, behind)


@settings(max_examples=examples(15), deadline=None)
@given(mixed_sets())
def test_a_set_truncated_at_any_byte(made: tuple[list[Record], list[Headers], bytes, int]) -> None:
    """It gives the complete entries without an error, and the next fetch continues without loss."""
    every, _, written, _ = made
    ends = boundaries(written)

    @cache
    def rest_from(next_offset: int) -> list[Record]:
        """Return the following records, which are the same for any cut within one batch."""
        return list(decode(written, next_offset).records)

    for size in range(len(written)):
        decoded = decode(written[:size])
        assert decoded.error is None
        assert decoded.valid_bytes == max(end for end in ends if end <= size)
        assert list(decoded.records) == every[: len(decoded.records)]
        assert [*decoded.records, *rest_from(decoded.next_offset)] == every


@bounded
@given(mixed_sets(), st.data())
def test_any_limit_is_respected_and_nothing_is_lost(
    made: tuple[list[Record], list[Headers], bytes, int], data: st.DataObject
) -> None:
    """With a small limit the set takes several calls; only a single batch beyond it is an error."""
    every, _, written, behind = made
    room = data.draw(st.integers(0, 600))
    found: list[Record] = []
    position = 0
    while True:
        enough_bytes = data.draw(st.none() | st.integers(0, 600))
        decoded = decode(written, position, room, enough_bytes=enough_bytes)
        found += decoded.records
        if decoded.error is not None:
            assert "raise fetch.max.decompressed.bytes" in decoded.error.reason
            assert found == every[: len(found)]
            alone = decode(written, decoded.next_offset, room)
            assert alone.error is not None
            assert list(alone.records) == []
            break
        if decoded.next_offset == position:
            assert found == every
            assert position in (behind, 0)
            break
        position = decoded.next_offset


@bounded
@given(mixed_sets(), st.data())
def test_damage_is_found_or_harmless(
    made: tuple[list[Record], list[Headers], bytes, int], data: st.DataObject
) -> None:
    """One changed byte creates no new record.

    No CRC covers offsets and leader epochs, so only keys, values and timestamps are compared.
    """
    every, _, written, _ = made
    at = data.draw(st.integers(0, len(written) - 1))
    changed = bytearray(written)
    changed[at] ^= data.draw(st.integers(1, 255))
    decoded = decode(bytes(changed), data.draw(st.integers(0, 40)))
    assert decoded.next_offset >= 0
    contents = {record[1:4] for record in every}
    assert all(record[1:4] in contents for record in decoded.records)


@bounded
@given(mixed_sets(), st.data())
def test_errors_with_a_next_offset_can_be_skipped(
    made: tuple[list[Record], list[Headers], bytes, int], data: st.DataObject
) -> None:
    """Continuing at their next offsets reaches the end of the set, and repeats no error."""
    _, _, written, _ = made
    changed = bytearray(written)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(written) - 1))] ^= data.draw(st.integers(1, 255))
    position, met = 0, set[tuple[int, int]]()
    while True:
        decoded = decode(bytes(changed), position)
        error = decoded.error
        if error is None or error.next_offset is None:
            break
        assert error.next_offset > position or error.next_offset >= decoded.next_offset
        assert (error.position, error.offset) not in met
        met.add((error.position, error.offset))
        position = max(error.next_offset, decoded.next_offset)


@bounded
@given(one_batch(3), st.binary(max_size=80), st.data())
def test_any_body_with_a_right_crc_decodes_to_a_value(
    made: tuple[list[Record], list[Headers], bytes, int], noise: bytes, data: st.DataObject
) -> None:
    """The body may be anything in place of records, and the header may say anything of it."""
    _, _, batch, _ = made
    changes = {
        "attributes": data.draw(st.integers(-(2**15), 2**15 - 1)),
        "record_count": data.draw(st.integers(-2, 60) | st.just(2**31 - 1)),
        "last_offset_delta": data.draw(st.integers(-2, 60) | st.just(2**31 - 1)),
        "base_timestamp": data.draw(st.integers(-(2**63), 2**63 - 1)),
    }
    chosen = data.draw(st.sets(st.sampled_from(sorted(changes))))
    changed = with_head(
        with_body(batch, noise) if data.draw(st.booleans()) else batch,
        **{name: changes[name] for name in chosen},
    )
    for aborted in (None, ()):
        decoded = decode(changed, 4, aborted=aborted)
        if decoded.error is None:
            assert decoded.valid_bytes == len(changed)
        offsets = [record.offset for record in decoded.records]
        assert offsets == sorted(set(offsets))
        assert all(4 <= offset < decoded.next_offset for offset in offsets)
        assert all(-(2**63) <= record.timestamp < 2**63 for record in decoded.records)


@bounded
@given(st.binary(max_size=200))
def test_any_bytes_decode_to_a_value(noise: bytes) -> None:
    """Nothing is raised."""
    decoded = decode(noise)
    assert 0 <= decoded.valid_bytes <= len(noise)


@bounded
@given(record_lists(1), st.sampled_from(CODECS_OF_MESSAGES), st.integers(0, 30))
def test_messages_decode_as_without_batches(
    some: list[Record], codec: Codec, fetch_offset: int
) -> None:
    """Sets of magic 0 and 1 give the same as the decoder for older versions."""
    written = build_message_set(some, magic=1, codec=codec)
    old = decode_record_set(written, fetch_offset=fetch_offset, max_decompressed_bytes=ROOM)
    new = decode(written, fetch_offset)
    for name in old.__dataclass_fields__:
        assert getattr(old, name) == getattr(new, name)


@needs_native
@settings(max_examples=examples(60), deadline=None)
@given(mixed_sets(), st.lists(st.integers(0, 9), max_size=6), st.data())
def test_engines_agree_in_every_field_of_every_slice(
    made: tuple[list[Record], list[Headers], bytes, int], steps: list[int], data: st.DataObject
) -> None:
    """They do for slices of any sizes, and any fetch offset."""
    _, _, written, behind = made
    fetch_offset = data.draw(st.integers(0, behind))
    decode_natively = native_fetched().decode_fetched
    found = decode_natively(written, fetch_offset=fetch_offset, max_decompressed_bytes=ROOM)
    wanted = decode_purely(written, fetch_offset=fetch_offset, max_decompressed_bytes=ROOM)
    assert found.refused_at is None
    check_fetched(found, wanted, (*steps, 1 << 62))


def native_fetched() -> Any:
    """Return the native decoder for polls, which exists only if it was built."""
    return import_module("zkconsumer.records.native_fetched")
