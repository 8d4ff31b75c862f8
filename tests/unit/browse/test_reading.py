"""Reading messages of an in-memory log: the right ones, within limits."""

import tracemalloc
from collections.abc import Iterator

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.ranges import TP, RangeReaderBench, range_bench
from zkconsumer.browse import reading
from zkconsumer.browse.decoding import BytesDecoder, DecodedBytes, Form
from zkconsumer.browse.filters import parse_filter
from zkconsumer.browse.message import BrowseResult
from zkconsumer.browse.query import BrowseLimits, MessageQuery
from zkconsumer.browse.reading import MessageBrowser
from zkconsumer.fetch.range_parts import RangePart, parts_of
from zkconsumer.model import OffsetRange, Record
from zkconsumer.records.build_batch import build_batch
from zkconsumer.records.engine import decode_fetched


def log_of(count: int, each_bytes: int) -> RangeReaderBench:
    """Build a cluster with a partition whose values begin with their offset."""
    world = range_bench()
    for offset in range(count):
        world.net.cluster.append(TP, [Record(-1, None, b"%05d" % offset + b"x" * each_bytes)])
    return world


def run_query(
    world: RangeReaderBench, query: MessageQuery, max_bytes: int = 1 << 20
) -> BrowseResult:
    """Run a query with a limit on its bytes."""
    limits = BrowseLimits(max_bytes=max_bytes)
    return MessageBrowser(world.client(), BytesDecoder(), limits=limits).read(query)


def offsets_of(result: BrowseResult) -> list[int]:
    """Return the offsets of a result's messages."""
    return [message.offset for message in result.messages]


def test_a_query_for_the_last_messages_returns_exactly_those() -> None:
    """The last messages are returned in order; if the log has fewer, all of them."""
    world = log_of(120, 10)
    found = run_query(world, MessageQuery(topic="t", limit=50))
    assert (offsets_of(found), found.scanned, found.notes) == (list(range(70, 120)), 50, ())
    assert offsets_of(run_query(world, MessageQuery(topic="t", limit=500))) == list(range(120))


def test_of_large_messages_the_newest_are_returned() -> None:
    """If the byte limit is reached, the older messages are left out, and a note says so."""
    world = log_of(100, 10_000)
    found = run_query(world, MessageQuery(topic="t", limit=50), max_bytes=500_000)
    shown = offsets_of(found)
    assert shown == list(range(shown[0], 100))
    assert len(shown) >= 5
    assert found.scanned <= 50
    [note] = found.notes
    assert note == f"t-0: read from offset {shown[0]} on: the byte limit of one query was reached"


def test_a_message_larger_than_the_byte_limit_is_returned() -> None:
    """The newest message is returned even if it alone exceeds the limit, or none ever would be."""
    found = run_query(log_of(3, 300_000), MessageQuery(topic="t", limit=50), max_bytes=1)
    assert offsets_of(found) == [2]


@pytest.mark.parametrize(("wanted", "scanned"), [("00118", 120), ("x", 50)])
def test_a_filter_scans_back_no_further_than_needed(wanted: str, scanned: int) -> None:
    """A filtered query stops scanning back once enough messages have passed."""
    query = MessageQuery(topic="t", limit=50, passes=parse_filter(wanted))
    assert run_query(log_of(120, 10), query).scanned == scanned


def test_a_filter_sees_json_even_if_it_is_shown_as_hex() -> None:
    """A JSON path passes although the value is to be shown as hex."""
    world = log_of(0, 0)
    world.net.cluster.append(TP, [Record(-1, None, b'{"a": %d}' % number) for number in range(9)])
    query = MessageQuery(topic="t", passes=parse_filter(".a == 7"), form="hex")
    [found] = run_query(world, query).messages
    assert (found.offset, found.value.kind, found.value.text) == (
        7,
        "hex",
        "7b 22 61 22 3a 20 37 7d",
    )
    assert found.raw_value == b'{"a": 7}'


def test_a_record_with_a_million_empty_headers_takes_no_gigabytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A million empty headers are left out of the result, with a note, and take little memory."""
    count = 1_000_000
    data = build_batch(
        [Record(0, None, b"before"), Record(1, b"k", b"hostile"), Record(2, None, b"after")],
        headers={0: (("a", b"b"),), 1: (("", b""),) * count},
    )
    fetched = decode_fetched(memoryview(data), fetch_offset=0, max_decompressed_bytes=64 << 20)
    parts = list(parts_of(fetched, 3, 1 << 18))

    class GivenParts:
        def __init__(self, *_: object, **__: object) -> None:
            """Accept any arguments."""

        def read(self, _range: OffsetRange) -> Iterator[RangePart]:
            yield from parts

    monkeypatch.setattr(reading, "RangeReader", GivenParts)
    world = log_of(3, 1)
    tracemalloc.start()
    try:
        found = run_query(
            world, MessageQuery(topic="t", start="offset", limit=50), max_bytes=32 << 20
        )
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()
    assert [message.raw_value for message in found.messages] == [b"before", b"hostile", b"after"]
    assert [len(message.headers) for message in found.messages] == [1, 0, 0]
    [note] = found.notes
    assert note.startswith("t-0 from offset 1 on: headers of about 1,999,9")
    assert note.endswith(" bytes are not shown")


def test_the_time_limit_ends_a_query_within_a_part() -> None:
    """Decoding may be slow for each message, so the time limit is checked between messages."""
    clock = ManualClock()

    class Slow(BytesDecoder):
        def decode(
            self, data: bytes | None, schema_header: bytes | None = None, form: Form = "auto"
        ) -> DecodedBytes:
            clock.advance(1_000)
            return super().decode(data, schema_header, form)

    world = log_of(0, 0)
    world.net.cluster.append(TP, [Record(-1, None, b"%d" % number) for number in range(100)])
    browser = MessageBrowser(
        world.client(), Slow(), limits=BrowseLimits(max_ms=10_000), clock=clock
    )
    found = browser.read(MessageQuery(topic="t", start="offset", at=0, limit=50))
    assert offsets_of(found) == list(range(5))
    assert found.notes[0] == "t-0: read up to offset 5 of 100: the time limit was reached"
