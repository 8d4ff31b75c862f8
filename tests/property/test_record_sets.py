"""Whoever reads a fetched set finds the same in it, of every format: streams, and the others."""

import random
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from tests.support.chunks import claim_of
from tests.support.flipped_logs import make_log
from tests.support.polled import BROKER, TP, part
from zkconsumer.errors import MessageTooLarge
from zkconsumer.fetch.core import completed
from zkconsumer.fetch.core.completed import PartitionRequest
from zkconsumer.fetch.core.settings import PollFetchSettings
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.fetch.position import FetchPosition, take_response, unpack
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.records.consumer_record import RecordOrigin
from zkconsumer.records.transactions import IsolationLevel

LIMIT = 1 << 16
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
            found += [(record.offset, record.value) for record in chunk.records]
            poison = chunk.poison
            is_too_large = poison is not None and isinstance(poison.error, MessageTooLarge)
    assert position.fetch_offset is not None
    is_unmoved = position.fetch_offset == response.fetch_offset
    needed = position.needed_bytes if is_unmoved else 0
    return Found(found, position.fetch_offset, needed, is_too_large)


def by_core(response: Answer, settings: PollFetchSettings) -> Found:
    """As a fetcher of polls does, at once; or of ranges, piece by piece."""
    start = PositionView(response.fetch_offset)
    requested = PartitionRequest(TP, start, response.requested_bytes, -1, BROKER)
    answer = part(TP, response.data, high_watermark=response.high_watermark)
    room = settings.unpacked_bytes or ROOM
    unpacked = completed.unpack(requested, answer, settings, room)
    found: list[tuple[int, bytes | None]] = []
    offset = response.fetch_offset
    while True:
        if unpacked.chunk is not None:
            records = unpacked.chunk.records
            made = records.take(len(records)).records(RecordOrigin(TP, None, None))
            found += [(record.offset, record.value) for record in made]
            offset = unpacked.chunk.end.offset
        if unpacked.packed is None:
            break
        unpacked = completed.unpack_piece(unpacked.packed, offset, settings, room)
    if offset > response.fetch_offset:
        return Found(found, offset, 0)
    return Found([], offset, unpacked.needed_bytes, unpacked.too_large is not None)


@given(responses((0, 1, 2)))
def test_streams_and_the_core_of_polls_and_ranges_find_the_same(response: Answer) -> None:
    """Records, where to go on, and how much more to ask for."""
    polls = PollFetchSettings(growth_max_bytes=LIMIT)
    ranges = replace(polls, unpacked_bytes=1)
    committed = replace(ranges, isolation=IsolationLevel.READ_COMMITTED)
    expected = by_streams(response)
    assert by_core(response, polls) == expected
    assert by_core(response, ranges) == expected
    assert by_core(response, committed) == expected
