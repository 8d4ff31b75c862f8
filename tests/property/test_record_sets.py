"""Whoever reads a fetched set finds the same in it: streams, polls and ranges, of every format."""

import random
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from tests.support.chunks import claim_of
from tests.support.flipped_logs import make_log
from tests.support.polled import BROKER, TP
from zkconsumer.errors import MessageTooLarge
from zkconsumer.fetch.polled import completed
from zkconsumer.fetch.polled.completed import PartitionRequest
from zkconsumer.fetch.polled.settings import PollFetchSettings
from zkconsumer.fetch.polled.starts import PositionView
from zkconsumer.fetch.position import FetchPosition, take_response, unpack
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.fetch.ranges import RangeCursor, RangeRequest
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import OffsetRange
from zkconsumer.records.consumer_record import RecordOrigin
from zkconsumer.wire.messages.fetch import FetchedPartition

LIMIT = 1 << 16
BEYOND = 1 << 40
ROOM = 1 << 22


@dataclass(frozen=True, slots=True)
class Found:
    """What one answer came to.

    Attributes:
        records: offsets and values.
        next_offset: where the next fetch goes on.
        needed_bytes: what that must ask for at least, where the first entry did not fit; else 0.
        is_too_large: that entry never will.
    """

    records: list[tuple[int, bytes | None]]
    next_offset: int
    needed_bytes: int
    is_too_large: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A set as a broker sent it, and what it answers."""

    data: bytes
    fetch_offset: int
    requested_bytes: int
    high_watermark: int


@st.composite
def responses(draw: st.DrawFn, magics: tuple[int, ...]) -> Answer:
    """A stretch of a log, which may be cut off, flipped in one bit, or begin in front."""
    rng = random.Random(draw(st.integers(0, 1 << 30)))
    log = make_log(rng, rng.choice(magics), rng.randint(1, 6), gap=rng.choice([0, 3]))
    first = rng.randrange(len(log))
    data = bytearray(b"".join(entry.data for entry in log[first:]))
    cut = draw(st.one_of(st.just(0), st.integers(0, len(data) - 1)))
    data = data[: len(data) - cut]
    if data and draw(st.booleans()):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    start = rng.randint(log[first].first, log[first].last)
    end = log[-1].last + 1
    return Answer(bytes(data), start, max(1, len(data)), rng.choice([end, end, start, end + 5]))


def by_streams(response: Answer) -> Found:
    """As a fetcher of streams reads it, piece by piece."""
    settings = FetchSettings(fetch_bytes=response.requested_bytes, growth_max_bytes=LIMIT)
    position = FetchPosition(claim_of(committed=0), response.fetch_offset)
    position.claim.high_watermark = response.high_watermark
    take_response(position, memoryview(response.data), response.requested_bytes, settings)
    found: list[tuple[int, bytes | None]] = []
    is_too_large = False
    while position.packed is not None:
        chunk = unpack(position, ROOM, settings)
        if chunk is not None:
            found += [(one.offset, one.value) for one in chunk.records]
            poison = chunk.poison
            is_too_large = poison is not None and isinstance(poison.error, MessageTooLarge)
    assert position.fetch_offset is not None
    is_unmoved = position.fetch_offset == response.fetch_offset
    needed = position.needed_bytes if is_unmoved else 0
    return Found(found, position.fetch_offset, needed, is_too_large)


def by_polls(response: Answer) -> Found:
    """As a fetcher of polls does, at once."""
    settings = PollFetchSettings(growth_max_bytes=LIMIT)
    start = PositionView(response.fetch_offset)
    requested = PartitionRequest(TP, start, response.requested_bytes, -1, BROKER)
    unpacked = completed.unpack(
        requested, memoryview(response.data), None, settings, ROOM, response.high_watermark
    )
    if unpacked.chunk is None:
        is_too_large = unpacked.too_large is not None
        return Found([], response.fetch_offset, unpacked.needed_bytes, is_too_large)
    records = unpacked.chunk.records
    made = records.take(len(records)).records(RecordOrigin(TP, None, None))
    return Found(
        [(one.offset, one.value) for one in made],
        unpacked.chunk.end.offset,
        0,
    )


def by_ranges(response: Answer) -> Found:
    """As a reader of a range does, piece by piece."""
    settings = RangeSettings(fetch_bytes=response.requested_bytes, growth_max_bytes=LIMIT)
    wanted = OffsetRange(topic_partition=TP, from_offset=response.fetch_offset, until_offset=BEYOND)
    cursor = RangeCursor(wanted, settings)
    fetched = FetchedPartition(
        partition=TP.partition,
        error_code=0,
        high_watermark=response.high_watermark,
        records=memoryview(response.data),
    )
    cursor.receive(RangeRequest(response.fetch_offset, response.requested_bytes), fetched, 0)
    found: list[tuple[int, bytes | None]] = []
    is_too_large = False
    while cursor.has_packed():
        try:
            for part in cursor.unpack():
                found += [(one.offset, one.value) for one in part.records()]
        except MessageTooLarge:
            is_too_large = True
    needed = cursor._needed_bytes if cursor.next_offset == response.fetch_offset else 0
    return Found(found, cursor.next_offset, needed, is_too_large)


@given(responses((0, 1)))
def test_streams_polls_and_ranges_find_the_same(response: Answer) -> None:
    """Records, where to go on, and how much more to ask for."""
    streams = by_streams(response)
    assert by_polls(response) == streams
    ranges = by_ranges(response)
    assert ranges.is_too_large == streams.is_too_large
    assert (ranges.records, ranges.next_offset) == (streams.records, streams.next_offset)
    # A range asks for one partition: what did not come though asked for is asked for twice.
    assert ranges.needed_bytes in {streams.needed_bytes, 2 * response.requested_bytes}


@given(responses((2,)))
def test_polls_and_ranges_find_the_same_in_batches(response: Answer) -> None:
    """The same of format 2, which streams never ask for."""
    polls, ranges = by_polls(response), by_ranges(response)
    assert ranges.is_too_large == polls.is_too_large
    assert (ranges.records, ranges.next_offset) == (polls.records, polls.next_offset)
    assert ranges.needed_bytes in {polls.needed_bytes, 2 * response.requested_bytes}
