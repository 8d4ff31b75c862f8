"""The framing around snappy blocks."""

import pytest

from zkconsumer.records import xerial


def test_header_is_the_one_of_snappy_java() -> None:
    """The header is magic, version 1 and compatible version 1, big-endian."""
    assert xerial.HEADER.hex() == "82534e41505059000000000100000001"


def test_several_blocks_are_read_in_order() -> None:
    """Every block of a stream is found."""
    assert list(xerial.blocks_in(xerial.frame([b"one", b"", b"three"]))) == [b"one", b"", b"three"]


def test_streams_may_follow_each_other() -> None:
    """A second header in place of a block length starts another stream."""
    stream = xerial.frame([b"one"]) + xerial.frame([b"two"])
    assert list(xerial.blocks_in(stream)) == [b"one", b"two"]


def test_bare_data_is_one_block() -> None:
    """Data without the magic is returned as is."""
    assert list(xerial.blocks_in(b"\x05bare")) == [b"\x05bare"]


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (b"\x00", "length cut off"),
        (b"\x00\x00\x00", "length cut off"),
        (b"\x00\x00\x00\x05abcd", "of 5 bytes"),
        (b"\xff\xff\xff\xff", "of -1 bytes"),
    ],
)
def test_a_block_must_be_whole(tail: bytes, reason: str) -> None:
    """A truncated length, a length past the end and a negative length are refused."""
    with pytest.raises(ValueError, match=reason):
        list(xerial.blocks_in(xerial.HEADER + tail))


def test_the_header_must_be_whole() -> None:
    """The magic alone is no stream."""
    with pytest.raises(ValueError, match="header cut off"):
        list(xerial.blocks_in(xerial.HEADER[:-1]))


@pytest.mark.parametrize(
    ("head", "size"), [(b"\x00", 0), (b"\x7f", 127), (b"\x80\x01", 128), (b"\xff\x7f", 16383)]
)
def test_the_uncompressed_size_is_read_from_the_block(head: bytes, size: int) -> None:
    """The size is a little-endian base-128 number."""
    assert xerial.uncompressed_size(head + bytes(1024)) == size


def test_a_block_has_at_most_32_bytes_per_compressed_byte() -> None:
    """One byte more is refused."""
    assert xerial.uncompressed_size(bytes((64, 0))) == 64
    with pytest.raises(ValueError, match="claims to hold 65"):
        xerial.uncompressed_size(bytes((65, 0)))


def test_a_size_that_no_block_can_reach_is_refused() -> None:
    """A header that declares 4 GiB in a few bytes is refused before allocating."""
    with pytest.raises(ValueError, match="claims to hold"):
        xerial.uncompressed_size(b"\xff\xff\xff\xff\x0f abc")


@pytest.mark.parametrize("head", [b"", b"\x80", b"\xff" * 5, b"\xff" * 5 + b"\x01"])
def test_a_size_without_end_is_refused(head: bytes) -> None:
    """A size must end within five bytes."""
    with pytest.raises(ValueError, match="without a length"):
        xerial.uncompressed_size(head)
