"""Encodes outgoing records for each version of Produce. Pure.

A broker accepts message sets of magic 0 up to version 1, of magic 1 in version 2, and from version
3 on only batches of magic 2; it converts them to the topic's format. Records without a timestamp
get the time of writing if the format has timestamps, as in the original's producer: brokers
delete records by their timestamps.

Source: Kafka 0.10 and 3.9 ``ProduceRequest``, ``KafkaProducer``; KIP-32, KIP-82, KIP-98, KIP-110.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from zkconsumer.errors import LocalProtocolError
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.codecs import CODECS_OF_MESSAGES, Codec
from zkconsumer.records.rows import Headers
from zkconsumer.wire.messages.produce import (
    FIRST_WITH_BATCHES,
    FIRST_WITH_TIMESTAMPS,
    FIRST_WITH_ZSTD,
)

_ENTRY_BYTES = 26
"""The overhead of a message of magic 0 in the log besides key and value; magic 2 needs less."""

_HEADER_BYTES = 10
"""The maximum overhead of a header besides name and value, unless it is larger than 32 MB."""

_NO_TIME = -1


class HeadedRecord(NamedTuple):
    """A record with headers; only brokers of 0.11 and later store them."""

    record: Record
    headers: Headers


Outgoing: TypeAlias = Record | HeadedRecord
"""A record to write. Its offset is ignored: the broker assigns a new one."""


def parts_of(outgoing: Outgoing) -> tuple[Record, Headers]:
    """Return the record and its headers."""
    return (outgoing, ()) if isinstance(outgoing, Record) else (outgoing.record, outgoing.headers)


def outgoing_bytes(outgoing: Outgoing) -> int:
    """Return the size of a record in an uncompressed log of magic 0, plus that of its headers."""
    record, headers = parts_of(outgoing)
    size = _ENTRY_BYTES + len(record.key or b"") + len(record.value or b"")
    for name, value in headers:
        size += _HEADER_BYTES + len(name.encode("utf-8", "replace")) + len(value or b"")
    return size


def least_version(codec: Codec) -> int:
    """Return the first version of Produce in which brokers accept this codec."""
    return 0 if codec in CODECS_OF_MESSAGES else FIRST_WITH_ZSTD


class ProducerSequence(NamedTuple):
    """The sequence of a batch, by which a broker recognizes duplicates (KIP-98).

    Attributes:
        producer_id: -1 for none.
        epoch: the epoch of that id, -1 for none.
        first: the number of the batch's first record in its partition, -1 for none.
    """

    producer_id: int = -1
    epoch: int = -1
    first: int = -1


NO_SEQUENCE = ProducerSequence()


def build_set(
    records: Sequence[Outgoing],
    *,
    version: int,
    codec: Codec,
    now_ms: int,
    sequence: ProducerSequence = NO_SEQUENCE,
) -> bytes:
    """Return a partition's record set for a version of Produce.

    Args:
        records: the records, in order.
        version: the version of Produce.
        codec: the codec to compress with.
        now_ms: the timestamp of records without one.
        sequence: the sequence of an idempotent producer's batch; used from version 3 on.

    Raises:
        LocalProtocolError: the records can't be encoded in the format of that version.
        UnsupportedCodec: the library for the codec is not installed.
    """
    has_time = version >= FIRST_WITH_TIMESTAMPS
    chosen: list[Record] = []
    headers: dict[int, Headers] = {}
    for position, row in enumerate(records):
        record, its_headers = (row, ()) if type(row) is Record else parts_of(row)
        if its_headers:
            headers[position] = its_headers
        chosen.append(_numbered(record, position, now_ms, has_time=has_time))
    if version >= FIRST_WITH_BATCHES:
        producer_id, epoch, first = sequence
        traits = BatchTraits(producer_id=producer_id, producer_epoch=epoch, base_sequence=first)
        return build_batch(chosen, codec=codec, headers=headers, traits=traits)
    if headers:
        raise headers_refused(min(headers), version)
    return build_message_set(chosen, magic=int(version >= FIRST_WITH_TIMESTAMPS), codec=codec)


def headers_refused(position: int, version: int) -> LocalProtocolError:
    """Return the error for a set whose record at this index has headers, before Kafka 0.11."""
    return LocalProtocolError(
        f"record {position} of the set has headers, which brokers before Kafka 0.11 can't "
        f"store (Produce version {version}): write it without them"
    )


def _numbered(record: Record, position: int, now_ms: int, *, has_time: bool) -> Record:
    """Return the record as a producer encodes it: numbered from 0, with a create time."""
    _, key, value, stamp, kind = record
    if not has_time:
        stamp, kind = _NO_TIME, TimestampType.NONE
    else:
        stamp, kind = now_ms if stamp == _NO_TIME else stamp, TimestampType.CREATE_TIME
    # This takes a third of the time of calling the class.
    return tuple.__new__(Record, (position, key, value, stamp, kind))
