"""Variable-length numbers: the bytes that Kafka writes, and the limits of their ranges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.records.varint import read_varint, read_varlong, varint

WRITTEN = {
    0: "00",
    -1: "01",
    1: "02",
    63: "7e",
    -64: "7f",
    64: "8001",
    -65: "8101",
    8191: "fe7f",
    -8192: "ff7f",
    8192: "808001",
    2**31 - 1: "feffffff0f",
    -(2**31): "ffffffff0f",
}
LONGS = {
    2**31: "8080808010",
    2**63 - 1: "feffffffffffffffff01",
    -(2**63): "ffffffffffffffffff01",
}


@pytest.mark.parametrize(("number", "written"), [*WRITTEN.items(), *LONGS.items()])
def test_numbers_are_written_as_kafka_does(number: int, written: str) -> None:
    """The bytes are those of Kafka's own tests."""
    data = bytes.fromhex(written)
    assert varint(number) == data
    assert read_varlong(b"?" + data, 1) == (number, 1 + len(data))


@pytest.mark.parametrize(("number", "written"), WRITTEN.items())
def test_an_int32_is_read(number: int, written: str) -> None:
    """An int32 is read from its position, and what follows is left."""
    assert read_varint(bytes.fromhex(f"{written}80"), 0) == (number, len(written) // 2)


@pytest.mark.parametrize("written", [*LONGS.values(), "808080808000", "ffffffff1f"])
def test_an_int32_has_32_bits(written: str) -> None:
    """A number that does not fit is refused, however many bytes it takes."""
    with pytest.raises(ValueError, match="32 bits"):
        read_varint(bytes.fromhex(written), 0)


@pytest.mark.parametrize("written", ["80" * 10 + "00", "ff" * 9 + "02"])
def test_an_int64_has_64_bits(written: str) -> None:
    """A larger number is refused."""
    with pytest.raises(ValueError, match="64 bits"):
        read_varlong(bytes.fromhex(written), 0)


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_round_trip_and_truncated_ones_are_refused(number: int) -> None:
    """Every int64 round-trips, and no truncation of it is taken for a number."""
    data = varint(number)
    assert read_varlong(data, 0) == (number, len(data))
    for size in range(len(data)):
        with pytest.raises(IndexError):
            read_varlong(data[:size], 0)
