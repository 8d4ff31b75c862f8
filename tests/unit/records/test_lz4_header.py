"""The header checksum of LZ4 frames, as Kafka 0.8 writes it and as the standard defines it."""

import lz4.frame
import pytest

from zkconsumer.records import lz4_header

STANDARD = bytes.fromhex("04224d18 60 40 82 00000000")
OF_KAFKA_0_8 = bytes.fromhex("04224d18 60 40 1a 00000000")
WITH_CONTENT_SIZE = bytes.fromhex("04224d18 68 40 0300000000000000")


@pytest.mark.parametrize(
    ("data", "digest"),
    [(b"", 0x02CC5D05), (b"a", 0x550D7456), (b"abc", 0x32D153FF), (b"abcdefghijklm", 0xA5B14016)],
)
def test_xxh32_of_short_input(data: bytes, digest: int) -> None:
    """The digests are those of the xxHash library."""
    assert lz4_header.xxh32_of_short(data) == digest


@pytest.mark.parametrize("frame", [STANDARD, OF_KAFKA_0_8])
def test_magic_0_accepts_both_checksums(frame: bytes) -> None:
    """In magic 0 the wrong checksum is repaired, and the right one kept."""
    assert lz4_header.repaired(frame, magic=0) == STANDARD


def test_magic_1_accepts_the_right_checksum_only() -> None:
    """Magic 1 came with the repair, so Kafka refuses the wrong checksum there."""
    assert lz4_header.repaired(STANDARD, magic=1) == STANDARD
    with pytest.raises(ValueError, match="checksum is 0x1a, should be 0x82"):
        lz4_header.repaired(OF_KAFKA_0_8, magic=1)


def test_any_other_checksum_is_damage() -> None:
    """A checksum that is neither Kafka's nor the standard's is refused in magic 0, too."""
    with pytest.raises(ValueError, match="checksum is 0x00"):
        lz4_header.repaired(STANDARD[:6] + b"\x00" + STANDARD[7:], magic=0)


def test_spoiling_writes_the_checksum_that_0_8_brokers_need() -> None:
    """The non-standard checksum also covers the frame's magic."""
    assert lz4_header.with_kafka_checksum(STANDARD) == OF_KAFKA_0_8


def test_a_content_size_moves_the_checksum() -> None:
    """The checksum comes after the content size, if there is one."""
    frame = WITH_CONTENT_SIZE + b"?" + bytes(4)
    spoiled = lz4_header.with_kafka_checksum(frame)
    repaired = lz4_header.repaired(spoiled, magic=0)
    assert spoiled[:14] == repaired[:14] == WITH_CONTENT_SIZE
    assert lz4_header.repaired(repaired, magic=1) == repaired != spoiled


def test_the_smallest_header_is_complete() -> None:
    """Bytes after it are not part of the header."""
    assert lz4_header.repaired(STANDARD[:7], magic=1) == STANDARD[:7]


@pytest.mark.parametrize("store_size", [True, False])
def test_the_librarys_own_headers_are_right(*, store_size: bool) -> None:
    """This holds with a content size and without."""
    frame = lz4.frame.compress(b"text" * 50, store_size=store_size)
    assert lz4_header.repaired(frame, magic=1) == frame


@pytest.mark.parametrize(
    "frame", [b"", STANDARD[:4], STANDARD[:6], WITH_CONTENT_SIZE, b"\x1f\x8b" + bytes(20)]
)
def test_a_truncated_header_is_refused(frame: bytes) -> None:
    """Data that is no frame, or ends within its header, is refused."""
    with pytest.raises(ValueError, match=r"not an lz4 frame|cut off"):
        lz4_header.repaired(frame, magic=0)


def test_dictionaries_are_refused() -> None:
    """Kafka can't tell which dictionary to use."""
    with pytest.raises(ValueError, match="dictionary"):
        lz4_header.repaired(b"\x04\x22\x4d\x18\x61\x40" + bytes(20), magic=0)
