"""Kafka's compression codecs; the only importer of the snappy, lz4 and zstd libraries.

Decompressed output never exceeds ``max_bytes``, whatever the input claims. Errors of ``decompress``
and ``compress`` have no offsets; callers add them.
"""

import zlib
from enum import IntEnum
from importlib import import_module
from typing import Any

from zkconsumer.errors import CorruptRecord, UnsupportedCodec
from zkconsumer.records import lz4_header, xerial, zstd_frames
from zkconsumer.records.bounded import BoundedOutput
from zkconsumer.records.entries import unplaced

_GZIP_WINDOW = 31
"""zlib's ``wbits`` for a gzip wrapper around a 32 KiB window."""

_GZIP_MAGIC = b"\x1f\x8b"
_PIECE_BYTES = 16384
"""The size of the input fed to zlib at once, which returns unused input as a copy."""

_ZSTD_WINDOW_BYTES = 1 << 27
"""The largest window that zstd's own tools and Kafka's compression levels use."""


class Codec(IntEnum):
    """The codec in the low bits of the attributes of a message or batch.

    Magic 0 and 1 do not support zstd (KIP-110).
    """

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


CODECS_OF_MESSAGES = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
"""The codecs of magic 0 and 1."""

_MOST_SPARES = 4
_zstd_spares: list[Any] = []
"""Idle decompressors: making one takes longer than decompressing a small batch. Threads pop and
push them; a decompressor that failed is not reused."""


def decompress(codec: Codec, data: bytes | memoryview, *, magic: int, max_bytes: int) -> bytes:
    """Decompress a wrapper's value, or the records of a batch.

    Args:
        codec: NONE returns the data.
        data: the compressed bytes.
        magic: the magic of the wrapper or batch; it decides which lz4 header checksums are valid.
        max_bytes: the limit of the output.

    Raises:
        OverBound: the output would exceed ``max_bytes``.
        UnsupportedCodec: the library for it is not installed.
        CorruptRecord: the data is of another codec, damaged or incomplete.
    """
    raw = bytes(data)
    try:
        match codec:
            case Codec.NONE:
                return raw
            case Codec.GZIP:
                return _gunzip(raw, max_bytes)
            case Codec.SNAPPY:
                return _unsnap(raw, max_bytes)
            case Codec.LZ4:
                return _unlz4(raw, magic, max_bytes)
            case Codec.ZSTD:
                return _unzstd(raw, max_bytes)
    except CorruptRecord:
        raise  # our own error, which is a RuntimeError as well
    except (ValueError, zlib.error, RuntimeError) as error:
        name = codec.name.lower()
        raise unplaced(f"can't decompress {len(raw)} bytes of {name}: {error}") from error


def compress(codec: Codec, data: bytes, *, magic: int) -> bytes:
    """Compress an inner message set, or a batch's records, as the original's producer does.

    Args:
        codec: NONE returns the data.
        data: the inner message set, or the records.
        magic: 0 writes the lz4 header checksum that 0.8 and 0.9 brokers expect.

    Raises:
        UnsupportedCodec: the library for it is not installed.
    """
    match codec:
        case Codec.NONE:
            return data
        case Codec.GZIP:
            packer = zlib.compressobj(wbits=_GZIP_WINDOW)
            return packer.compress(data) + packer.flush()
        case Codec.SNAPPY:
            import snappy  # noqa: PLC0415 - the native core decompresses itself

            size = xerial.BLOCK_BYTES
            starts = range(0, len(data), size)
            return xerial.frame(snappy.compress(data[at : at + size]) for at in starts)
        case Codec.LZ4:
            lz4_frame = _lz4_frame()
            packed: bytes = lz4_frame.compress(
                data,
                block_size=lz4_frame.BLOCKSIZE_MAX64KB,
                block_linked=False,
                content_checksum=False,
                store_size=False,
            )
            return lz4_header.with_kafka_checksum(packed) if magic == 0 else packed
        case Codec.ZSTD:
            zstd_packed: bytes = _zstandard().ZstdCompressor().compress(data)
            return zstd_packed


def _gunzip(data: bytes, max_bytes: int) -> bytes:
    """Decompress all gzip members; trailing bytes are ignored, as in Java."""
    output = BoundedOutput(max_bytes)
    position = 0
    while True:
        member = zlib.decompressobj(wbits=_GZIP_WINDOW)
        while not member.eof:
            piece = member.unconsumed_tail
            if not piece:
                piece = data[position : position + _PIECE_BYTES]
                position += len(piece)
            part = member.decompress(piece, output.step_bytes())
            if not part and not piece and not member.eof:
                raise ValueError("cut off")
            output.add(part)
        position -= len(member.unused_data)
        if not data.startswith(_GZIP_MAGIC, position):
            return output.whole()


def _unsnap(data: bytes, max_bytes: int) -> bytes:
    import snappy  # noqa: PLC0415 - as in ``compress``

    output = BoundedOutput(max_bytes)
    for block in xerial.blocks_in(data):
        output.expect(xerial.uncompressed_size(block))
        try:
            output.add(snappy.decompress(block))
        except snappy.UncompressError as error:
            raise ValueError(str(error.__cause__ or "damaged block")) from error
    return output.whole()


def _unlz4(data: bytes, magic: int, max_bytes: int) -> bytes:
    """Decompress one frame; bytes after its end mark are ignored, as in Java."""
    unpacker = _lz4_frame().LZ4FrameDecompressor()
    # Each call copies the remaining input: hence a few large steps, none beyond the limit.
    step = 8 * len(data) + 65536
    output = BoundedOutput(max_bytes)
    todo = lz4_header.repaired(data, magic=magic)
    while not unpacker.eof:
        part: bytes = unpacker.decompress(todo, max_length=output.step_bytes(step))
        if not part and not unpacker.eof:
            raise ValueError("cut off")
        output.add(part)
        todo = b""
    return output.whole()


def _unzstd(data: bytes, max_bytes: int) -> bytes:
    """Decompress all frames; trailing bytes are an error, as in Java."""
    library = _zstandard()
    # The library accepts input that ends within a frame as complete.
    zstd_frames.check_whole(data)
    output = BoundedOutput(max_bytes)
    try:
        unpacker = _zstd_spares.pop()
    except IndexError:
        unpacker = library.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    try:
        with unpacker.stream_reader(data, read_across_frames=True) as reader:
            while part := reader.read(output.step_bytes()):
                output.add(part)
    except library.ZstdError as error:
        raise ValueError(str(error)) from error
    if len(_zstd_spares) < _MOST_SPARES:
        _zstd_spares.append(unpacker)
    return output.whole()


def _lz4_frame() -> Any:  # the library has no types
    return _optional("lz4.frame", "lz4", package="lz4")


def _zstandard() -> Any:  # the library is written in C without types, and optional
    return _optional("zstandard", "zstd", package="zstandard")


def _optional(module: str, extra: str, *, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        reason = f"{extra} needs the {package} package: pip install 'zkconsumer[{extra}]'"
        raise unplaced(reason, UnsupportedCodec) from error
