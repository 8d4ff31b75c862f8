"""Sets that are built of runs equal those that are built of rows, byte by byte, in any format."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.engines import needs_native
from zkconsumer.errors import LocalProtocolError
from zkconsumer.model import Record, TimestampType
from zkconsumer.produce.outgoing import HeadedRecord, Outgoing, ProducerSequence, build_set
from zkconsumer.produce.outgoing_sets import OutgoingPart, OutgoingRecords
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import build_batch
from zkconsumer.records.codecs import Codec
from zkconsumer.records.decode import decode_record_set
from zkconsumer.records.engine import decode_fetched
from zkconsumer.records.rows import Headers

pytestmark = needs_native

NOW_MS = 1_700_000_000_000
VERSIONS = (0, 2, 3, 7)
SEQUENCE = ProducerSequence(7_000_000_000, 3, 11)

data = st.none() | st.binary(max_size=40) | st.integers(100, 400).map(bytes)
headers = st.lists(
    st.tuples(st.text("abcé", max_size=4), st.none() | st.binary(max_size=5)), max_size=3
).map(tuple)
rows = st.lists(
    st.tuples(
        st.integers(1, 400),  # the distance from the last offset
        data,
        data,
        st.sampled_from([-1, 0, 5, NOW_MS, NOW_MS + 70_000]),
        headers,
    ),
    min_size=1,
    max_size=30,
)
codecs = st.sampled_from([Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])


@st.composite
def sources(draw: st.DrawFn) -> tuple[bytes, list[Record], dict[int, Headers]]:
    """Draw a set as a broker stores it, of any magic, with gaps; and its records."""
    magic, codec, appended = draw(st.integers(0, 2)), draw(codecs), draw(st.booleans())
    kind = TimestampType.LOG_APPEND_TIME if appended else TimestampType.CREATE_TIME
    offset, records, with_headers = 1_000, [], {}
    for place, (gap, key, value, time, found) in enumerate(draw(rows)):
        offset += gap
        if magic == 0:
            records.append(Record(offset, key, value))
            continue
        records.append(Record(offset, key, value, 77 if appended else time, kind))
        if found and magic == 2:
            with_headers[place] = found
    if magic == 2:
        return build_batch(records, codec=codec, headers=with_headers), records, with_headers
    return build_message_set(records, magic=magic, codec=codec), records, with_headers


def fetched(sets: list[tuple[bytes, list[Record], dict[int, Headers]]]) -> OutgoingRecords:
    """Return all of them in order, as runs."""
    queued = OutgoingRecords()
    for held, records, _ in sets:
        found = decode_fetched(held, fetch_offset=0, max_decompressed_bytes=1 << 24)
        assert found.error is None
        queued.add_runs(found.take(len(records)).parts())  # type: ignore[arg-type]
    return queued


def as_rows(sets: list[tuple[bytes, list[Record], dict[int, Headers]]]) -> list[Outgoing]:
    """Return the same records as rows."""
    return [
        HeadedRecord(record, found[place]) if place in found else record
        for _, records, found in sets
        for place, record in enumerate(records)
    ]


def built(outgoing: OutgoingPart, version: int, codec: Codec) -> bytes | str:
    """Build a set, or return why it can't be built."""
    try:
        return outgoing.build(version=version, codec=codec, now_ms=NOW_MS, sequence=SEQUENCE)
    except LocalProtocolError as error:
        return str(error)


@given(
    st.lists(sources(), min_size=1, max_size=4),
    st.sampled_from(VERSIONS),
    codecs,
    st.integers(1, 3_000),
)
def test_runs_build_the_same_sets_as_rows(
    sets: list[tuple[bytes, list[Record], dict[int, Headers]]],
    version: int,
    codec: Codec,
    set_bytes: int,
) -> None:
    """They do from any source, in any format, with headers, gaps and any kind of timestamp."""
    queued, plain = fetched(sets), as_rows(sets)
    assert len(queued) == len(plain)
    done = 0
    while len(queued):
        outgoing = queued.cut(set_bytes)
        wanted = OutgoingRecords(plain[done : done + len(outgoing)]).cut(1 << 30)
        assert built(outgoing, version, codec) == built(wanted, version, codec)
        if middle := len(outgoing) // 2:
            halves: tuple[OutgoingPart, ...] = outgoing.split(middle)
            of_rows: tuple[OutgoingPart, ...] = wanted.split(middle)
            for half, same in zip(halves, of_rows, strict=True):
                assert built(half, version, codec) == built(same, version, codec)
        done += len(outgoing)
    assert done == len(plain)


@given(st.lists(sources(), min_size=1, max_size=4), st.integers(1, 3_000), st.data())
def test_runs_are_split_where_rows_are(
    sets: list[tuple[bytes, list[Record], dict[int, Headers]]], set_bytes: int, draw: st.DataObject
) -> None:
    """No set exceeds its limit; records that are dropped from the front are gone, and no others."""
    queued, plain = fetched(sets), as_rows(sets)
    dropped = draw.draw(st.integers(0, len(plain)))
    queued.drop(dropped)
    of_rows = OutgoingRecords(plain[dropped:])
    again = queued.copy()
    values: list[bytes | None] = []
    while len(queued):
        outgoing = queued.cut(set_bytes)
        if not any(found for *_, found in sets):
            assert len(outgoing) == len(of_rows.cut(set_bytes))
        held = build_set(
            plain[dropped + len(values) : dropped + len(values) + len(outgoing)],
            version=3,
            codec=Codec.NONE,
            now_ms=NOW_MS,
        )
        assert outgoing.build(version=3, codec=Codec.NONE, now_ms=NOW_MS) == held
        found = decode_record_set(held, fetch_offset=0, max_decompressed_bytes=1 << 24)
        values += [row[2] for row in found.records.plain]
    assert len(again) == len(values) == len(plain) - dropped
