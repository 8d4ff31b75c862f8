"""Runs of the native core: what they know, how they are split, and which messages they hold."""

import gc
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from tests.support.chunks import claim_of
from tests.support.engines import needs_native
from tests.support.native_chunks import cursor_on
from tests.support.record_sets import gzip_of, records, wrapper_around
from zkconsumer.model import Record, TimestampType, TopicPartition
from zkconsumer.records.build import build_message_set, wrap_message_set
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.codecs import CODECS_OF_MESSAGES, Codec
from zkconsumer.streams.message import MessageAndMetadata

if TYPE_CHECKING:
    from zkconsumer.native._core import Run

pytestmark = needs_native
MIXED = [
    Record(5, b"key", b"value"),
    Record(6, None, b""),
    Record(9, b"", None),
    Record(10, b"k" * 300, b"v" * 900),
]


def runs_of(
    data: bytes | bytearray | memoryview, fetch_offset: int = 0, piece_bytes: int = 1 << 20
) -> "list[Run]":
    """Return the runs of a sound record set."""
    core = import_module("zkconsumer.native._core")
    reader = core.SetReader(
        data,
        fetch_offset=fetch_offset,
        bound_bytes=1 << 30,
        enough_bytes=1 << 30,
        piece_bytes=piece_bytes,
    )
    assert reader.read() == core.ENDS
    made: list[Run] = reader.fetched().take(1 << 62).runs
    return made


def test_a_run_knows_its_totals() -> None:
    """Counts, offsets and sizes are known without making a message."""
    data = build_message_set(MIXED)
    (run,) = runs_of(data)
    assert len(run) == 4
    assert (run.first_offset, run.last_offset) == (5, 10)
    assert (run.key_bytes, run.value_bytes) == (303, 905)
    assert (run.null_key_count, run.null_value_count) == (1, 1)
    assert (run.size_bytes, run.timestamp_count) == (len(data), 0)
    assert run.records() == MIXED


def test_a_skipped_message_splits_a_run() -> None:
    """A message below the fetch offset belongs to no run, wherever it lies."""
    data = build_message_set([*MIXED[:2], Record(1, None, b"old"), *MIXED[2:]])
    front, back = runs_of(data, fetch_offset=4)
    assert front.records() + back.records() == MIXED


def test_timestamps_are_counted_as_the_messages_have_them() -> None:
    """The broker's timestamp of a compressed set counts for each message in it."""
    stamps = {TimestampType.CREATE_TIME: 2, TimestampType.LOG_APPEND_TIME: 3}
    some = [Record(at, None, b"v", at - 1, TimestampType.CREATE_TIME) for at in range(3)]
    for kind, expected in stamps.items():
        data = wrap_message_set(
            build_message_set(some, magic=1),
            offset=2,
            codec=Codec.GZIP,
            magic=1,
            timestamp=77,
            timestamp_type=kind,
        )
        (run,) = runs_of(data)
        assert run.timestamp_count == expected
        assert sum(record.timestamp >= 0 for record in run) == expected


@pytest.mark.parametrize("codec", CODECS_OF_MESSAGES)
@pytest.mark.parametrize("max_bytes", [0, 100, 1250, 10_000])
def test_a_run_is_split_by_size(codec: Codec, max_bytes: int) -> None:
    """Each part has at least one message, and else no more than the limit; nothing is lost."""
    (run,) = runs_of(build_message_set(MIXED, codec=codec))
    parts, left = [], len(run)
    while len(run):
        head = run.split(max_bytes)
        parts.append(head)
        left -= len(head)
        assert len(run) == left
        assert len(head) == 1 or head.size_bytes <= max_bytes
        assert head.last_offset == head.records()[-1].offset
        assert not len(run) or run.first_offset == run.records()[0].offset
    assert [record for part in parts for record in part] == MIXED
    assert sum(part.value_bytes for part in parts) == 905
    assert sum(part.null_key_count for part in parts) == 1


def test_a_run_is_split_by_count() -> None:
    """A part has at most that many messages, as for batches."""
    (run,) = runs_of(build_message_set(MIXED))
    assert [len(run.split(1 << 20, 3)), len(run)] == [3, 1]


def test_sets_that_decompress_to_much_become_several_runs() -> None:
    """Hundreds of small compressed sets share arenas of about a piece; no run is much larger."""
    piece_bytes = 1 << 16
    zeros = [Record(at, None, bytes(1000)) for at in range(3000)]
    sets = [build_message_set(zeros[at : at + 10], codec=Codec.GZIP) for at in range(0, 3000, 10)]
    data = b"".join(sets)
    runs = runs_of(data, piece_bytes=piece_bytes)
    assert len(data) * 20 < sum(run.size_bytes for run in runs)
    assert max(run.size_bytes for run in runs) <= piece_bytes + 1100
    assert max(run.held_bytes for run in runs) <= 3 * piece_bytes
    assert [record for run in runs for record in run] == zeros


def test_small_compressed_sets_make_one_run() -> None:
    """They are contiguous in their arena; a set of another kind begins a new run."""
    every = records(*range(40))
    sets = [build_message_set(every[at : at + 4], codec=Codec.SNAPPY) for at in range(0, 40, 4)]
    (run,) = runs_of(b"".join(sets))
    assert (len(run), run.first_offset, run.last_offset) == (40, 0, 39)
    assert run.records() == every
    (run,) = runs_of(b"".join(sets), fetch_offset=13)
    assert run.records() == every[13:]
    plain, later = build_message_set(records(8)), records(*range(9, 41))
    behind = [build_message_set(later[at : at + 4], codec=Codec.SNAPPY) for at in range(0, 32, 4)]
    assert [len(run) for run in runs_of(b"".join([*sets[:2], plain, *behind]))] == [
        8,
        1,
        32,
    ]


def test_a_damaged_set_leaves_the_run_before_it_alone() -> None:
    """Messages that were added to a run before the damage was found are removed again."""
    core = import_module("zkconsumer.native._core")
    sound = build_message_set(records(0, 1), codec=Codec.SNAPPY)
    inner = build_message_set(records(2, 3))
    cut_off = wrapper_around(3, gzip_of(inner[:-1]))
    reader = core.SetReader(sound + cut_off, fetch_offset=0, bound_bytes=1000, enough_bytes=1000)
    assert reader.read() == core.REFUSED
    runs = reader.fetched().take(1 << 62).runs
    assert [run.records() for run in runs] == [records(0, 1)]
    assert (runs[0].last_offset, runs[0].value_bytes) == (1, 42)
    assert (reader.position, reader.next_offset) == (len(sound), 2)
    assert reader.remaining_bytes == 1000 - len(build_message_set(records(0, 1)))


def test_a_large_compressed_set_is_split() -> None:
    """A single set that decompresses to much becomes several runs of one buffer."""
    zeros = [Record(at, None, bytes(1000)) for at in range(1000)]
    runs = runs_of(wrapper_around(999, gzip_of(build_message_set(zeros))), piece_bytes=1 << 16)
    assert len(runs) > 10
    assert [record for run in runs for record in run] == zeros


def test_a_run_keeps_its_bytes() -> None:
    """The bytes live as long as a run of them, and no longer."""
    data = bytearray(build_message_set(MIXED))
    view = memoryview(data).toreadonly()
    (run,) = runs_of(view)
    head = run.split(0)
    with pytest.raises(BufferError):
        data.append(0)
    assert run.records() == MIXED[1:]
    del run
    assert head.records() == MIXED[:1]
    with pytest.raises(BufferError):
        data.append(0)
    del head, view
    data.append(0)


def test_mutable_bytes_are_copied() -> None:
    """A buffer that is overwritten later, like a reader's, does no harm."""
    data = bytearray(build_message_set(MIXED))
    (run,) = runs_of(data)
    data[:] = b"\xff" * len(data)
    assert run.records() == MIXED


def test_changed_bytes_are_refused() -> None:
    """Writing to bytes that were passed as read-only leads to an error, and not to a crash."""
    data = bytearray(build_message_set(MIXED))
    (run,) = runs_of(memoryview(data).toreadonly())
    data[:] = b"\x7f" * len(data)
    uses: list[Callable[[], object]] = [run.records, lambda: run.split(1 << 20)]
    for use in uses:
        with pytest.raises(BufferError, match="changed"):
            use()


@pytest.mark.parametrize("magic", [0, 1])
def test_a_message_is_what_a_stream_yields(magic: int) -> None:
    """It has every attribute and the repr of ``MessageAndMetadata``."""
    some = records(3, 4, magic=magic)
    messages = cursor_on(
        claim_of(TopicPartition("topic", 7)),
        build_message_set(some, magic=magic),
        key_decoder=len,
        value_decoder=bytes.decode,
    )
    for record, found in zip(some, messages, strict=True):
        expected = MessageAndMetadata(TopicPartition("topic", 7), record, len, bytes.decode)
        public = [name for name in dir(expected) if not name.startswith("_")]
        names = [name for name in public if not callable(getattr(expected, name))]
        assert len(names) == 9
        assert [getattr(found, name) for name in names] == [
            getattr(expected, name) for name in names
        ]
        assert repr(found) == repr(expected)


def test_null_is_not_decoded() -> None:
    """As in Python, null stays None whatever the decoder; without decoders it returns bytes."""
    data = build_message_set(MIXED)
    decoding = cursor_on(claim_of(), data, key_decoder=len, value_decoder=len)
    decoded = [(message.key, message.value) for message in decoding]
    assert decoded == [(3, 5), (None, 0), (0, None), (300, 900)]
    plain = [(message.key, message.value) for message in cursor_on(claim_of(), data)]
    assert plain == [(record.key, record.value) for record in MIXED]


def test_the_garbage_collector_does_not_track_messages() -> None:
    """They are not tracked, and what they hold is freed with them."""
    messages = cursor_on(claim_of(), build_message_set(MIXED))
    kept = [*messages]
    assert not any(map(gc.is_tracked, kept))
    del messages
    assert [message.raw_value for message in kept] == [record.value for record in MIXED]


def test_runs_and_messages_come_from_the_core_only() -> None:
    """They can't be constructed from Python."""
    core = import_module("zkconsumer.native._core")
    for kind in (core.Run, core.Message):
        with pytest.raises(TypeError):
            kind()


def test_the_next_offset_is_read_from_the_headers() -> None:
    """It is where the next fetch would start, truncated or not; nothing is decompressed."""
    core = import_module("zkconsumer.native._core")
    packed = build_message_set(MIXED, codec=Codec.GZIP)
    plain = [build_message_set([record]) for record in records(11, 12)]
    data = packed + b"".join(plain)
    assert core.look_ahead(data, 3) == (13, -1, 0, True)
    assert core.look_ahead(data[:-1], 3) == (12, -1, len(plain[1]), True)
    assert core.look_ahead(plain[0], 3) == (12, -1, 0, False)
    assert core.look_ahead(data[:20], 3) is None
    assert core.look_ahead(b"", 3) is None


def test_the_offset_after_a_batch_is_read_from_its_header() -> None:
    """The header has the first offset and the range; a damaged header yields nothing."""
    core = import_module("zkconsumer.native._core")
    batches = [
        build_batch(records(3, 5), traits=BatchTraits(leader_epoch=3)),
        build_batch(records(7), codec=Codec.GZIP, traits=BatchTraits(leader_epoch=4)),
    ]
    message = build_message_set(records(2))
    data = message + b"".join(batches)
    assert core.look_ahead(data, 2) == (8, 4, 0, True)
    assert core.look_ahead(data[:-1], 2) == (6, 3, len(batches[1]), True)
    negative = bytearray(batches[0])
    negative[23:27] = b"\xff" * 4
    assert core.look_ahead(bytes(negative), 3) is None
    endless = bytearray(batches[0])
    endless[:8] = (2**63 - 2).to_bytes(8, "big")
    assert core.look_ahead(bytes(endless), 3) is None
    assert core.look_ahead(batches[0][:12] + b"\0" * 40, 3) is None
