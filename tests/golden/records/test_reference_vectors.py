"""Messages whose bytes were captured from a Kafka 0.8.2.2 broker."""

import pytest

from tests.support.engines import each_engine
from tests.support.record_sets import decode
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set

__all__ = ["each_engine"]
pytestmark = pytest.mark.usefixtures("each_engine")

VECTORS = {
    "0000000000000000 00000014 a4cdab3a 00 00 00000001 6b 00000005 68656c6c6f": Record(
        0, b"k", b"hello"
    ),
    "0000000000000001 0000000f 908204f6 00 00 00000001 6b ffffffff": Record(1, b"k", None),
}


@pytest.mark.parametrize("text", VECTORS)
def test_a_message_decodes(text: str) -> None:
    """The bytes decode to the record."""
    assert decode(bytes.fromhex(text)).records == [VECTORS[text]]


@pytest.mark.parametrize("text", VECTORS)
def test_a_message_is_built_byte_for_byte(text: str) -> None:
    """The record encodes to the bytes."""
    assert build_message_set([VECTORS[text]]) == bytes.fromhex(text)
