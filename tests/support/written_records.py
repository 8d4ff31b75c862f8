"""Writes records in every codec that a broker supports, and checks what it has kept of them."""

from collections.abc import Sequence
from contextlib import closing
from enum import IntEnum

from tests.support.waiting import wait_until
from zkconsumer import KafkaConsumer
from zkconsumer.clock import SystemClock
from zkconsumer.model import Broker, Record, TimestampType, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.produce.batch_producer import BatchProducer, BatchSettings
from zkconsumer.produce.outgoing import HeadedRecord, Outgoing
from zkconsumer.records.codecs import Codec
from zkconsumer.records.rows import Headers

LONG_AGO_MS = 1_400_000_000_000
NO_TIME = -1
HEADERS: Headers = (("trace", b"1"), ("trace", b""), ("none", None), ("größe", b"\xff\0"))

Kept = tuple[bytes | None, bytes | None, int, Headers]
"""Key, value, timestamp, headers."""


class StoredFields(IntEnum):
    """What a broker keeps of a record besides key and value."""

    NOTHING = 0
    TIMESTAMPS = 1
    HEADERS = 2


def outgoing(stored_fields: StoredFields) -> list[Outgoing]:
    """Return records of all kinds, with headers if the broker keeps them."""
    created = TimestampType.CREATE_TIME
    plain: list[Outgoing] = [
        Record(7, b"key", b"value", LONG_AGO_MS, created),
        Record(7, None, None, LONG_AGO_MS + 50, TimestampType.LOG_APPEND_TIME),
        Record(7, b"", b"", LONG_AGO_MS - 9, created),
        Record(3, None, b"no time"),
        Record(0, b"large", b"large " * 50_000, LONG_AGO_MS, created),
    ]
    if stored_fields is StoredFields.HEADERS:
        plain.append(HeadedRecord(Record(0, b"h", b"headed", LONG_AGO_MS, created), HEADERS))
    return plain


def write_in_each_codec(
    brokers: Sequence[Broker],
    tp: TopicPartition,
    stored_fields: StoredFields,
    codecs: Sequence[Codec],
    *,
    dialer: BrokerDialer | None = None,
) -> list[Outgoing]:
    """Write all kinds of records once in each codec; return what was sent."""
    sent: list[Outgoing] = []
    for codec in codecs:
        settings = BatchSettings(codec=codec)
        with closing(BatchProducer(brokers, dialer=dialer, settings=settings)) as producer:
            records = outgoing(stored_fields)
            (written,) = producer.write({tp: records})
            assert (written.base_offset, written.count) == (len(sent), len(records))
            sent += records
    return sent


def check_what_is_there(
    consumer: KafkaConsumer,
    tp: TopicPartition,
    sent: Sequence[Outgoing],
    stored_fields: StoredFields,
) -> None:
    """Read a whole partition, and compare it with what was sent, as far as brokers keep it."""
    consumer.assign([tp])
    consumer.seek(tp, 0)
    records_read: list[Kept] = []

    def all_came() -> bool:
        for records in consumer.poll(timeout_ms=1_000).values():
            records_read.extend(
                (record.key, record.value, record.timestamp, tuple(record.headers))
                for record in records
            )
        return len(records_read) >= len(sent)

    wait_until(all_came, what="what was written")
    now_ms = SystemClock().wall_ms()
    for outgoing, (key, value, timestamp, headers) in zip(sent, records_read, strict=True):
        record, sent_headers = (outgoing, ()) if isinstance(outgoing, Record) else outgoing
        assert (key, value, headers) == (record.key, record.value, sent_headers)
        if stored_fields is StoredFields.NOTHING:
            assert timestamp == NO_TIME
        elif record.timestamp == NO_TIME:
            assert now_ms - 60_000 < timestamp <= now_ms
        else:
            assert timestamp == record.timestamp
