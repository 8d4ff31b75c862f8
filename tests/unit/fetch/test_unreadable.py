"""Records that cannot be read: when that is believed, where reading continues, what is lost."""

import dataclasses
import struct
from random import Random

import pytest

from tests.support.chunks import T0, claim_of
from tests.support.fetch_responses import chunks_in, fetched, receive, requested
from tests.support.manual_fetcher import ManualFetcher
from tests.support.record_sets import gzip_of, records, wrapper_around
from zkconsumer.errors import CorruptRecord, MessageTooLarge, PartitionFailed, UnsupportedCodec
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.build import build_message_set, wrap_message_set
from zkconsumer.records.build_batch import build_batch
from zkconsumer.records.codecs import Codec

SKIP = FetchSettings(max_partition_bytes=10_000, growth_max_bytes=20_000, skip_poison=True)
RAISE = dataclasses.replace(SKIP, skip_poison=False)


def flipped(data: bytes, at: int) -> bytes:
    """Return the bytes with one bit changed."""
    at %= len(data)
    return data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :]


class Reader:
    """Reads one partition from entries of a log until nothing more comes."""

    def __init__(self, settings: FetchSettings, *entries: tuple[int, bytes]) -> None:
        self.claim: PartitionClaim = claim_of()
        self.fetcher = ManualFetcher(settings)
        self.fetcher.add(self.claim, 0)
        self.entries = entries
        self.chunks: list[Chunk] = []
        self.fetches = 0

    def run(self) -> "Reader":
        """Fetch until the end of the log, or until the partition stops."""
        while (request := self.fetcher.fetch_request()) is not None:
            wanted = requested(request)[T0]
            data = b"".join(entry for last, entry in self.entries if last >= wanted.fetch_offset)
            if not data:
                break
            self.fetches += 1
            assert self.fetches < 100
            response = fetched(T0, data[: wanted.max_bytes])
            for chunk in chunks_in(receive(self.fetcher, request, response)):
                self.chunks.append(chunk)
                self.fetcher.delivered(chunk)
        return self

    @property
    def offsets(self) -> list[int]:
        """The delivered offsets."""
        return [record.offset for chunk in self.chunks for record in chunk.records]

    @property
    def poisons(self) -> list[tuple[int, int | None]]:
        """Offsets that could not be read, and where reading continued."""
        return [
            (chunk.poison.offset, chunk.poison.next_offset) for chunk in self.chunks if chunk.poison
        ]

    def check_ends(self) -> None:
        """Check that every chunk begins where the previous one ended."""
        ends = [0, *(chunk.next_offset for chunk in self.chunks)]
        assert [chunk.fetch_offset for chunk in self.chunks] == ends[:-1]


def single_entries(*offsets: int) -> list[tuple[int, bytes]]:
    """Return entries of one message each."""
    return [(offset, build_message_set(records(offset))) for offset in offsets]


def test_a_damaged_message_is_skipped_the_second_time() -> None:
    """All others are delivered; the poison has its offset, cause and bytes."""
    entries = single_entries(0, 1, 2, 3)
    entries[2] = (2, flipped(entries[2][1], -1))
    reader = Reader(SKIP, *entries).run()
    assert reader.offsets == [0, 1, 3]
    assert reader.poisons == [(2, 3)]
    reader.check_ends()
    (poison,) = [chunk.poison for chunk in reader.chunks if chunk.poison]
    assert isinstance(poison.error, PartitionFailed)
    assert isinstance(poison.error.__cause__, CorruptRecord)
    assert (poison.topic_partition, poison.raw, poison.raw_is_whole) == (T0, entries[2][1], True)
    assert [chunk.size_bytes for chunk in reader.chunks if chunk.poison] == [len(entries[2][1])]
    assert not reader.claim.halted


def test_with_raise_the_partition_stops_before_the_message() -> None:
    """The poison names where one could continue, and the claim is halted."""
    entries = single_entries(0, 1, 2)
    entries[1] = (1, flipped(entries[1][1], -1))
    reader = Reader(RAISE, *entries).run()
    assert (reader.offsets, reader.poisons) == ([0], [(1, 2)])
    assert (reader.chunks[-1].next_offset, reader.claim.halted) == (1, True)


def test_a_halt_counts_once_the_stream_has_the_error() -> None:
    """A chunk that waits for capacity goes to the next fetcher, which may read it well."""
    reader = Reader(RAISE, *single_entries(0))
    reader.entries = ((0, flipped(reader.entries[0][1], -1)),)
    found: list[Chunk] = []
    for _ in range(2):
        request = reader.fetcher.fetch_request()
        assert request is not None
        found += chunks_in(receive(reader.fetcher, request, fetched(T0, reader.entries[0][1])))
    (chunk,) = found
    reader.fetcher.hold(chunk)
    assert not reader.claim.halted
    reader.fetcher.delivered(chunk)
    assert reader.claim.halted


def test_inside_of_a_compressed_set_only_the_damaged_message_is_lost() -> None:
    """The messages before and after it in the set are delivered."""
    inner = [build_message_set(records(offset)) for offset in range(5)]
    inner[2] = flipped(inner[2], -1)
    wrapped = wrap_message_set(b"".join(inner), offset=4, codec=Codec.GZIP)
    reader = Reader(SKIP, (4, wrapped), *single_entries(5)).run()
    assert reader.offsets == [0, 1, 3, 4, 5]
    assert reader.poisons == [(2, 3)]
    reader.check_ends()


def test_a_compressed_set_that_cannot_be_unpacked_is_lost_whole() -> None:
    """Its messages cannot be separated, so reading continues after the set."""
    sound = build_message_set(records(0, 1, 2, 3), codec=Codec.GZIP)
    reader = Reader(SKIP, (3, flipped(sound, -10)), *single_entries(4)).run()
    assert (reader.offsets, reader.poisons) == ([4], [(0, 4)])
    reader.check_ends()


def test_inner_messages_whose_sizes_are_damaged_end_the_set() -> None:
    """Messages before are delivered; the rest is lost, since no later boundary is known."""
    inner = build_message_set(records(0, 1)) + struct.pack(">qi", 2, 3) + bytes(50)
    reader = Reader(SKIP, (9, wrapper_around(9, gzip_of(inner))), *single_entries(10)).run()
    assert (reader.offsets, reader.poisons) == ([0, 1, 10], [(2, 10)])
    reader.check_ends()


def test_an_entry_with_an_unknown_codec_is_skipped() -> None:
    """The entry is intact but cannot be decompressed."""
    reader = Reader(SKIP, (3, wrapper_around(3, b"any", codec=6)), *single_entries(4)).run()
    assert (reader.offsets, reader.poisons) == ([4], [(0, 4)])
    (poison,) = [chunk.poison for chunk in reader.chunks if chunk.poison]
    assert isinstance(poison.error.__cause__, UnsupportedCodec)


def test_consecutive_damaged_messages_are_skipped_one_by_one() -> None:
    """Each is fetched twice."""
    entries = [(last, flipped(data, -1)) for last, data in single_entries(*range(5))]
    reader = Reader(SKIP, *entries, *single_entries(5)).run()
    assert reader.offsets == [5]
    assert reader.poisons == [(offset, offset + 1) for offset in range(5)]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_a_message_beyond_the_limit_is_skipped(codec: Codec) -> None:
    """Its header, or that of the compressed set, tells where it ends.

    The poison holds its first bytes.
    """
    noise = [Record(offset, None, bytes_of(30_000, offset)) for offset in (1, 2)]
    chosen = noise if codec is not Codec.NONE else noise[1:]
    large = build_message_set(chosen, codec=codec)
    reader = Reader(SKIP, *single_entries(0), (2, large), *single_entries(3)).run()
    assert (reader.offsets, reader.poisons) == ([0, 3], [(1, 3)])
    reader.check_ends()
    (poison,) = [chunk.poison for chunk in reader.chunks if chunk.poison]
    assert isinstance(poison.error, MessageTooLarge)
    assert (large.startswith(poison.raw), poison.raw_is_whole) == (True, False)
    assert len(poison.raw) > 1_000


def bytes_of(count: int, seed: int) -> bytes:
    """Return bytes that no codec can compress."""
    return Random(seed).randbytes(count)


def test_an_impossible_size_stops_the_partition_whatever_the_policy() -> None:
    """It is unknown where the next entry begins."""
    broken = struct.pack(">qi", 1, 5) + bytes(100)
    reader = Reader(SKIP, *single_entries(0), (1, broken), *single_entries(2)).run()
    assert (reader.offsets, reader.poisons) == ([0], [(1, None)])
    assert reader.claim.halted


def test_an_offset_contradicted_by_the_next_entry_is_not_followed() -> None:
    """A damaged entry with offset 7 instead of 3 would also skip the sound 4 to 7."""
    entries = single_entries(*range(10))
    damaged = flipped(entries[3][1], -1)
    entries[3] = 3, damaged[:7] + b"\x07" + damaged[8:]
    reader = Reader(SKIP, *entries)
    reader.claim.high_watermark = 10
    reader.run()
    assert reader.offsets == [0, 1, 2]
    poison = reader.chunks[-1].poison
    assert poison is not None
    assert (poison.offset, poison.next_offset) == (3, None)


@pytest.mark.parametrize("offset", [2**40, 101])
def test_an_impossible_offset_is_not_followed(offset: int) -> None:
    """A damaged entry with an offset beyond the log would make reading skip sound ones."""
    (_, data) = single_entries(1)[0]
    lying = struct.pack(">q", offset) + flipped(data[8:], -1)
    reader = Reader(SKIP, *single_entries(0), (1, lying), *single_entries(2)).run()
    assert (reader.offsets, reader.poisons) == ([0], [(1, None)])
    assert reader.claim.halted
    assert reader.chunks[-1].next_offset == 1


@pytest.mark.parametrize("offset", [2**40, 0, -5])
def test_a_large_size_with_an_impossible_offset_is_not_followed(offset: int) -> None:
    """This also holds for the header of an entry that cannot be fetched."""
    lying = struct.pack(">qi", offset, 10**8) + bytes(10_000)
    reader = Reader(SKIP, *single_entries(0), (1, lying)).run()
    assert (reader.offsets, reader.poisons) == ([0], [(1, None)])


def test_a_batch_that_cannot_be_fetched_stops_the_partition() -> None:
    """In magic 2 the header has only the first offset, so its end is unknown."""
    batch = struct.pack(">qiib", 1, 10**8, 0, 2) + bytes(20_000)
    reader = Reader(SKIP, *single_entries(0), (9, batch)).run()
    assert reader.poisons == [(1, None)]
    assert reader.claim.halted


def test_a_damaged_batch_that_begins_below_the_position_is_skipped() -> None:
    """A committed offset may lie within a batch, whose base offset says nothing then."""
    rows = [Record(at, None, b"a", 1_000, TimestampType.CREATE_TIME) for at in range(3)]
    reader = Reader(SKIP, (1, flipped(build_batch(rows[:2]), -1)), (2, build_batch(rows[2:])))
    reader.fetcher.add(reader.claim, 1)
    assert reader.run().offsets == [2]
    assert reader.poisons == [(1, 2)]
