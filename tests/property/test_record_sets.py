"""All readers find the same in a fetched set of any format: streams, polls and ranges."""

import random
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from tests.support.altered_messages import altered
from tests.support.flipped_logs import make_log
from tests.support.polled import BROKER, TP, part
from tests.support.single_partition import SinglePartitionFetcher
from tests.support.transaction_logs import TransactionLog, transaction_logs
from zkconsumer.errors import MessageTooLarge
from zkconsumer.fetch.claim import Poison
from zkconsumer.fetch.core import completed
from zkconsumer.fetch.core.completed import PartitionRequest
from zkconsumer.fetch.core.record_set import offset_after_damage
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.records.consumer_record import RecordOrigin
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.wire.messages.fetch import AbortedTransaction

LIMIT = 1 << 16
ROOM = 1 << 22


@dataclass(frozen=True, slots=True)
class ResponseRecords:
    """What a reader makes of one response.

    Attributes:
        records: offsets and values.
        next_offset: the next fetch offset.
        needed_bytes: the least size of the next fetch if the first entry did not fit; else 0.
        is_too_large: whether that entry can never be fetched.
        fault: the offset of the damage, the offset at which reading continues if it came twice,
            and the reason; None: there is no damage.
    """

    records: list[tuple[int, bytes | None]]
    next_offset: int
    needed_bytes: int
    is_too_large: bool = False
    fault: tuple[int, int | None, str] | None = None


@dataclass(frozen=True, slots=True)
class FetchedSet:
    """A record set as a broker sent it; ``is_again``: the one before was damaged there."""

    data: bytes
    fetch_offset: int
    requested_bytes: int
    high_watermark: int
    is_again: bool


@st.composite
def responses(draw: st.DrawFn, magics: tuple[int, ...]) -> FetchedSet:
    """Draw a part of a log, perhaps truncated, with a flipped bit, or from an earlier offset."""
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
    high_watermark = rng.choice([end, end, start, end + 5])
    return FetchedSet(bytes(data), start, max(1, len(data)), high_watermark, draw(st.booleans()))


def by_streams(response: FetchedSet) -> ResponseRecords:
    """Read it as a fetcher of streams does, piece by piece."""
    settings = FetchSettings(max_partition_bytes=response.requested_bytes, growth_max_bytes=LIMIT)
    position = SinglePartitionFetcher(settings, response.fetch_offset, committed=0)
    position.state.suspect_offset = response.fetch_offset if response.is_again else None
    position.receive(
        response.data,
        requested_bytes=response.requested_bytes,
        high_watermark=response.high_watermark,
    )
    found: list[tuple[int, bytes | None]] = []
    poison: Poison | None = None
    while position.packed is not None:
        chunk = position.unpack(ROOM)
        if chunk is not None:
            found += [(record.offset, record.value) for record in chunk.records]
            poison = chunk.poison
    is_unmoved = position.offset == response.fetch_offset
    needed = position.state.needed_bytes if is_unmoved else 0
    is_too_large = poison is not None and isinstance(poison.error, MessageTooLarge)
    fault: tuple[int, int | None, str] | None = None
    if poison is not None and not is_too_large:
        fault = (poison.offset, poison.next_offset, str(poison.error.__cause__))
    elif position.state.suspect_offset not in {
        None,
        response.fetch_offset if response.is_again else None,
    }:
        fault = (position.offset, None, "")
    return ResponseRecords(found, position.offset, needed, is_too_large, fault)


def by_core(
    response: FetchedSet, settings: CoreFetchSettings, aborted: tuple[AbortedTransaction, ...] = ()
) -> ResponseRecords:
    """Read it as a fetcher of polls does, at once, or as one of ranges, piece by piece."""
    start = PositionView(response.fetch_offset)
    requested = PartitionRequest(
        TP, start, response.requested_bytes, -1, BROKER, is_again=response.is_again
    )
    answer = altered(
        part(TP, response.data, high_watermark=response.high_watermark),
        aborted_transactions=aborted,
    )
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
    fault: tuple[int, int | None, str] | None = None
    if unpacked.corrupt is not None:
        fault = (offset, None, "")
        if response.is_again and offset == response.fetch_offset:
            behind = offset_after_damage(
                unpacked.corrupt.next_offset, offset, response.high_watermark
            )
            fault = (offset, behind, str(unpacked.corrupt))
    if offset > response.fetch_offset:
        return ResponseRecords(found, offset, 0, fault=fault)
    return ResponseRecords([], offset, unpacked.needed_bytes, unpacked.too_large is not None, fault)


@given(responses((0, 1, 2)))
def test_streams_polls_and_ranges_read_the_same(response: FetchedSet) -> None:
    """Records, next offset, needed bytes and faults are the same."""
    polls = CoreFetchSettings(growth_max_bytes=LIMIT)
    ranges = replace(polls, unpacked_bytes=1)
    committed = replace(ranges, isolation=IsolationLevel.READ_COMMITTED)
    expected = by_streams(response)
    assert by_core(response, polls) == expected
    assert by_core(response, ranges) == expected
    assert by_core(response, committed) == expected


@given(transaction_logs(), st.data())
def test_ranges_read_the_same_committed_records_as_polls(
    log: TransactionLog, data: st.DataObject
) -> None:
    """They are those of the log, for a response from any offset, of any size."""
    start = data.draw(st.integers(0, log.end))
    size = data.draw(st.integers(0, 900))
    records, named = log.fetch(start, size, names_more=data.draw(st.booleans()))
    response = FetchedSet(records, start, max(1, size), log.end, is_again=False)
    polls = CoreFetchSettings(growth_max_bytes=LIMIT, isolation=IsolationLevel.READ_COMMITTED)
    whole = by_core(response, polls, aborted=tuple(named))
    assert by_core(response, replace(polls, unpacked_bytes=1), aborted=tuple(named)) == whole
    offsets = [offset for offset, _ in whole.records]
    assert offsets == [at for at in sorted(log.committed) if start <= at < whole.next_offset]
    assert whole.fault is None
