"""The native decoder against Python's: nested, damaged and truncated sets of every codec."""

import gzip
import zlib
from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.test_records_sets import boundaries, record_lists, record_sets
from tests.support.engines import IS_BUILT, both, needs_native
from tests.support.shares import examples
from zkconsumer.errors import CorruptRecord
from zkconsumer.model import Record, TimestampType
from zkconsumer.records import codecs
from zkconsumer.records.build import build_message_set, wrap_message_set
from zkconsumer.records.codecs import CODECS_OF_MESSAGES, Codec

if IS_BUILT:
    from zkconsumer.records import native_fetched

pytestmark = needs_native
COMPRESSING = st.sampled_from([Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
COMPRESSED = st.sampled_from([Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
MAGICS = st.sampled_from([0, 1])
BOUNDS = st.sampled_from([1 << 20, 1 << 20, 300, 2000, 0])
WORDS = [
    b"GET",
    b"/index.html",
    b"200",
    b"user=",
    b"2015-03-11T10:17:09",
    b"\n",
    b"aaaaaaaa",
    b"\0",
]


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """Draw bytes that compress: words, runs and noise."""
    parts = draw(
        st.lists(
            st.sampled_from(WORDS)
            | st.binary(max_size=30)
            | st.builds(
                lambda byte, count: byte * count,
                st.binary(min_size=1, max_size=3),
                st.integers(1, 700),
            ),
            max_size=60,
        )
    )
    return b" ".join(parts)


@st.composite
def nested_sets(draw: st.DrawFn) -> bytes:
    """Draw a set of nested wrappers, perhaps too deep, and of mixed magics."""
    magic = draw(MAGICS)
    some = draw(record_lists(magic))
    data = build_message_set(some, magic=magic)
    for _ in range(draw(st.integers(0, 5))):
        data = wrap_message_set(
            data,
            offset=some[-1].offset + draw(st.sampled_from([0, 0, 0, 1, 7])),
            codec=draw(COMPRESSING),
            magic=draw(MAGICS),
            timestamp=draw(st.integers(-1, 2**41)),
            timestamp_type=draw(st.sampled_from(TimestampType)),
        )
    plain = build_message_set(draw(record_lists(0)))
    return data + plain if draw(st.booleans()) else plain + data


def repaired(data: bytes) -> bytes:
    """Correct the CRC of every complete entry, so that what it covers is decoded at all."""
    fixed = bytearray(data)
    at = 0
    while len(fixed) - at >= 26:
        size = int.from_bytes(fixed[at + 8 : at + 12], "big", signed=True)
        if size < 14 or size > len(fixed) - at - 12:
            break
        stop = at + 12 + size
        fixed[at + 12 : at + 16] = zlib.crc32(fixed[at + 16 : stop]).to_bytes(4, "big")
        at = stop
    return bytes(fixed)


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """Draw some damage: bits, numbers, pieces removed or inserted; CRCs corrected or not."""
    found = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        if not found:
            break
        at = draw(st.integers(0, len(found) - 1))
        match draw(st.integers(0, 4)):
            case 0:
                found[at] ^= 1 << draw(st.integers(0, 7))
            case 1:
                unsupported = draw(
                    st.sampled_from([0, 13, 14, 2**31 - 1, 2**31, 2**32 - 1, len(found)])
                )
                found[at : at + 4] = unsupported.to_bytes(4, "big")
            case 2:
                del found[at : at + draw(st.integers(1, 40))]
            case 3:
                found[at:at] = draw(st.binary(max_size=12))
            case _:
                del found[at:]
    return repaired(bytes(found)) if draw(st.booleans()) else bytes(found)


@settings(max_examples=examples(100), deadline=None)
@given(record_sets(), st.lists(COMPRESSING, max_size=3), st.integers(0, 60))
def test_valid_sets_are_not_refused(
    made: tuple[list[Record], bytes], codecs_around: list[Codec], fetch_offset: int
) -> None:
    """The core reads all formats and all nesting by itself, complete or truncated."""
    every, data = made
    for codec in codecs_around:
        data = wrap_message_set(data, offset=every[-1].offset, codec=codec)
    for part in (data, data[:-1]):
        decoded = native_fetched.decode_fetched(
            part, fetch_offset=fetch_offset, max_decompressed_bytes=1 << 20
        )
        assert decoded.refused_at is None
        assert decoded.error is None
    both(data, fetch_offset=fetch_offset, max_decompressed_bytes=1 << 20)


@settings(max_examples=examples(150), deadline=None)
@given(nested_sets(), st.integers(0, 30), BOUNDS, st.none() | st.integers(0, 500))
def test_nested_sets_are_decoded_as_in_python(
    data: bytes, fetch_offset: int, bound: int, enough: int | None
) -> None:
    """They are for any nesting, limit and fetch offset."""
    both(data, fetch_offset=fetch_offset, max_decompressed_bytes=bound, enough_bytes=enough)


@settings(max_examples=examples(400), deadline=None)
@given(nested_sets().flatmap(damaged), st.integers(0, 30), BOUNDS, st.integers(0, 500))
def test_damaged_sets_are_decoded_as_in_python(
    data: bytes, fetch_offset: int, bound: int, enough: int
) -> None:
    """Records are the same, and so is the error and its offset."""
    both(data, fetch_offset=fetch_offset, max_decompressed_bytes=bound, enough_bytes=enough)


@settings(max_examples=examples(200), deadline=None)
@given(nested_sets().flatmap(damaged), COMPRESSING, MAGICS, st.integers(0, 40), st.integers(0, 20))
def test_damage_inside_valid_wrappers(
    inner: bytes, codec: Codec, magic: int, offset: int, fetch_offset: int
) -> None:
    """It is found there, and the records before it count."""
    data = wrap_message_set(inner, offset=offset, codec=codec, magic=magic)
    both(data, fetch_offset=fetch_offset, max_decompressed_bytes=1 << 20)


@settings(max_examples=examples(50), deadline=None)
@given(nested_sets())
def test_truncated_sets_are_decoded_as_in_python(data: bytes) -> None:
    """They are for cuts around the bounds of every entry."""
    for end in boundaries(data):
        for size in (end - 1, end, end + 11, end + 12, end + 13, end + 25):
            both(data[: max(0, size)], fetch_offset=0, max_decompressed_bytes=1 << 20)


def decompressed(codec: Codec, data: bytes, *, magic: int, max_bytes: int) -> bytes | None:
    """Return what the libraries decompress, or None if they refuse."""
    try:
        return codecs.decompress(codec, data, magic=magic, max_bytes=max_bytes)
    except CorruptRecord:
        return None


def check_codec(codec: Codec, data: bytes, magic: int, max_bytes: int) -> None:
    """Check that the core refuses what the libraries refuse, and otherwise returns the same.

    Both use libzstd, in different versions: a later one refuses more damaged frames.
    """
    core = import_module("zkconsumer.native._core")
    found = core.decompress(int(codec), data, magic=magic, max_bytes=max_bytes)
    expected = decompressed(codec, data, magic=magic, max_bytes=max_bytes)
    if found is not None and not (codec is Codec.ZSTD and expected is None):
        assert found == expected


@settings(max_examples=examples(150), deadline=None)
@given(texts(), COMPRESSED, MAGICS)
def test_valid_compressed_data_is_decompressed(text: bytes, codec: Codec, magic: int) -> None:
    """Our own encoders' output is, with exactly enough bytes and not with fewer."""
    core = import_module("zkconsumer.native._core")
    data = codecs.compress(codec, text, magic=magic)
    assert core.decompress(int(codec), data, magic=magic, max_bytes=len(text)) == text
    if text:
        assert core.decompress(int(codec), data, magic=magic, max_bytes=len(text) - 1) is None


@settings(max_examples=examples(150), deadline=None)
@given(texts(), st.integers(0, 9), st.integers(0, 4), st.integers(9, 15))
def test_every_kind_of_deflate_is_decompressed(
    text: bytes, level: int, strategy: int, window: int
) -> None:
    """Stored, fixed and dynamic blocks are, as well as short windows and several members."""
    core = import_module("zkconsumer.native._core")
    packer = zlib.compressobj(level, zlib.DEFLATED, 16 + window, strategy=strategy)
    half = len(text) // 2
    data = packer.compress(text[:half]) + packer.flush(zlib.Z_FULL_FLUSH)
    data += packer.compress(text[half:]) + packer.flush() + gzip.compress(text) + b"behind"
    assert core.decompress(1, data, magic=0, max_bytes=2 * len(text)) == text * 2


@settings(max_examples=examples(150), deadline=None)
@given(texts(), st.booleans(), st.booleans(), st.booleans(), st.booleans(), st.integers(0, 9))
def test_every_kind_of_lz4_frame_is_decompressed(
    text: bytes, linked: bool, sums: bool, checksum: bool, sized: bool, level: int
) -> None:
    """Frames with linked blocks, checksums and sizes are, at all compression levels."""
    core = import_module("zkconsumer.native._core")
    lz4_frame = pytest.importorskip("lz4.frame")
    data = lz4_frame.compress(
        text,
        block_linked=linked,
        block_checksum=sums,
        content_checksum=checksum,
        store_size=sized,
        compression_level=level,
    )
    assert core.decompress(3, data, magic=1, max_bytes=len(text)) == text


@settings(max_examples=examples(150), deadline=None)
@given(texts(), texts(), st.booleans(), st.booleans(), st.integers(1, 19), st.binary(max_size=6))
def test_every_kind_of_zstd_frame_is_decompressed(
    text: bytes, other: bytes, checksum: bool, sized: bool, level: int, skipped: bytes
) -> None:
    """Several frames are, with or without checksums and sizes, and with skippable frames."""
    core = import_module("zkconsumer.native._core")
    library = pytest.importorskip("zstandard")
    packer = library.ZstdCompressor(level=level, write_checksum=checksum, write_content_size=sized)
    skip = b"\x5a\x2a\x4d\x18" + len(skipped).to_bytes(4, "little") + skipped
    data = packer.compress(text) + skip + packer.compress(other)
    made = text + other
    assert core.decompress(4, data, magic=2, max_bytes=len(made)) == made
    assert core.decompress(4, data[:-1], magic=2, max_bytes=1 << 20) is None
    assert core.decompress(4, data + b"behind", magic=2, max_bytes=1 << 20) is None
    if made:
        assert core.decompress(4, data, magic=2, max_bytes=len(made) - 1) is None


@settings(max_examples=examples(600), deadline=None)
@given(texts(), COMPRESSED, MAGICS, st.data())
def test_damaged_compressed_data_is_refused_as_by_the_libraries(
    text: bytes, codec: Codec, magic: int, data: st.DataObject
) -> None:
    """The core never returns anything that the libraries would not."""
    sound = codecs.compress(codec, text, magic=magic)
    check_codec(codec, data.draw(damaged(sound)), magic, data.draw(st.sampled_from([100, 1 << 20])))


@settings(max_examples=examples(400), deadline=None)
@given(st.binary(max_size=60))
def test_noise_as_deflate(noise: bytes) -> None:
    """Noise with a valid trailer is accepted only if zlib accepts it."""
    unpacker = zlib.decompressobj(wbits=-15)
    try:
        made = unpacker.decompress(noise, 1 << 20)
    except zlib.error:
        made = b""
    used = noise[: len(noise) - len(unpacker.unused_data)]
    trailer = zlib.crc32(made).to_bytes(4, "little") + len(made).to_bytes(4, "little")
    member = gzip.compress(b"")[:10] + used + trailer
    check_codec(Codec.GZIP, member, 0, 1 << 20)


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(max_size=40), st.integers(0, 90))
def test_noise_as_snappy(noise: bytes, size: int) -> None:
    """Noise as a raw block with any size is accepted only if the library accepts it."""
    check_codec(Codec.SNAPPY, bytes([size]) + noise, 0, 1 << 20)


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(min_size=1, max_size=40))
def test_noise_as_lz4(noise: bytes) -> None:
    """Noise as the block of a frame is accepted only if the library accepts it."""
    frame = codecs.compress(Codec.LZ4, b"", magic=1)[:7]
    data = frame + len(noise).to_bytes(4, "little") + noise + bytes(4)
    check_codec(Codec.LZ4, data, 1, 1 << 20)


def test_the_largest_offsets_are_decoded_as_in_python() -> None:
    """No offset follows the largest one, in a wrapper or not."""
    last = [Record(2**63 - 2, b"k", b"v"), Record(2**63 - 1, None, None)]
    for magic in (0, 1):
        for codec in CODECS_OF_MESSAGES:
            data = build_message_set(last, magic=magic, codec=codec)
            for fetch_offset in (0, 2**63 - 2, 2**63 - 1):
                both(data, fetch_offset=fetch_offset, max_decompressed_bytes=1 << 20)
