"""A fetched batch that is passed on as it came has the records of a batch that is built again."""

import random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.batches import with_body, with_head
from tests.support.engines import needs_native
from zkconsumer.model import Record, TimestampType
from zkconsumer.produce.outgoing import HeadedRecord, Outgoing, ProducerSequence, build_set
from zkconsumer.produce.outgoing_sets import OutgoingRecords
from zkconsumer.records import pure_fetched
from zkconsumer.records.batch_header import BATCH_HEADER, BatchHeader
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.codecs import Codec
from zkconsumer.records.engine import decode_fetched
from zkconsumer.records.rows import Headers

pytestmark = needs_native

BASE = 1_000
ROOM = 1 << 24
SEQUENCE = ProducerSequence(7_000_000_000, 3, 11)
LEAST_BYTES = dict.fromkeys(Codec, 65_536) | {Codec.GZIP: 4_096}
PACKING = [codec for codec in Codec if codec is not Codec.NONE]


class StoredBatch(NamedTuple):
    """A batch as a broker stores it."""

    data: bytes
    rows: list[HeadedRecord]
    codec: Codec
    is_as_sent: bool

    @property
    def body(self) -> bytes:
        """The batch's compressed records."""
        return self.data[BATCH_HEADER.size :]


@st.composite
def sources(draw: st.DrawFn) -> StoredBatch:
    """Draw a batch, mostly as produced; some have gaps, no timestamps, or append times."""
    count, seed = draw(st.integers(1, 12)), draw(st.integers(0, 2**32))
    size = draw(st.sampled_from([10, 600, 20_000]))
    gap, time = draw(st.sampled_from([1, 1, 1, 2])), draw(st.sampled_from([0, 5_000, 5_000, -1]))
    kind = draw(st.sampled_from([*[TimestampType.CREATE_TIME] * 3, TimestampType.LOG_APPEND_TIME]))
    horizon = draw(st.sampled_from([None, None, None, 99]))
    noise, codec = random.Random(seed), draw(st.sampled_from(PACKING))
    records = [
        Record(BASE + gap * number, b"k%d" % number, noise.randbytes(size), time, kind)
        for number in range(count)
    ]
    headers: dict[int, Headers] = {0: (("h", b"1"),)} if draw(st.booleans()) else {}
    traits = BatchTraits(
        leader_epoch=4,
        producer_id=9,
        producer_epoch=0,
        base_sequence=5,
        is_transactional=draw(st.booleans()),
        delete_horizon_ms=horizon,
    )
    data = build_batch(records, codec=codec, headers=headers, traits=traits)
    is_as_sent = (
        count > 1
        and gap == 1
        and time >= 0
        and kind is TimestampType.CREATE_TIME
        and horizon is None
        and len(data) - BATCH_HEADER.size >= LEAST_BYTES[codec]
    )
    rows = [HeadedRecord(record, headers.get(place, ())) for place, record in enumerate(records)]
    return StoredBatch(data, rows, codec, is_as_sent)


def queued(
    found: list[StoredBatch], kept: Codec, start: int, *, with_headers: bool
) -> OutgoingRecords:
    """Return a mirror's queue of these batches, from an offset on."""
    records = OutgoingRecords()
    for source in found:
        fetched = decode_fetched(
            source.data, fetch_offset=start, max_decompressed_bytes=ROOM, kept_codec=kept
        )
        assert fetched.error is None
        if len(fetched):
            runs = fetched.take(len(source.rows)).parts()
            records.add_runs(runs, with_headers=with_headers)  # type: ignore[arg-type]
    return records


def contents(data: bytes) -> list[tuple[object, ...]]:
    """Decode and check a set, and return its records with their headers."""
    found = pure_fetched.decode_fetched(data, fetch_offset=0, max_decompressed_bytes=ROOM)
    assert found.error is None
    taken = found.take(len(found))
    rows = [row for part in taken.parts() for row in part]
    return [(*row, taken.headers().get(place, ())) for place, row in enumerate(rows)]


def head_of(data: bytes) -> BatchHeader:
    """Return a batch's header."""
    return BatchHeader._make(BATCH_HEADER.unpack_from(data))


@given(
    found=st.lists(sources(), min_size=1, max_size=5),
    codec=st.sampled_from(PACKING),
    start=st.integers(BASE - 1, BASE + 3),
    version=st.sampled_from([3, 7]),
    set_bytes=st.sampled_from([4_000, 100_000, 900_000]),
    with_headers=st.booleans(),
)
def test_a_passed_batch_equals_one_that_is_built(
    found: list[StoredBatch],
    codec: Codec,
    start: int,
    version: int,
    set_bytes: int,
    *,
    with_headers: bool,
) -> None:
    """It has the same records in the same order, with a header as a producer sends it."""
    passing = queued(found, codec, start, with_headers=with_headers)
    rows: list[Outgoing] = [
        row if with_headers else row.record
        for source in found
        for row in source.rows
        if row.record.offset >= start
    ]
    assert len(passing) == len(rows)
    bodies: list[bytes] = []
    while len(passing):
        outgoing = passing.cut(set_bytes)
        chosen, rows = rows[: len(outgoing)], rows[len(outgoing) :]
        made = outgoing.build(version=version, codec=codec, now_ms=77, sequence=SEQUENCE)
        wanted = build_set(chosen, version=version, codec=codec, now_ms=77, sequence=SEQUENCE)
        assert contents(made) == contents(wanted)
        unlike = {"size": 0, "crc": 0, "base_timestamp": 0}
        assert head_of(made)._replace(**unlike) == head_of(wanted)._replace(**unlike)
        bodies.append(made[BATCH_HEADER.size :])
        if len(outgoing) > 1:
            halves = [
                half.build(version=version, codec=codec, now_ms=77)
                for half in outgoing.split(len(outgoing) // 2)
            ]
            values = [row[2] for half in halves for row in contents(half)]
            assert values == [row[2] for row in contents(made)]
    passed = [
        source.body
        for source in found
        if source.is_as_sent
        and source.codec is codec
        and start <= BASE
        and len(source.body) <= set_bytes
    ]
    if with_headers:
        assert [body for body in bodies if body in passed] == passed


@pytest.mark.parametrize("codec", PACKING)
def test_a_batch_that_was_split_is_not_passed(codec: Codec) -> None:
    """The rest of it is compressed again, and so is a batch that needs another codec."""
    noise = random.Random(1)
    records = [Record(BASE + n, None, noise.randbytes(6_000), 5) for n in range(20)]
    data = build_batch(records, codec=codec)
    source = StoredBatch(
        data, [HeadedRecord(record, ()) for record in records], codec, is_as_sent=True
    )
    whole = queued([source], codec, 0, with_headers=True).cut(900_000)
    assert whole.build(version=3, codec=codec, now_ms=1)[BATCH_HEADER.size :] == source.body
    other = Codec.NONE
    assert head_of(whole.build(version=3, codec=other, now_ms=1)).attributes == other
    assert len(contents(whole.build(version=3, codec=other, now_ms=1))) == 20
    cut = queued([source], codec, 0, with_headers=True)
    cut.drop(1)
    rest = contents(cut.cut(900_000).build(version=3, codec=codec, now_ms=1))
    assert [row[2] for row in rest] == [record.value for record in records[1:]]


@pytest.mark.parametrize("named", [10**15, 0, -1])
def test_a_batch_with_a_wrong_max_timestamp_is_decompressed(named: int) -> None:
    """Brokers use it for lookups by time and for retention."""
    noise = random.Random(1)
    records = [Record(BASE + n, None, noise.randbytes(6_000), 5 + n) for n in range(20)]
    data = with_head(build_batch(records, codec=Codec.GZIP), max_timestamp=named)
    source = StoredBatch(data, [HeadedRecord(r, ()) for r in records], Codec.GZIP, is_as_sent=False)
    outgoing = queued([source], Codec.GZIP, 0, with_headers=True).cut(900_000)
    made = outgoing.build(version=3, codec=Codec.GZIP, now_ms=1)
    assert head_of(made).max_timestamp == 24
    assert len(contents(made)) == 20


def test_a_batch_larger_than_the_set_limit_is_decompressed() -> None:
    """It may have small records, and padding after the end of its gzip stream."""
    rows = [HeadedRecord(Record(BASE + number, None, b"v", 5), ()) for number in range(2)]
    batch = build_batch([row.record for row in rows], codec=Codec.GZIP)
    padded = with_body(batch, batch[BATCH_HEADER.size :] + bytes(10_000))
    source = StoredBatch(padded, rows, Codec.GZIP, is_as_sent=True)
    for set_bytes, is_passed in ((5_000, False), (50_000, True)):
        outgoing = queued([source], Codec.GZIP, 0, with_headers=True).cut(set_bytes)
        assert len(outgoing) == 2
        made = outgoing.build(version=3, codec=Codec.GZIP, now_ms=1)
        assert (len(made) > 10_000) is is_passed
        assert [row[2] for row in contents(made)] == [b"v", b"v"]
