"""Codecs round-trip, never exceed the limit, and raise one error for corrupt data."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
import snappy
import zstandard

from tests.support.record_sets import gzip_of_zeros
from zkconsumer.errors import CorruptRecord
from zkconsumer.records import xerial
from zkconsumer.records.bounded import OverBound
from zkconsumer.records.codecs import Codec, compress, decompress
from zkconsumer.records.zstd_frames import MAGIC, check_whole

COMPRESSING = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
TEXT = b"".join(b"line %d of a log\n" % number for number in range(9000))
MEBIBYTE = 1 << 20


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("data", [b"", b"x", TEXT])
def test_round_trip(codec: Codec, magic: int, data: bytes) -> None:
    """Decompression gives what was compressed, with the tightest limit."""
    packed = compress(codec, data, magic=magic)
    assert decompress(codec, packed, magic=magic, max_bytes=len(data)) == data


@pytest.mark.parametrize("codec", COMPRESSING)
def test_one_byte_above_the_limit_is_refused(codec: Codec) -> None:
    """The limit is exact."""
    packed = compress(codec, TEXT, magic=0)
    with pytest.raises(OverBound, match=r"raise fetch\.max\.decompressed\.bytes"):
        decompress(codec, packed, magic=0, max_bytes=len(TEXT) - 1)


@pytest.mark.parametrize("codec", COMPRESSING)
def test_truncated_data_is_an_error(codec: Codec) -> None:
    """Data that ends early is refused wherever it was truncated."""
    packed = compress(codec, TEXT[:300], magic=0)
    for size in range(1, len(packed)):
        if codec is Codec.SNAPPY and size == len(xerial.HEADER):
            continue  # a header alone is an empty stream
        with pytest.raises(CorruptRecord, match="can't decompress"):
            decompress(codec, packed[:size], magic=0, max_bytes=MEBIBYTE)


@pytest.mark.parametrize("codec", COMPRESSING)
def test_foreign_data_is_an_error(codec: Codec) -> None:
    """Data that no codec wrote is refused, and the error names the codec."""
    with pytest.raises(CorruptRecord, match=codec.name.lower()):
        decompress(codec, b"\xfe\xff" * 20, magic=0, max_bytes=MEBIBYTE)


def zstd_of_zeros(megabytes: int) -> bytes:
    """Compress zeros into a zstd frame without a content size."""
    packer = zstandard.ZstdCompressor().compressobj()
    return packer.compress(bytes(megabytes * MEBIBYTE)) + packer.flush()


def lz4_of_zeros(megabytes: int) -> bytes:
    """Compress zeros into an LZ4 frame: 255 to 1."""
    return compress(Codec.LZ4, bytes(megabytes * MEBIBYTE), magic=0)


@pytest.mark.parametrize(
    ("codec", "bomb"),
    [(Codec.GZIP, gzip_of_zeros), (Codec.LZ4, lz4_of_zeros), (Codec.ZSTD, zstd_of_zeros)],
)
def test_bombs_allocate_no_more_than_the_limit(codec: Codec, bomb: Callable[[int], bytes]) -> None:
    """200 MiB from less than one meet a limit of 1 MiB without taking much more than that."""
    packed = bomb(200)
    tracemalloc.start()
    try:
        with pytest.raises(OverBound):
            decompress(codec, packed, magic=0, max_bytes=MEBIBYTE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * MEBIBYTE


def test_gzip_members_are_joined() -> None:
    """Several members are one stream, and what follows the last is ignored, as in Java."""
    members = gzip.compress(b"one ") + gzip.compress(b"") + gzip.compress(b"two") + b"\x00tail"
    assert decompress(Codec.GZIP, members, magic=0, max_bytes=7) == b"one two"


def test_gzip_members_share_the_limit() -> None:
    """Members share the limit."""
    with pytest.raises(OverBound):
        decompress(Codec.GZIP, gzip.compress(b"1234") * 3, magic=0, max_bytes=11)


def test_gzip_checksum_is_checked() -> None:
    """A wrong checksum at the member's end is an error."""
    packed = bytearray(gzip.compress(b"text"))
    packed[-8] ^= 1
    with pytest.raises(CorruptRecord, match="incorrect data check"):
        decompress(Codec.GZIP, bytes(packed), magic=0, max_bytes=MEBIBYTE)


def test_zlib_streams_are_not_gzip() -> None:
    """Only the gzip format is accepted."""
    with pytest.raises(CorruptRecord, match="gzip"):
        decompress(Codec.GZIP, zlib.compress(b"text"), magic=0, max_bytes=MEBIBYTE)


def test_snappy_is_written_in_blocks_of_32_kib() -> None:
    """The framing is that of snappy-java's default, readable block by block."""
    packed = compress(Codec.SNAPPY, TEXT, magic=0)
    sizes = [xerial.uncompressed_size(block) for block in xerial.blocks_in(packed)]
    assert len(sizes) == -(-len(TEXT) // 32768) > 1
    assert sizes[:-1] == [32768] * (len(sizes) - 1)


def test_bare_snappy_is_read() -> None:
    """Some producers send one raw block without framing."""
    packed = snappy.compress(TEXT)
    assert decompress(Codec.SNAPPY, packed, magic=0, max_bytes=MEBIBYTE) == TEXT


def test_snappy_blocks_share_the_limit() -> None:
    """The declared sizes are summed before anything is allocated for the last block."""
    packed = xerial.frame([snappy.compress(bytes(1000))] * 3)
    with pytest.raises(OverBound):
        decompress(Codec.SNAPPY, packed, magic=0, max_bytes=2999)


def test_a_snappy_block_that_declares_more_than_the_limit_is_not_decompressed() -> None:
    """Nothing is allocated for it, so it is unknown whether the rest is valid."""
    thousand = b"\xe8\x07"
    damaged = thousand + bytes(50)
    with pytest.raises(OverBound):
        decompress(Codec.SNAPPY, damaged, magic=0, max_bytes=999)
    with pytest.raises(CorruptRecord, match="can't decompress 52 bytes of snappy") as one:
        decompress(Codec.SNAPPY, damaged, magic=0, max_bytes=1_000)
    assert not isinstance(one.value, OverBound)


def test_lz4_of_magic_0_has_the_checksum_of_0_8() -> None:
    """The frame's header is exactly the one of 0.8.2: no sizes, no checksums, 64 KiB."""
    assert compress(Codec.LZ4, b"x", magic=0)[:7].hex() == "04224d1860401a"


def test_lz4_of_magic_1_has_the_standard_checksum() -> None:
    """From magic 1 on the frame is standard."""
    assert compress(Codec.LZ4, b"x", magic=1)[:7].hex() == "04224d18604082"


def test_lz4_of_many_blocks_grows_step_by_step() -> None:
    """Output far larger than the input is complete."""
    data = bytes(3_000_000)
    packed = compress(Codec.LZ4, data, magic=0)
    assert decompress(Codec.LZ4, packed, magic=0, max_bytes=len(data)) == data


def test_zstd_frames_are_joined() -> None:
    """Frames follow each other, some of them skippable; anything else after them is an error."""
    first, second = (zstandard.compress(text) for text in (b"one ", b"two"))
    skipped = b"\x5a\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"any"
    packed = first + skipped + second
    assert decompress(Codec.ZSTD, packed, magic=2, max_bytes=7) == b"one two"
    with pytest.raises(OverBound):
        decompress(Codec.ZSTD, packed, magic=2, max_bytes=6)
    with pytest.raises(CorruptRecord, match="not a zstd frame"):
        decompress(Codec.ZSTD, packed + b"\0tail", magic=2, max_bytes=7)


@pytest.mark.parametrize("with_size", [False, True])
@pytest.mark.parametrize("with_checksum", [False, True])
@pytest.mark.parametrize("data", [b"", b"x", bytes(300), TEXT, bytes(300_000)])
def test_every_zstd_header_is_read(data: bytes, *, with_size: bool, with_checksum: bool) -> None:
    """Whatever fields a frame's header has, its end is found, and one byte less is truncated."""
    packer = zstandard.ZstdCompressor(write_content_size=with_size, write_checksum=with_checksum)
    packed = packer.compress(data)
    assert decompress(Codec.ZSTD, packed, magic=2, max_bytes=len(data)) == data
    with pytest.raises(CorruptRecord, match="cut off"):
        decompress(Codec.ZSTD, packed[:-1], magic=2, max_bytes=len(data))


def test_zstd_checksum_is_checked() -> None:
    """A wrong checksum at a frame's end is an error."""
    packed = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(TEXT))
    packed[-1] ^= 1
    with pytest.raises(CorruptRecord, match="can't decompress"):
        decompress(Codec.ZSTD, bytes(packed), magic=2, max_bytes=MEBIBYTE)


def test_a_zstd_block_of_an_unknown_type_is_an_error() -> None:
    """This is so even if its size leads to the end of the frame."""

    def frame(kind: int) -> bytes:
        last_block = (3 << 3 | kind << 1 | 1).to_bytes(3, "little")
        return MAGIC + bytes((0b0010_0000, 3)) + last_block + b"any"

    check_whole(frame(0))
    with pytest.raises(ValueError, match="zstd block of an unknown type"):
        check_whole(frame(3))


@pytest.mark.parametrize(("flag", "id_bytes"), [(0, 0), (1, 1), (2, 2), (3, 4)])
def test_a_zstd_frame_with_a_dictionary_id_is_complete(flag: int, id_bytes: int) -> None:
    """Two bits of the header give the id's length; one byte less is truncated."""
    last_block = (3 << 3 | 1).to_bytes(3, "little") + b"any"
    whole = MAGIC + bytes((0b0010_0000 | flag,)) + b"\x01" * id_bytes + b"\x03" + last_block
    check_whole(whole)
    check_whole(whole * 2)
    with pytest.raises(ValueError, match="cut off"):
        check_whole(whole[:-1])


@pytest.mark.parametrize("left", range(1, 5))
def test_the_beginning_of_another_zstd_frame_is_no_frame(left: int) -> None:
    """It may end within its magic, or right after it."""
    whole = compress(Codec.ZSTD, b"text" * 50, magic=2)
    check_whole(whole)
    check_whole(whole * 2)
    with pytest.raises(ValueError, match="cut off"):
        check_whole(whole + whole[:left])
