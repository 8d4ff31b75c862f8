"""Record batches of a poll, from either engine's slices of message sets of magic 1."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.model import Record, TimestampType, TopicPartition
from zkconsumer.records import native_fetched, pure_fetched
from zkconsumer.records.build import build_message_set
from zkconsumer.records.consumer_record import RecordOrigin
from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.records.slices import RecordSlice
from zkconsumer.streams import polled_batches
from zkconsumer.streams.polled_batches import SCHEMA, batch_of, split_by_size

A, B = TopicPartition("t", 0), TopicPartition("u", 7)
Decode = Callable[..., Any]
DECODERS: list[Decode] = [pure_fetched.decode_fetched]
if ENGINE is Engine.NATIVE:
    DECODERS.append(native_fetched.decode_fetched)

texts = st.one_of(st.none(), st.binary(max_size=5))
rows = st.lists(st.tuples(texts, texts, st.integers(-1, 2**41)), max_size=6)


def slice_of(decode: Decode, plain: list[tuple[bytes | None, bytes | None, int]]) -> RecordSlice:
    """Return these records as an engine has them after a fetch."""
    records = [
        Record(offset, key, value, time_ms, TimestampType.CREATE_TIME)
        for offset, (key, value, time_ms) in enumerate(plain)
    ]
    data = build_message_set(records, magic=1)
    taken: RecordSlice = decode(data, fetch_offset=0, max_decompressed_bytes=1 << 20).take(100)
    return taken


@pytest.mark.parametrize("decode", DECODERS)
@given(first=rows, second=rows)
def test_a_batch_holds_the_records(
    decode: Decode,
    first: list[tuple[bytes | None, bytes | None, int]],
    second: list[tuple[bytes | None, bytes | None, int]],
) -> None:
    """A batch holds the records of all partitions, one partition after the other."""
    slices = {A: slice_of(decode, first), B: slice_of(decode, second)}
    expected = [
        (record.key, record.value, record.topic, record.partition, record.offset, record.timestamp)
        for tp, part in slices.items()
        for record in part.records(RecordOrigin(tp))
    ]
    batch = batch_of(slices)
    assert batch.schema == SCHEMA
    found = [
        (*(row[name] for name in ("key", "value", "topic", "partition", "offset")),)
        for row in batch.drop_columns(["timestamp"]).to_pylist()
    ]
    assert found == [fields[:-1] for fields in expected]
    micros = batch.column("timestamp").cast("int64").to_pylist()
    assert micros == [fields[-1] * 1000 for fields in expected]
    assert batch.column("headers").null_count == len(expected)


def test_slices_that_one_batch_can_not_hold_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices that one batch can't hold are left for the next, but the first always fits."""
    monkeypatch.setattr(polled_batches, "MAX_COLUMN_BYTES", 5)
    big = slice_of(DECODERS[0], [(None, b"1234567", 0)])
    small = slice_of(DECODERS[0], [(None, b"1", 0)])
    fit, left = split_by_size({A: big, B: small})
    assert (list(fit), list(left)) == ([A], [B])
    fit, left = split_by_size({A: small, B: small})
    assert (list(fit), list(left)) == ([A, B], [])


def test_no_slices_are_a_batch_without_rows() -> None:
    """A batch of no slices has the same schema and no rows."""
    assert batch_of({}).schema == SCHEMA
    assert batch_of({}).num_rows == 0
