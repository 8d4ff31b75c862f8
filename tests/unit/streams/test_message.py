"""Messages, and the decoders of their keys and values."""

import pickle
from copy import copy, deepcopy

import pytest

from tests.support.chunks import T1, chunk_of, claim_of, each_chunk, ignore
from tests.support.manual_clock import ManualClock
from tests.support.record_sets import records
from zkconsumer.model import Record, TimestampType
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.decoder import StringDecoder
from zkconsumer.streams.message import MessageAndMetadata
from zkconsumer.streams.stream import KafkaStream


def message_of(record: Record) -> MessageAndMetadata[str, str]:
    """Return a message of partition t-1 with string decoders."""
    return MessageAndMetadata(T1, record, StringDecoder(), StringDecoder())


def test_a_messages_fields_are_those_of_the_record() -> None:
    """A message has the topic, partition, offset and timestamp of its record."""
    message = message_of(Record(3, b"k", b"v", 1_400_000_000_000, TimestampType.LOG_APPEND_TIME))
    assert (message.topic, message.partition, message.offset) == ("t", 1, 3)
    assert message.timestamp == 1_400_000_000_000
    assert message.timestamp_type is TimestampType.LOG_APPEND_TIME


def test_magic_0_has_no_timestamp() -> None:
    """A record of magic 0 has timestamp -1 and timestamp type NONE."""
    message = message_of(Record(0, None, b"v"))
    assert (message.timestamp, message.timestamp_type) == (-1, TimestampType.NONE)


def test_keys_and_values_are_decoded_and_their_bytes_kept() -> None:
    """Keys and values are decoded on access, and their bytes are kept."""
    message = message_of(Record(0, "ключ".encode(), "é".encode()))
    assert (message.key, message.value) == ("ключ", "é")
    assert (message.raw_key, message.raw_value) == ("ключ".encode(), "é".encode())


def test_null_is_not_decoded_and_empty_is() -> None:
    """A null stays None; empty bytes become an empty text."""
    message = message_of(Record(0, None, b""))
    assert (message.key, message.value) == (None, "")
    assert (message.raw_key, message.raw_value) == (None, b"")


def test_without_decoders_keys_and_values_are_bytes() -> None:
    """Without decoders keys and values are bytes."""
    message: MessageAndMetadata[bytes, bytes] = MessageAndMetadata(
        T1, Record(0, b"", b"\xff"), None, None
    )
    assert (message.key, message.value) == (b"", b"\xff")


def test_decoding_happens_at_each_access_and_only_then() -> None:
    """A value is decoded at each access and only then, as in the original."""
    calls: list[bytes] = []

    def decode(data: bytes) -> int:
        calls.append(data)
        return len(data)

    message: MessageAndMetadata[int, int] = MessageAndMetadata(
        T1, Record(0, b"kk", b"v"), decode, decode
    )
    assert (message.offset, calls) == (0, [])
    assert (message.value, message.value, message.key) == (1, 1, 2)
    assert calls == [b"v", b"v", b"kk"]


def test_repr_shows_the_place_and_the_bytes_without_decoding() -> None:
    """``repr`` decodes nothing, so that a message whose decoder would fail can be printed."""
    text = repr(message_of(Record(9, None, b"\xff")))
    assert "topic='t'" in text
    assert "partition=1" in text
    assert "offset=9" in text
    assert r"b'\xff'" in text


def test_the_string_decoder_takes_an_encoding_and_what_to_do_with_errors() -> None:
    """The string decoder is UTF-8 and strict by default."""
    assert StringDecoder("latin-1")(b"\xe9") == "é"
    assert StringDecoder(errors="replace")(b"\xff") == "\ufffd"
    with pytest.raises(UnicodeDecodeError):
        StringDecoder()(b"\xff")


@pytest.mark.usefixtures(each_chunk.__name__)
def test_messages_of_both_engines_are_alike() -> None:
    """Messages of both engines have the same class, attributes, ``repr``, pickles and copies."""
    queue = ChunkQueue(1)
    queue.offer(chunk_of(claim_of(T1), [7]), ignore)
    stream: KafkaStream[bytes, str] = KafkaStream(
        queue, clock=ManualClock(), key_decoder=bytes, value_decoder=StringDecoder()
    )
    message = next(stream)
    assert isinstance(message, MessageAndMetadata)
    expected = MessageAndMetadata(T1, records(7)[0], bytes, StringDecoder())
    names = [name for name in dir(expected) if not name.startswith("_")]
    dumps = [pickle.dumps(message, protocol) for protocol in range(2, 6)]
    # The process that loads a pickle may have the other engine.
    assert not any(b"native" in dump for dump in dumps)
    for twin in (message, *map(pickle.loads, dumps), copy(message), deepcopy(message)):
        assert [getattr(twin, name) for name in names] == [
            getattr(expected, name) for name in names
        ]
        assert repr(twin) == repr(expected)
        assert isinstance(twin, MessageAndMetadata)
    assert message != next(iter([expected]))
    assert not hasattr(message, "__dict__")
