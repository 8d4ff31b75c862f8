"""Hashes of rows equal those of Spark, whichever engine computes them."""

import random

import pyarrow as pa
import pytest

from zkconsumer.drain.local.columns import SCHEMA, _pure_hashes, row_hashes
from zkconsumer.drain.local.xxhash64 import row_hash, xxhash64
from zkconsumer.streams.arrow_columns import TIMESTAMP

KNOWN = {
    b"": 0xEF46DB3751D8E999,
    b"abc": 0x44BC2CF5AD770999,
    b"Nobody inspects the spammish repetition": 0xFBCEA83C8A378BF1,
}
"""Test vectors of the algorithm's specification, with seed 0."""


def _rows(count: int, chance: random.Random) -> pa.RecordBatch:
    def binaries() -> pa.Array:
        batch = [
            chance.choice([None, chance.randbytes(chance.randrange(70))]) for _ in range(count)
        ]
        return pa.array(batch, pa.binary())

    def numbers(kind: pa.DataType, *choices: int | None) -> pa.Array:
        return pa.array([chance.choice(choices) for _ in range(count)], kind)

    offsets = [chance.randrange(2**40) for _ in range(count)]
    return pa.record_batch(
        [
            binaries(),
            binaries(),
            numbers(pa.int32(), 3, 70_000),
            pa.array(offsets, pa.int64()),
            numbers(TIMESTAMP, None, 0, 1_400_000_000_000_000, 2**60),
            numbers(pa.int32(), -1, 0, 1),
        ],
        schema=SCHEMA,
    )


@pytest.mark.parametrize("data", KNOWN)
def test_xxhash_equals_its_test_vectors(data: bytes) -> None:
    """The pure Python xxHash64 gives the values of the reference implementation."""
    assert xxhash64(data, 0) == KNOWN[data]


def test_a_message_hashes_as_in_spark() -> None:
    """The expected numbers are those of Spark 4.3 for the expression in ``on_spark.sums``."""
    time_us = 1_400_000_000_123_000
    found = [
        row_hash(0, None, b"m0", None, -1),
        row_hash(7, b"", b"", time_us, 0),
        row_hash(2**40, b"k", None, time_us, 1),
    ]
    assert [row_sum - (row_sum >> 63 << 64) for row_sum in found] == SPARKS


SPARKS = [-5072088423092400796, 8784228081455602589, -4452219399251411569]


@pytest.mark.parametrize("with_time", [True, False])
def test_native_and_pure_hashes_are_equal(*, with_time: bool) -> None:
    """Slices, and columns that start at different places of their buffers, are hashed alike."""
    rows = _rows(300, random.Random(5))
    mixed = pa.RecordBatch.from_arrays(
        [
            rows.column(name).slice(9)
            if name != "offset"
            else rows.column(name).slice(9).take(pa.array(range(291), pa.int64()))
            for name in SCHEMA.names
        ],
        schema=SCHEMA,
    )
    for batch in (rows, rows.slice(7, 100), rows.slice(3, 0), mixed):
        wanted = _pure_hashes(batch, with_time=with_time)
        assert row_hashes(batch, with_time=with_time).equals(wanted)
