"""Runs one suite with both decoders: tests that use ``each_engine`` run once with each.

The native decoder never runs alone: its input also goes to the reference decoder in Python ("the
definition"), and both results must be identical.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import pytest

from tests.support import batches, record_sets
from zkconsumer.errors import CorruptRecord
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.consumer_record import ConsumerRecord, RecordOrigin, facts_of
from zkconsumer.records.decode import DecodedSet, decode_record_set
from zkconsumer.records.engine import Engine
from zkconsumer.records.slices import FetchedRecords, RecordSlice
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.wire.messages.fetch import AbortedTransaction

try:
    from zkconsumer.records import native_fetched
except ImportError:
    IS_BUILT = False
else:
    IS_BUILT = True

needs_native = pytest.mark.skipif(not IS_BUILT, reason="the native core is not built")


@pytest.fixture(
    scope="module",
    params=[Engine.PURE, pytest.param(Engine.NATIVE, marks=needs_native)],
    ids=str,
)
def each_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Let ``record_sets.decode`` and ``batches.decode`` use each decoder in turn."""
    before = record_sets.decoder, batches.decoder
    if request.param is Engine.NATIVE:
        record_sets.decoder = batches.decoder = both
    else:
        record_sets.decoder = batches.decoder = decode_record_set
    yield request.param
    record_sets.decoder, batches.decoder = before


def set_facts(decoded: DecodedSet) -> list[object]:
    """Return all fields of a decoded set in a comparable form, including types."""
    return [
        typed(decoded.records),
        decoded.next_offset,
        decoded.valid_bytes,
        decoded.first_entry_size_bytes,
        error_facts(decoded.error),
        decoded.memory_bytes,
    ]


def typed(records: Iterable[Record]) -> list[object]:
    """Return records and their fields, each with its type."""
    return [(type(record), [(type(field), field) for field in record]) for record in records]


def error_facts(error: CorruptRecord | None) -> object:
    """Return all fields of an error in a comparable form."""
    if error is None:
        return None
    return (
        type(error),
        str(error),
        error.reason,
        error.offset,
        error.position,
        error.next_offset,
        error.raw,
    )


ORIGIN = RecordOrigin(TopicPartition("clicks", 3))


def both(
    data: bytes | memoryview,
    *,
    fetch_offset: int,
    max_decompressed_bytes: int,
    enough_bytes: int | None = None,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    aborted: Iterable[AbortedTransaction] | None = None,
) -> DecodedSet:
    """Decode with the definition, and check that the native decoder returns the same.

    The core may refuse a set that the definition decodes (memory may be short, and the lz4 library
    accepts copies from distance 0), so tests of valid sets check ``refused_at`` themselves.
    """
    named = None if aborted is None else list(aborted)
    decode = partial(
        native_fetched.decode_fetched,
        data,
        fetch_offset=fetch_offset,
        max_decompressed_bytes=max_decompressed_bytes,
        enough_bytes=enough_bytes,
        isolation=isolation,
        aborted=named,
    )
    found = decode()
    expected = decode_record_set(
        data,
        fetch_offset=fetch_offset,
        max_decompressed_bytes=max_decompressed_bytes,
        enough_bytes=enough_bytes,
        isolation=isolation,
        aborted=named,
    )
    if expected.error is not None:
        # The core may refuse earlier: the definition skips entries before the fetch offset.
        assert found.refused_at is not None
        assert found.refused_at <= expected.error.position
    check_fetched(found, FetchedRecords.of(expected), (1, 2, 1 << 62), check_slice)
    whole, _ = decode().take_records()
    assert typed(whole) == typed(expected.records)
    return expected


def check_slice(found: RecordSlice, wanted: RecordSlice) -> None:
    """Check that two slices and their records are equal."""
    for name in ("first_offset", "next_offset", "leader_epoch", "size_bytes"):
        assert getattr(found, name) == getattr(wanted, name), name
    assert len(found) == len(wanted)
    assert found.headers() == wanted.headers()
    made = found.records(ORIGIN)
    assert made == wanted.records(ORIGIN)


def check_every_field(found: RecordSlice, wanted: RecordSlice) -> None:
    """Check every field of two slices and their records, by every access path, with types."""
    check_slice(found, wanted)
    assert rows_of(found) == rows_of(wanted)
    for record, other in zip(found.records(ORIGIN), wanted.records(ORIGIN), strict=True):
        assert record_facts(record) == record_facts(other)
        assert repr(record) == repr(other)
        assert (record == other) is (other == record) is True


def check_fetched(
    found: FetchedRecords,
    wanted: FetchedRecords,
    steps: Sequence[int],
    check: Callable[[RecordSlice, RecordSlice], None] = check_every_field,
) -> None:
    """Check that two fetched sets have equal slices, taken in these sizes."""
    for fetched_records in (found, wanted):
        assert fetched_records.memory_bytes >= 0
        assert (
            (fetched_records.first_offset is None)
            == (fetched_records.last_offset is None)
            == (len(fetched_records) == 0)
        )
    for step in steps:
        for name in ("next_offset", "valid_bytes", "first_entry_size_bytes", "last_leader_epoch"):
            assert getattr(found, name) == getattr(wanted, name), name
        assert error_facts(found.error) == error_facts(wanted.error)
        assert len(found) == len(wanted)
        assert (found.first_offset, found.last_offset) == (wanted.first_offset, wanted.last_offset)
        check(found.take(step), wanted.take(step))


def rows_of(part: RecordSlice) -> list[tuple[object, ...]]:
    """Return all rows of a slice, read through its parts."""
    return [tuple(row) for range_ in part.parts() for row in range_]


def record_facts(record: ConsumerRecord) -> list[tuple[type, object]]:
    """Return all fields of a record with their types."""
    facts = [
        *facts_of(record),
        *(record.timestamp_type, record.key, record.value, record.checksum),
        *(record.serialized_key_size, record.serialized_value_size),
        *(record.serialized_header_size, record.topic_partition, hash(record)),
    ]
    return [(type(fact), fact) for fact in facts]
