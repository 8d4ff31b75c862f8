"""Random damage in random logs: exactly the damaged records are lost."""

from bisect import bisect_left
from dataclasses import dataclass
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.chunks import T0, claim_of
from tests.support.fetch_responses import chunks_in, fetched, requested
from tests.support.manual_fetcher import ManualFetcher
from tests.support.shares import examples
from zkconsumer.fetch.claim import Chunk
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set, wrap_message_set
from zkconsumer.records.codecs import Codec


@dataclass(frozen=True)
class Entry:
    """An entry of the log; ``lost`` are the offsets that its damage makes unreadable."""

    offsets: tuple[int, ...]
    data: bytes
    lost: tuple[int, ...] = ()


def entry_of(rng: Random, offset: int) -> Entry:
    """Make an entry from ``offset`` on, valid or with damage after its header."""
    codec = rng.choice([Codec.NONE, Codec.GZIP, Codec.SNAPPY])
    count = 1 if codec is Codec.NONE else rng.randint(1, 5)
    offsets = tuple(range(offset, offset + count))
    inner = [
        build_message_set([Record(offset, None, bytes(rng.choice([1, 90])))]) for offset in offsets
    ]
    damage = rng.choice(["none", "none", "entry", "inner"])
    lost: tuple[int, ...] = ()
    if damage == "inner" and codec is not Codec.NONE:
        at = rng.randrange(count)
        # After offset and size, which must stay right, as they say where entries are.
        inner[at] = flipped(rng, inner[at], 16)
        lost = (offsets[at],)
    data = b"".join(inner)
    if codec is not Codec.NONE:
        data = wrap_message_set(data, offset=offsets[-1], codec=codec)
    if damage == "entry":
        data, lost = flipped(rng, data, 17), offsets
    return Entry(offsets, data, lost)


def flipped(rng: Random, data: bytes, first: int) -> bytes:
    """Flip one bit after the first bytes."""
    at = rng.randrange(first, len(data))
    return data[:at] + bytes((data[at] ^ 1 << rng.randrange(8),)) + data[at + 1 :]


def read(rng: Random, entries: list[Entry], *, skip: bool) -> list[Chunk]:
    """Read a log completely, in responses and pieces of any size."""
    sizes = FetchSettings(
        max_partition_bytes=rng.choice([200, 10_000]), growth_max_bytes=50_000, skip_poison=skip
    )
    fetcher, claim = ManualFetcher(sizes), claim_of()
    fetcher.add(claim, 0)
    ends = [entry.offsets[-1] for entry in entries]
    chunks: list[Chunk] = []
    for _ in range(10 * len(entries) + 100):
        request = fetcher.fetch_request()
        if request is None:
            return chunks
        wanted = requested(request)[T0]
        first = bisect_left(ends, wanted.fetch_offset)
        data = b"".join(entry.data for entry in entries[first:])[: wanted.max_bytes]
        if not data:
            return chunks
        response = fetched(T0, data, high_watermark=ends[-1] + 1)
        assert chunks_in(fetcher.receive_fetch(request, response)) == []
        while fetcher.packed():
            chunk = fetcher.piece(claim, rng.choice([1, 10**6]))
            if chunk is not None:
                chunks.append(chunk)
                fetcher.delivered(chunk)
    raise AssertionError("it never ended")


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_only_damaged_records_are_lost(seed: int, skip: bool) -> None:
    """With skip all other records come in order; with raise those before the damage do."""
    rng = Random(seed)
    entries: list[Entry] = []
    while len(entries) < 8:
        entries.append(entry_of(rng, entries[-1].offsets[-1] + 1 if entries else 0))
    lost = [offset for entry in entries for offset in entry.lost]
    sound = [offset for entry in entries for offset in entry.offsets if offset not in lost]
    chunks = read(rng, entries, skip=skip)
    received = [record.offset for chunk in chunks for record in chunk.records]
    ends = [0, *(chunk.next_offset for chunk in chunks)]
    assert [chunk.fetch_offset for chunk in chunks] == ends[: len(chunks)]
    poisons = [chunk.poison for chunk in chunks if chunk.poison is not None]
    if skip:
        assert received == sound
        assert [
            offset for poison in poisons for offset in range(poison.offset, poison.next_offset or 0)
        ] == lost
    else:
        assert received == [offset for offset in sound if not lost or offset < lost[0]]
        assert [poison.offset for poison in poisons] == lost[:1]
