"""Batches read by the native core: what it decodes itself, keeps, and leaves to Python."""

import gc
import random
import sys
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from itertools import pairwise

import pytest

from tests.support.batches import NOW, ROOM, of_producer, records, with_body
from tests.support.engines import check_fetched, needs_native
from tests.support.markers import build_marker
from zkconsumer.model import Record, TimestampType, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.castagnoli import crc32c
from zkconsumer.records.codecs import Codec
from zkconsumer.records.consumer_record import RecordOrigin
from zkconsumer.records.pure_fetched import decode_fetched as decode_purely
from zkconsumer.records.slices import FetchedRecords
from zkconsumer.records.transactions import IsolationLevel, Marker
from zkconsumer.wire.messages.fetch import AbortedTransaction

pytestmark = needs_native
ORIGIN = RecordOrigin(TopicPartition("clicks", 3))
CODECS = pytest.mark.parametrize("codec", list(Codec))


def fetched(data: bytes | bytearray | memoryview, room: int = ROOM) -> FetchedRecords:
    """Decode natively, from the first offset on."""
    native = import_module("zkconsumer.records.native_fetched")
    found: FetchedRecords = native.decode_fetched(data, fetch_offset=0, max_decompressed_bytes=room)
    return found


def many(count: int, *, first: int = 0) -> list[Record]:
    """Make records with gaps, nulls and texts."""
    rng = random.Random(first)
    found, offset = [], first
    for _ in range(count):
        found.append(
            Record(
                offset,
                rng.choice([None, b"", b"key %d" % offset]),
                rng.choice([None, b"", b"value of %d " % offset * 8, rng.randbytes(300)]),
                NOW + rng.randrange(-100, 100_000),
                TimestampType.CREATE_TIME,
            )
        )
        offset += rng.choice([1, 1, 1, 2, 100])
    return found


def with_unsupported_gzip(batch: bytes) -> bytes:
    """Add a checksum to a batch's gzip header, which makes the core leave it to Python."""
    front = bytes([*batch[61:64], 2, *batch[65:71]])
    checksum = (zlib.crc32(front) & 0xFFFF).to_bytes(2, "little")
    return with_body(batch, front + checksum + batch[71:])


@CODECS
def test_the_core_reads_every_codec_itself(codec: Codec) -> None:
    """Nothing of a valid set is left to Python but the decompression of zstd."""
    parts = [many(300, first=first) for first in range(0, 100_000, 20_000)]
    headers = {0: (("a", b"1"),), 299: (("b", None), ("", b""))}
    data = b"".join(build_batch(part, codec=codec, headers=headers) for part in parts)
    found = fetched(data, room=1 << 24)
    assert found.refused_at is None
    wanted = decode_purely(data, fetch_offset=0, max_decompressed_bytes=1 << 24)
    check_fetched(found, wanted, steps=(1, 298, 3, 700, 1 << 40))


def test_the_core_reads_mixed_sets_and_transactions_itself() -> None:
    """Messages among batches, markers, and aborted batches, with and without read_committed."""
    data = build_message_set(records(1, 2), magic=1, codec=Codec.GZIP)
    data += build_batch(records(3, 4), traits=of_producer(9))
    data += build_message_set(records(5), magic=0)
    data += build_batch(records(6), codec=Codec.ZSTD, traits=of_producer(9))
    data += build_marker(Marker.ABORT, 7, timestamp=NOW, traits=of_producer(9))
    data += build_batch(records(8), codec=Codec.LZ4, traits=of_producer(9))
    native = import_module("zkconsumer.records.native_fetched")
    aborted = [AbortedTransaction(producer_id=9, first_offset=3)]
    expected = {
        IsolationLevel.READ_UNCOMMITTED: [1, 2, 3, 4, 5, 6, 8],
        IsolationLevel.READ_COMMITTED: [1, 2, 5, 8],
    }
    for isolation, offsets in expected.items():
        found: FetchedRecords = native.decode_fetched(
            data,
            fetch_offset=0,
            max_decompressed_bytes=ROOM,
            isolation=isolation,
            aborted=aborted,
        )
        assert found.refused_at is None
        assert [record.offset for record in found.take(99).records(ORIGIN)] == offsets


def test_read_committed_continues_where_the_core_stopped() -> None:
    """Batches that Python reads after an unsupported one are filtered by those before it."""
    native = import_module("zkconsumer.records.native_fetched")
    data = build_batch(records(3, 4), traits=of_producer(9))
    data += with_unsupported_gzip(build_batch(records(5), codec=Codec.GZIP))
    data += build_batch(records(6), traits=of_producer(9))
    data += build_marker(Marker.ABORT, 7, timestamp=NOW, traits=of_producer(9))
    data += build_batch(records(8), traits=of_producer(9))
    found: FetchedRecords = native.decode_fetched(
        data,
        fetch_offset=0,
        max_decompressed_bytes=ROOM,
        isolation=IsolationLevel.READ_COMMITTED,
        aborted=[AbortedTransaction(producer_id=9, first_offset=3)],
    )
    assert found.refused_at is not None
    assert found.error is None
    assert [record.offset for record in found.take(99).records(ORIGIN)] == [5, 8]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD])
def test_a_batch_beyond_the_limit_is_left_for_the_next_fetch(codec: Codec) -> None:
    """The limit is of decompressed bytes; Python and the core agree."""
    first, second = (build_batch(records(*span), codec=codec) for span in (range(9), range(9, 18)))
    for room in range(0, 700, 7):
        wanted = decode_purely(first + second, fetch_offset=0, max_decompressed_bytes=room)
        check_fetched(fetched(first + second, room), wanted, steps=(1, 8, 1, 99))


def test_slices_keep_the_response_alive_and_records_do_not() -> None:
    """The bytes are released with the last slice of them; records have copies."""
    data = bytearray(build_batch(records(1, 2, 3)))
    view = memoryview(data).toreadonly()
    whole = fetched(view)
    first, rest = whole.take(1), whole.take(9)
    found = first.records(ORIGIN)
    del whole, first
    with pytest.raises(BufferError):
        data.append(0)
    assert [record.offset for record in rest.records(ORIGIN)] == [2, 3]
    del rest, view
    data.append(0)
    data[:] = bytes(len(data))
    assert found[0].value == b"value 1" * 3


@pytest.mark.parametrize("count", [1, 40])
def test_small_sets_are_charged_what_they_contain(count: int) -> None:
    """They are not charged the whole arena, whether they are a poll's or a stream's."""
    native = import_module("zkconsumer.records.native_fetched")
    data = b"".join(build_batch(records(at), codec=Codec.GZIP) for at in range(count))
    found = native.decode_fetched(data, fetch_offset=0, max_decompressed_bytes=ROOM)
    charged = found.memory_bytes
    assert charged < 1_000 * count
    held, size_bytes = found.take_records()
    assert size_bytes == held.memory_bytes == charged


def test_a_stream_keeps_no_more_of_a_large_set_than_it_takes() -> None:
    """The last record of a set that was decompressed as a whole is copied."""
    native = import_module("zkconsumer.records.native_fetched")
    every = many(2_000)
    found = native.decode_fetched(
        build_batch(every, codec=Codec.GZIP),
        fetch_offset=every[-1].offset,
        max_decompressed_bytes=1 << 24,
    )
    assert found.memory_bytes > 100_000
    held, size_bytes = found.take_records()
    assert list(held) == every[-1:]
    assert size_bytes == held.memory_bytes < 2_000


def test_bytes_that_can_change_are_copied() -> None:
    """A buffer that is reused, like a connection's, can then do no harm."""
    data = bytearray(build_batch(records(1, 2)))
    whole = fetched(data)
    data[:] = b"\xff" * len(data)
    assert [record.key for record in whole.take(2).records(ORIGIN)] == [b"k1", b"k2"]


def test_bytes_that_changed_nevertheless_are_refused() -> None:
    """A caller who writes to the buffer behind a read-only view gets an error, not a crash."""
    sound = build_batch(records(1, 2, 3), headers={1: (("h", b"v"),)})
    for byte in (0x00, 0x01, 0x7F, 0x80, 0xFF):
        data = bytearray(sound)
        whole, other = (fetched(memoryview(data).toreadonly()) for _ in range(2))
        taken = other.take(9)
        data[61:] = bytes([byte]) * (len(data) - 61)
        uses: list[Callable[[], object]] = [
            lambda whole=whole: whole.take(1),  # type: ignore[misc]
            lambda taken=taken: taken.records(ORIGIN),  # type: ignore[misc]
        ]
        for use in uses:
            with pytest.raises(BufferError, match="changed"):
                use()
        assert len(whole) == 3


def test_records_are_not_tracked_by_the_garbage_collector() -> None:
    """What they refer to is released with them at once."""
    whole = fetched(build_batch(records(1, 2)))
    made = whole.take(2).records(ORIGIN)
    assert not any(map(gc.is_tracked, made))
    value = made[0].value
    held = sys.getrefcount(value)
    del made
    assert sys.getrefcount(value) == held - 1


def test_native_objects_can_not_be_constructed() -> None:
    """Only the core creates them, since one without its data would crash."""
    core = import_module("zkconsumer.native._core")
    for kind in (core.Fetched, core.Runs, core.ConsumerRecord):
        with pytest.raises(TypeError):
            kind()
    with pytest.raises(TypeError):
        core.DecodedConsumerRecord()
    with pytest.raises(ValueError, match="not negative"):
        core.SetReader(b"", fetch_offset=-1, bound_bytes=0, enough_bytes=0)


@pytest.mark.parametrize("codec", Codec)
def test_no_codec_is_left_to_python(codec: Codec) -> None:
    """The core reads batches of each codec, with exactly enough bytes and not with fewer."""
    core = import_module("zkconsumer.native._core")
    body = build_batch(records(1, 2))[61:]
    data = build_batch(records(1, 2), codec=codec)

    def status(room: int) -> int:
        made = core.SetReader(data, fetch_offset=0, bound_bytes=room, enough_bytes=room)
        found: int = made.read()
        return found

    assert status(len(body)) == core.ENDS
    if codec is not Codec.NONE:
        assert status(len(body) - 1) == core.REFUSED


@pytest.mark.parametrize("portable", [False, True])
def test_crc32c_of_every_length_and_alignment(portable: bool) -> None:
    """The instruction and the tables agree with Python's, also for a checksum in two parts."""
    core = import_module("zkconsumer.native._core")
    assert core.CRC32C_NAME in ("sse4.2", "armv8", "portable")
    data = random.Random(1).randbytes(70_000)
    for size in (*range(100), 255, 1010, 65_536):
        for start in range(17 if size < 100 else 3):
            part = memoryview(data)[start : start + size]
            whole = crc32c(part)
            assert core.crc32c(part, portable=portable) == whole
            front = core.crc32c(part[: size // 3], portable=portable)
            assert core.crc32c(part[size // 3 :], front, portable=portable) == whole


def test_columns_of_runs_are_those_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow gets the same columns from both engines, append times and nulls included."""
    columns = import_module("zkconsumer.streams.arrow_columns")
    core = import_module("zkconsumer.native._core")
    monkeypatch.setattr(columns, "_core", core, raising=False)  # if the pure engine was chosen
    stamped = [
        Record(record.offset, record.key, record.value, NOW, TimestampType.LOG_APPEND_TIME)
        for record in many(50, first=9000)
    ]
    data = build_batch(many(70), codec=Codec.SNAPPY) + build_batch(stamped)
    data += build_message_set(records(99_000, 99_001), magic=1)
    whole = fetched(data)
    whole.take(7)
    wanted = decode_purely(data, fetch_offset=0, max_decompressed_bytes=ROOM)
    wanted.take(7)
    runs = whole.take(100).parts()
    (rows,) = wanted.take(100).parts()
    found, expected = columns.columns_of_runs(runs), columns.columns_of_rows(rows)
    assert found.count == expected.count == 100
    assert len(found.arrays) == 5
    assert dict(found.arrays) == dict(expected.arrays)
    assert found.timestamp_count == expected.timestamp_count


def test_threads_decode_while_slices_are_read() -> None:
    """Fetchers do so: every record comes once and complete, whatever other threads decode."""
    sets = [
        b"".join(
            build_batch(
                many(60, first=first), codec=codec, traits=BatchTraits(leader_epoch=int(codec))
            )
            for first in range(0, 50_000, 10_000)
        )
        for codec in Codec
    ]
    wanted = [
        decode_purely(data, fetch_offset=0, max_decompressed_bytes=1 << 24)
        .take(999)
        .records(ORIGIN)
        for data in sets
    ]

    def decode(turn: int) -> tuple[int, FetchedRecords]:
        return turn % len(sets), fetched(sets[turn % len(sets)], room=1 << 24)

    with ThreadPoolExecutor(4) as pool:
        for number, whole in pool.map(decode, range(100)):
            slices = [whole.take(37) for _ in range(10)]
            del whole
            found = [record for part in slices for record in part.records(ORIGIN)]
            assert found == wanted[number]
            assert all(record.offset < other.offset for record, other in pairwise(found))
