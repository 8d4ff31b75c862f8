"""Whoever reads a fetched set finds the same in it, of every format: streams, and the others."""

import random
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from tests.support.chunks import claim_of
from tests.support.flipped_logs import make_log
from tests.support.polled import BROKER, TP
from zkconsumer.errors import MessageTooLarge
from zkconsumer.fetch.core import completed
from zkconsumer.fetch.core.completed import PartitionRequest
from zkconsumer.fetch.core.settings import PollFetchSettings
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.fetch.position import FetchPosition, take_response, unpack
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.records.consumer_record import RecordOrigin

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


@given(responses((0, 1, 2)))
def test_streams_and_the_core_of_polls_and_ranges_find_the_same(response: Answer) -> None:
    """Records, where to go on, and how much more to ask for."""
    assert by_polls(response) == by_streams(response)
