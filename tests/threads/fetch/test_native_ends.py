"""The pump with slots that have an end: nothing from there on is requested, kept, or judged."""

from collections.abc import Iterable
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.support.chunks import T0, T1, claim_of
from tests.support.fetch_bench import wait_for
from tests.support.pump_bench import (
    CALLED,
    FIRST_BOUNDED,
    PART_BYTES,
    PumpBench,
    Slot,
    new_queue,
    offsets_of,
    pump_bench,
    slot,
)
from tests.support.queues import needs_native_engine
from tests.support.record_sets import wrapper_around
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.core.delegated import Returned
from zkconsumer.fetch.core.partition_state import PartitionState
from zkconsumer.fetch.core.pumped_exchange import slot_of
from zkconsumer.model import Record, TimestampType, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import build_batch
from zkconsumer.records.codecs import Codec, compress
from zkconsumer.wire.absent import NO_OFFSET
from zkconsumer.wire.messages.fetch import FetchedPartition, FetchedTopic, FetchResponse

if TYPE_CHECKING:
    from zkconsumer.native._core import Queue

pytestmark = needs_native_engine

FILLED = PART_BYTES - PART_BYTES // 8
"""The fewest bytes by which a partition counts as one that lags behind."""
FORMATS = pytest.mark.parametrize("magic", [0, 1, 2])
VERSIONS = pytest.mark.parametrize("version", [0, 4, 11, 13])
ID = bytes(range(16))
T2 = TopicPartition("t", 2)
MOST = (1 << 63) - 1


def entries(
    *offsets: int,
    magic: int = 0,
    codec: Codec = Codec.NONE,
    value: bytes = b"",
    together: bool = False,
) -> bytes:
    """Return an entry for each offset, or one for all; with each record's value."""
    if not together:
        return b"".join(
            entries(offset, magic=magic, codec=codec, value=value, together=True)
            for offset in offsets
        )
    stamp = (1_600_000_000_000, TimestampType.CREATE_TIME) if magic else (-1, TimestampType.NONE)
    rows = [Record(offset, None, value, *stamp) for offset in offsets]
    if magic == 2:
        return build_batch(rows, codec=codec)
    return build_message_set(rows, magic=magic, codec=codec)


def filled(*offsets: int, magic: int = 0, size: int = FILLED) -> bytes:
    """Return entries that take at least so many bytes."""
    return entries(*offsets, magic=magic, value=bytes(size // len(offsets)))


def sized(*offsets: int, each: int = 1024) -> bytes:
    """Return entries that take so many bytes each."""
    overhead = len(entries(0))
    return entries(*offsets, value=bytes(each - overhead))


def damaged(entry: bytes) -> bytes:
    """Return an entry that does not have its CRC any more."""
    return entry[:-1] + bytes([entry[-1] ^ 1])


def all_offsets(queue: "Queue") -> list[int]:
    """Take all chunks, and return the offsets of their records."""
    found: list[int] = []
    while queue.queued_bytes:
        found += offsets_of(queue)
    return found


class Asked(NamedTuple):
    """What a request names of a partition."""

    offset: int
    max_bytes: int


def next_request(bench: PumpBench) -> tuple[dict[int, Asked], int]:
    """Receive the next request; return its partitions, and how long the broker may wait."""
    request = bench.receive().request
    parts = [part for topic in request.topics for part in topic.partitions]
    named = {part.partition: Asked(part.fetch_offset, part.max_bytes) for part in parts}
    return named, request.max_wait_ms


def asked_sizes(bench: PumpBench) -> dict[int, Asked]:
    """Receive the next request; return its partitions."""
    return next_request(bench)[0]


def ended(bench: PumpBench) -> list[Returned]:
    """Return the partitions of a run that ended without a call, with nothing in flight."""
    kind, _, is_for_us, *_ = bench.ended()
    assert (kind, is_for_us) == (CALLED, True)
    assert bench.is_silent()
    return bench.unloaded()


def is_over(back: Returned) -> bool:
    """Whether a partition is at its end, and nothing of it is left for anybody."""
    return back == Returned(back.fetch_offset, 0, turn=back.turn)


def range_of(
    until_offset: int, place: int = 0, tp: TopicPartition = T0, *, is_behind: bool = True
) -> Slot:
    """Return a partition that is read up to an offset."""
    return slot(claim_of(tp), place, is_behind=is_behind, until_offset=until_offset)


def tail(place: int = 0, tp: TopicPartition = T1, *, is_behind: bool = True) -> Slot:
    """Return a partition without an end."""
    return slot(claim_of(tp), place, is_behind=is_behind)


# --- the state -----------------------------------------------------------------------------------


def test_a_slot_has_the_end_of_its_partition() -> None:
    """Which has none unless somebody set it."""
    state, claim = PartitionState(T0), claim_of()
    assert slot_of(state, 0, claim, 0)[-1] == NO_OFFSET
    state.until_offset = 0
    assert slot_of(state, 0, claim, 0)[-1] == 0


# --- requests ------------------------------------------------------------------------------------


@FORMATS
@VERSIONS
def test_a_run_ends_at_its_end(version: int, magic: int) -> None:
    """Though the last response was filled, and reaches beyond the end."""
    queue = new_queue()
    with pump_bench() as bench:
        bench.load([queue], [range_of(6)], name=ID, ends_at_head=True)
        bench.start(version)
        assert asked_sizes(bench) == {0: Asked(0, PART_BYTES)}
        cut_off = filled(3, 4, magic=magic)[:100]
        bench.respond({0: filled(0, 1, 2, magic=magic) + cut_off})
        assert asked_sizes(bench) == {0: Asked(3, PART_BYTES)}
        bench.respond({0: filled(3, 4, 5, 6, 7, magic=magic)})
        [back] = ended(bench)
    assert (back.fetch_offset, is_over(back)) == (8, True)
    assert all_offsets(queue) == list(range(8))


@pytest.mark.parametrize("until", [5, 6])
def test_an_end_is_exclusive(until: int) -> None:
    """The set ends at offset 5: one offset more has to be requested."""
    with pump_bench() as bench:
        bench.load([new_queue()], [range_of(until)], ends_at_head=True)
        bench.start()
        bench.receive()
        bench.respond({0: filled(0, 1, 2, 3, 4)})
        if until > 5:
            assert bench.asked() == {0: 5}
            bench.respond({0: filled(5)})
        [back] = ended(bench)
    assert (back.fetch_offset, is_over(back)) == (until, True)


@FORMATS
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_an_end_inside_an_entry_is_behind_it(codec: Codec, magic: int) -> None:
    """Nothing is cut: the records behind the end are their reader's to drop."""
    queue = new_queue()
    together = magic == 2 or codec is not Codec.NONE
    first = entries(*range(10), magic=magic, codec=codec, together=together)
    second = entries(*range(10, 20), magic=magic, codec=codec, together=together)
    with pump_bench() as bench:
        bench.load([queue], [range_of(15)], ends_at_head=True)
        bench.start()
        bench.receive()
        bench.respond({0: first + second})
        [back] = ended(bench)
    assert (back.fetch_offset, is_over(back)) == (20, True)
    assert all_offsets(queue) == list(range(20))


@VERSIONS
def test_a_slot_at_its_end_is_in_no_request(version: int) -> None:
    """Neither in an early one nor in the one after it; the others' may wait at the broker."""
    queue = new_queue()
    with pump_bench() as bench:
        bench.load([queue], [range_of(2), tail()], name=ID, ends_at_head=True)
        bench.start(version)
        assert bench.asked() == {0: 0, 1: 0}
        bench.respond({0: filled(0, 1), 1: filled(0, 1)})
        assert next_request(bench) == ({1: Asked(2, PART_BYTES)}, 100)
        bench.respond({1: filled(2, 3)})
        assert next_request(bench) == ({1: Asked(4, PART_BYTES)}, 100)
        bench.respond({1: b""}, log_end=4)
        over, at_head = ended(bench)
    assert (over.fetch_offset, is_over(over)) == (2, True)
    assert (at_head.fetch_offset, at_head.is_behind) == (4, False)


def test_a_slot_at_its_end_is_in_no_ordinary_request() -> None:
    """Its set is the only one that arrived, so that no request is early."""
    with pump_bench() as bench:
        bench.load([new_queue()], [range_of(2), tail()])
        bench.start()
        assert bench.asked() == {0: 0, 1: 0}
        for _ in range(3):
            bench.respond({0: entries(0, 1), 1: b""})
            assert next_request(bench) == ({1: Asked(0, PART_BYTES)}, 100)


@pytest.mark.parametrize(("until", "max_wait_ms"), [(3, 100), (4, 0), (NO_OFFSET, 0)])
def test_a_set_that_waits_and_reaches_the_end_is_no_reason_not_to_wait(
    until: int, max_wait_ms: int
) -> None:
    """Nothing is to be requested once it is in its queue; else something would be."""
    queues = [new_queue(1), new_queue()]
    slots = [range_of(1), range_of(until, 0, T1), tail(1, T2)]
    with pump_bench() as bench:
        bench.load(queues, slots)
        bench.start()
        assert bench.asked() == {0: 0, 1: 0, 2: 0}
        bench.respond({0: entries(0), 1: b"", 2: b""})
        # The queue is full from now on.
        assert bench.asked() == {1: 0, 2: 0}
        bench.respond({1: entries(0, 1, 2), 2: b""})
        assert next_request(bench) == ({2: Asked(0, PART_BYTES)}, max_wait_ms)


@pytest.mark.parametrize(("until", "max_wait_ms"), [(3, 100), (4, 0)])
def test_so_may_its_early_set(until: int, max_wait_ms: int) -> None:
    """The last set that arrived tells whether anything more is needed."""
    queues = [new_queue(1), new_queue()]
    slots = [range_of(1), range_of(until, 0, T1), tail(1, T2)]
    with pump_bench() as bench:
        bench.load(queues, slots)
        bench.start()
        assert bench.asked() == {0: 0, 1: 0, 2: 0}
        bench.respond({0: entries(0), 1: entries(0), 2: b""})
        assert bench.asked() == {1: 1, 2: 0}
        bench.respond({1: entries(1, 2), 2: b""})
        assert next_request(bench) == ({2: Asked(0, PART_BYTES)}, max_wait_ms)


def test_a_slot_at_its_end_does_not_wait_for_its_queue() -> None:
    """Others fill it, and need nothing else, either."""
    queues = [new_queue(1), new_queue()]
    slots = [range_of(1), range_of(1, 0, T1), tail(1, T2)]
    with pump_bench() as bench:
        bench.load(queues, slots)
        bench.start()
        assert bench.asked() == {0: 0, 1: 0, 2: 0}
        bench.respond({0: entries(0), 1: entries(0), 2: b""})
        assert next_request(bench) == ({2: Asked(0, PART_BYTES)}, 100)


@pytest.mark.parametrize("max_chunks", [1, 1_000])
def test_a_run_of_slots_at_their_ends_requests_nothing(max_chunks: int) -> None:
    """The set that one was loaded with is dropped, whether its queue is full or not."""
    queue, claims = new_queue(max_chunks), [claim_of(T0), claim_of(T1)]
    for claim in claims:
        queue.adopt(claim)
    assert queue.put_set(claims[0], entries(0), 0) is None
    with pump_bench() as bench:
        slots = [
            slot(claims[0], offset=3, is_behind=True, until_offset=3),
            range_of(0, 0, T2),
            slot(claims[1], 0, entries(3, 4), 3, is_behind=True, until_offset=2),
        ]
        bench.load([queue], slots, ends_at_head=True)
        bench.start()
        back = ended(bench)
    assert [part.fetch_offset for part in back] == [3, 0, 3]
    assert {part.packed for part in back} == {None}
    assert all_offsets(queue) == [0]


# --- the end of a run ----------------------------------------------------------------------------


def test_a_run_ends_as_soon_as_one_is_at_its_end_and_the_other_at_the_head() -> None:
    """The broker would keep a request for what is not there: early or not, none is sent."""
    queue = new_queue()
    with pump_bench() as bench:
        bench.load([queue], [range_of(2), tail()], ends_at_head=True)
        bench.start()
        bench.receive()
        bench.respond({0: filled(0, 1, 2), 1: entries(0)})
        over, at_head = ended(bench)
        bench.load([queue], [tail(is_behind=False)], ends_at_head=True)
        bench.start()
        assert bench.asked() == {1: 0}, "what is loaded later is another run's"
    assert (over.fetch_offset, is_over(over)) == (3, True)
    assert (at_head.fetch_offset, at_head.is_behind) == (1, False)


@pytest.mark.parametrize("is_sound", [True, False])
def test_a_run_goes_on_until_the_last_set_is_in_its_queue(*, is_sound: bool) -> None:
    """Nobody calls the pump: it notices the capacity, and then the end."""
    queue = new_queue(1)
    with pump_bench() as bench:
        bench.load([queue], [range_of(1), range_of(2, 0, T1)], ends_at_head=True)
        bench.start()
        bench.receive()
        # Behind the end it is damaged, and most of it is there: it was filled all the same.
        last = filled(0, 1, 2) if is_sound else entries(0, 1, 2, 3) + filled(1)
        bench.respond({0: filled(0), 1: last})
        await_chunk(queue)
        assert bench.is_silent()
        taken = [take_next(queue) for _ in range(2)]
        back = ended(bench)
    assert taken == [[0], [0, 1, 2]]
    assert [(part.fetch_offset, is_over(part)) for part in back] == [(1, True), (3, True)]


def take_next(queue: "Queue") -> list[int]:
    """Await the next chunk, and return the offsets of its records."""
    await_chunk(queue)
    return offsets_of(queue)


def await_chunk(queue: "Queue") -> None:
    """Await a chunk; an early request is sent before that."""
    wait_for(lambda: queue.queued_bytes, "a chunk")


def test_what_does_not_fit_behind_the_end_is_dropped() -> None:
    """The front of a chunk reaches the end; the rest would wait for its queue."""
    queue = new_queue()
    queue.set_share(3_000)
    with pump_bench() as bench:
        bench.load([queue], [range_of(1)], ends_at_head=True)
        bench.start()
        bench.receive()
        bench.respond({0: sized(0, 1, 2, 3)})
        [back] = ended(bench)
        queued = all_offsets(queue)
    assert back.fetch_offset < 4, "all of it fits: this tests nothing"
    assert queued == list(range(back.fetch_offset))
    assert is_over(back)


def test_without_the_wish_an_end_ends_no_run() -> None:
    """The pump waits to be called, with nothing in flight."""
    queue = new_queue()
    with pump_bench() as bench:
        bench.load([queue], [range_of(2)])
        bench.start()
        bench.receive()
        bench.respond({0: filled(0, 1)})
        await_chunk(queue)
        assert bench.is_silent()
        bench.pump.call()
        [back] = ended(bench)
    assert (back.fetch_offset, is_over(back)) == (2, True)


# --- gaps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, FIRST_BOUNDED, 4, 11, 13])
def test_an_empty_response_in_front_of_the_end_ends_the_run(version: int) -> None:
    """The log goes on: whether there is a gap is Python's to find out."""
    with pump_bench() as bench:
        bench.load([new_queue()], [range_of(10)], name=ID, ends_at_head=True)
        bench.start(version)
        bench.receive()
        bench.respond({0: b""}, log_end=100)
        [back] = ended(bench)
    assert back == Returned(0, 0)


def test_an_empty_response_leaves_the_others_behind() -> None:
    """The one that got nothing comes first in the next request, as ever."""
    with pump_bench() as bench:
        bench.load([new_queue()], [tail(0, T0), range_of(10, 0, T1)], ends_at_head=True)
        bench.start(FIRST_BOUNDED)
        assert [*bench.asked()] == [0, 1]
        bench.respond({0: filled(0), 1: b""})
        assert [*bench.asked().items()] == [(1, 0), (0, 1)]
        bench.respond({1: b"", 0: b""}, log_end=1)
        back = ended(bench)
    assert [part.is_behind for part in back] == [False, False]


# --- sizes ---------------------------------------------------------------------------------------

PART = 1 << 18
COUNT = 224
"""So many entries of 1024 bytes fill seven eighths of such a part."""
LEAST = 64 * 1024
LOG_END = 1_000


def size_for(left: int, bytes_per_offset: int = 1024) -> int:
    """Return the size of a request for so many offsets, as ``RangeBounds.size_at``."""
    return min(PART, int(left * bytes_per_offset * 1.25) + LEAST)


@VERSIONS
@pytest.mark.parametrize("left", [1, 16, 153, 154, 10_000])
def test_the_last_requests_are_sized(left: int, version: int) -> None:
    """Early or not: by the bytes that an offset took before, and never more than a part."""
    with pump_bench() as bench:
        bench.load([new_queue()], [range_of(COUNT + left)], name=ID, part_bytes=PART)
        bench.start(version)
        assert asked_sizes(bench) == {0: Asked(0, PART)}
        bench.respond({0: sized(*range(COUNT))}, log_end=COUNT)
        for _ in range(2):
            assert asked_sizes(bench) == {0: Asked(COUNT, size_for(left))}
            bench.respond({0: b""}, log_end=COUNT)
    assert size_for(153) < PART == size_for(154)


def test_without_an_end_a_request_has_its_part() -> None:
    """Whatever has come before."""
    with pump_bench() as bench:
        bench.load([new_queue()], [tail(0, T0)], part_bytes=PART)
        bench.start()
        bench.receive()
        bench.respond({0: sized(*range(COUNT))}, log_end=LOG_END)
        assert asked_sizes(bench) == {0: Asked(COUNT, PART)}


def test_sizes_follow_the_last_set() -> None:
    """Its bytes up to the end of its last whole entry, by the offsets from the request on."""
    with pump_bench() as bench:
        bench.load([new_queue()], [range_of(100)], part_bytes=PART)
        bench.start()
        bench.receive()
        bench.respond({0: sized(4, 9) + sized(10)[:-1]})  # compacted: 2048 bytes in 10 offsets
        assert asked_sizes(bench) == {0: Asked(10, size_for(90, 204) + 90)}
        bench.respond({0: sized(*range(10, 20), each=2_000)}, log_end=LOG_END)
        assert asked_sizes(bench) == {0: Asked(20, size_for(80, 2_000))}


def test_an_early_set_tells_sizes_too() -> None:
    """It waits behind another one, for a queue that another partition has filled."""
    queue = new_queue(1)
    with pump_bench() as bench:
        bench.load([queue], [range_of(1), range_of(31, 0, T1)], part_bytes=PART)
        bench.start()
        bench.receive()
        bench.respond({0: sized(0), 1: sized(*range(10))}, log_end=LOG_END)
        assert asked_sizes(bench) == {1: Asked(10, size_for(21))}
        bench.respond({1: sized(*range(10, 30), each=4_000)}, log_end=LOG_END)
        assert [len(take_next(queue)) for _ in range(3)] == [1, 10, 20]
        assert asked_sizes(bench) == {1: Asked(30, size_for(1, 4_000))}


@pytest.mark.parametrize(
    ("offset", "until", "size"),
    [
        (0, MOST, PART),
        (MOST - 1_000, MOST, PART),
        (1 << 62, MOST, LEAST + 1_279),  # one entry in as many offsets as are left, almost
        (MOST - 2, MOST, LEAST),
    ],
)
def test_no_offset_is_too_large(offset: int, until: int, size: int) -> None:
    """Hostile ones are not, either."""
    start = MOST - 1_010 if offset == MOST - 1_000 else 0
    with pump_bench() as bench:
        one = slot(claim_of(), offset=start, until_offset=until)
        bench.load([new_queue()], [one], part_bytes=PART)
        bench.start()
        bench.receive()
        bench.respond({0: sized(offset)}, log_end=MOST)
        asked = asked_sizes(bench)
    assert asked[0].offset == offset + 1
    assert abs(asked[0].max_bytes - size) <= (offset == 1 << 62) or size == PART
    assert asked[0].max_bytes <= PART


def test_the_next_entry_is_requested_whole() -> None:
    """As far as it is known how large it is: by the set in front of it, early or not."""
    large = sized(COUNT, each=150_000)
    with pump_bench() as bench:
        bench.load([new_queue()], [range_of(COUNT + 1)], part_bytes=PART)
        bench.start(FIRST_BOUNDED)
        bench.receive()
        bench.respond({0: sized(*range(COUNT)) + large[:100]}, log_end=LOG_END)
        for _ in range(3):
            assert asked_sizes(bench) == {0: Asked(COUNT, len(large))}
            bench.respond({0: b""}, log_end=COUNT + 1)


def test_an_entry_that_is_too_large_for_what_is_left_is_requested_again() -> None:
    """By its size, once: a broker that cuts it off again has it judged by Python."""
    queue, large = new_queue(), sized(COUNT, each=150_000)
    with pump_bench() as bench:
        bench.load([queue], [range_of(COUNT + 2)], part_bytes=PART, ends_at_head=True)
        bench.start()
        bench.receive()
        bench.respond({0: sized(*range(COUNT))}, log_end=LOG_END)
        assert asked_sizes(bench) == {0: Asked(COUNT, size_for(2))}
        bench.respond({0: large[: size_for(2)]}, log_end=LOG_END)
        assert asked_sizes(bench) == {0: Asked(COUNT, len(large))}
        bench.respond({0: large}, log_end=LOG_END)
        assert asked_sizes(bench) == {0: Asked(COUNT + 1, size_for(1, len(large)))}
        bench.respond({0: sized(COUNT + 1, each=150_000)[:1_000]}, log_end=LOG_END)
        [back] = ended(bench)
    assert (back.fetch_offset, back.is_unsupported) == (COUNT + 1, True)
    assert all_offsets(queue) == list(range(COUNT + 1))


@pytest.mark.parametrize("is_enough", [True, False])
def test_a_sized_request_may_be_filled(is_enough: bool) -> None:
    """Seven eighths of what was really requested: there is more before the end."""
    requested = size_for(16)
    least = requested - requested // 8
    with pump_bench() as bench:
        bench.load([new_queue()], [range_of(COUNT + 16)], part_bytes=PART, ends_at_head=True)
        bench.start()
        bench.receive()
        bench.respond({0: sized(*range(COUNT))}, log_end=LOG_END)
        assert asked_sizes(bench) == {0: Asked(COUNT, requested)}
        bench.respond({0: sized(COUNT, each=least if is_enough else least - 1)}, log_end=LOG_END)
        if is_enough:
            assert bench.asked() == {0: COUNT + 1}
            return
        [back] = ended(bench)
    assert (back.fetch_offset, back.is_behind) == (COUNT + 1, False)


@pytest.mark.parametrize("until", [COUNT + 16, NO_OFFSET])
def test_an_early_request_needs_capacity_for_what_it_names(until: int) -> None:
    """A part of each would be too much for the queue; the rest of the ranges is not."""
    sets = 2 * COUNT * 1024
    queue = new_queue(1)
    queue.set_share(2 * (sets + 2 * PART - 1))
    with pump_bench() as bench:
        slots = [range_of(until), range_of(until, 0, T1)]
        bench.load([queue], slots, part_bytes=PART)
        bench.start()
        bench.receive()
        bench.respond({0: sized(*range(COUNT)), 1: sized(*range(COUNT))}, log_end=LOG_END)
        if until == NO_OFFSET:
            await_chunk(queue)
            assert bench.is_silent()
            assert len(take_next(queue)) == COUNT
            assert bench.asked() == {0: COUNT, 1: COUNT}
        else:
            assert asked_sizes(bench) == dict.fromkeys((0, 1), Asked(COUNT, size_for(16)))


def test_a_set_that_reaches_the_end_needs_capacity_for_nothing_else() -> None:
    """Of two partitions one goes on, and a part of it fits into the queue."""
    queue = new_queue(1)
    queue.set_share(2 * (2 * COUNT * 1024 + PART))
    with pump_bench() as bench:
        bench.load([queue], [range_of(COUNT), tail()], part_bytes=PART)
        bench.start()
        bench.receive()
        full = sized(*range(COUNT))
        bench.respond({0: full, 1: full}, log_end=LOG_END)
        assert asked_sizes(bench) == {1: Asked(COUNT, PART)}


# --- damage --------------------------------------------------------------------------------------


@FORMATS
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("until", [5, 6])
def test_damage_behind_the_end_is_none_of_ours(until: int, codec: Codec, magic: int) -> None:
    """In front of it Python judges it, as ever."""
    queue = new_queue()
    sound = entries(0, 1, 2, 3, 4, magic=magic, codec=codec)
    bad = damaged(entries(5, magic=magic, codec=codec)) + entries(6, magic=magic, codec=codec)
    with pump_bench() as bench:
        bench.load([queue], [range_of(until)], ends_at_head=True)
        bench.start()
        bench.receive()
        bench.respond({0: sound + bad})
        [back] = ended(bench)
    assert back.fetch_offset == 5
    assert all_offsets(queue) == [0, 1, 2, 3, 4]
    if until == back.fetch_offset:
        assert is_over(back)
    else:
        assert back.is_unsupported
        assert back.packed is not None
        assert back.packed[3] == len(sound)


@FORMATS
def test_damage_of_the_entry_that_holds_the_end_is_judged(magic: int) -> None:
    """It begins in front of the end."""
    sound = entries(0, 1, magic=magic, codec=Codec.GZIP, together=True)
    bad = damaged(entries(2, 3, 4, magic=magic, codec=Codec.GZIP, together=True))
    with pump_bench() as bench:
        bench.load([new_queue()], [range_of(3)], ends_at_head=True)
        bench.start()
        bench.receive()
        bench.respond({0: sound + bad})
        [back] = ended(bench)
    assert (back.fetch_offset, back.is_unsupported) == (2, True)


BEHIND = [
    pytest.param((3,), id="offsets that descend"),
    pytest.param((7, 2, 3), id="offsets that descend later"),
    pytest.param((500,), id="an offset behind the log's end"),
    pytest.param((7, MOST), id="the largest offset"),
]


@FORMATS
@pytest.mark.parametrize("more", BEHIND)
def test_misplaced_offsets_behind_the_end_are_none_of_ours(more: Iterable[int], magic: int) -> None:
    """And no record among them passes for one in front of the end."""
    queue = new_queue()
    data = filled(0, 1, 2, 3, 4, 5, magic=magic) + entries(*more, magic=magic)
    with pump_bench() as bench:
        bench.load([queue], [range_of(5)], ends_at_head=True)
        bench.start()
        bench.receive()
        bench.respond({0: data})
        [back] = ended(bench)
    assert is_over(back)
    queued = all_offsets(queue)
    assert queued[:5] == [0, 1, 2, 3, 4]
    assert sorted(set(queued)) == queued


@FORMATS
@pytest.mark.parametrize(
    ("until", "offsets"),
    [
        pytest.param(8, (0, 1, 2, 90, 3, 4), id="either of two may be wrong"),
        pytest.param(4, (0, 1, 2, 1, 3, 4), id="one that descends"),
        pytest.param(600, (0, 1, 2, 500, 501), id="behind the log's end"),
        pytest.param(3, (500,), id="the first one"),
    ],
)
def test_misplaced_offsets_in_front_of_the_end_are_judged(
    until: int, offsets: Iterable[int], magic: int
) -> None:
    """Python has all that arrived."""
    data = filled(*offsets, magic=magic)
    with pump_bench() as bench:
        bench.load([new_queue()], [range_of(until)], ends_at_head=True)
        bench.start()
        bench.receive()
        bench.respond({0: data})
        [back] = ended(bench)
    assert (back.fetch_offset, back.is_unsupported) == (0, True)
    assert back.packed is not None
    assert bytes(back.packed[0]) == data


def test_an_early_set_with_damage_behind_the_end_is_kept() -> None:
    """It need not be requested again; of one with damage in front of the end that is needed."""
    queue = new_queue(1)
    slots = [range_of(1), range_of(3, 0, T1), range_of(9, 0, T2)]
    with pump_bench() as bench:
        bench.load([queue], slots, ends_at_head=True)
        bench.start()
        bench.receive()
        bench.respond({0: filled(0), 1: filled(0), 2: filled(0)})
        assert bench.asked() == {1: 1, 2: 1}
        bench.respond({1: filled(1, 2, 3) + entries(1), 2: filled(1, 2, 3) + entries(1)})
        taken = [take_next(queue) for _ in range(3)]
        assert bench.asked() == {2: 1}
        taken.append(take_next(queue))
        bench.respond({2: filled(*range(1, 9))})
        taken.append(take_next(queue))
        back = ended(bench)
    assert taken[:3] == [[0], [0], [0]]
    assert taken[3][:2] == [1, 2]
    assert sorted(set(taken[3])) == taken[3]
    assert taken[4] == [*range(1, 9)]
    assert all(is_over(part) for part in back)


@pytest.mark.parametrize("until", [5, 6])
def test_a_large_entry_behind_the_end_is_none_of_ours(until: int) -> None:
    """In front of it it is Python's, as a part of a response is too small."""
    large = sized(5, each=1 << 17)
    with pump_bench() as bench:
        bench.load([new_queue()], [range_of(until)], ends_at_head=True)
        bench.start()
        bench.receive()
        bench.respond({0: filled(0, 1, 2, 3, 4) + large[:100]})
        [back] = ended(bench)
    assert back.fetch_offset == 5
    expected = (0, False) if until == back.fetch_offset else (len(large), True)
    assert (back.needed_bytes, back.is_behind) == expected


def test_an_error_behind_the_end_is_none_of_ours() -> None:
    """An old client's wrapper hides its last offset: an early request asks for what is in it."""
    inner = entries(*range(5), magic=1, value=Random(1).randbytes(4_000))
    wrapper = wrapper_around(0, compress(Codec.GZIP, inner, magic=1), magic=1)
    queue = new_queue()
    with pump_bench() as bench:
        bench.load([queue], [range_of(3)], ends_at_head=True)
        bench.start()
        bench.receive()
        bench.respond({0: wrapper})
        assert bench.asked() == {0: 1}
        await_chunk(queue)
        part = FetchedPartition(
            partition=0,
            error_code=ErrorCode.NOT_LEADER_FOR_PARTITION,
            high_watermark=-1,
            records=memoryview(b""),
        )
        bench.send(FetchResponse(topics=(FetchedTopic(topic="t", partitions=(part,)),)))
        [back] = ended(bench)
    assert (back.fetch_offset, is_over(back)) == (5, True)
    assert all_offsets(queue) == [0, 1, 2, 3, 4]
