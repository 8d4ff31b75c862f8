"""What the original's Java producer wrote with each codec, read in every way."""

from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

from tests.support.clusters import fresh_name
from tests.support.members import Stream, settings_for
from tests.support.real_topics import keyed_lines, write_lines
from zkconsumer import ZookeeperConsumerConnector
from zkconsumer.records.codecs import CODECS_OF_MESSAGES, Codec
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

Row = tuple[str, int, int, bytes | None, bytes | None]
COUNT = 3_000
LINES = keyed_lines(COUNT)
FETCH_BYTES = 60_000
"""A few of the producer's message sets, so that reading takes several fetches."""


def one_by_one(stream: Stream) -> Iterator[Row]:
    """Read message by message."""
    for message in stream:
        yield message.topic, message.partition, message.offset, message.key, message.value


def in_batches(stream: Stream) -> Iterator[Row]:
    """Read lists of a size that divides nothing evenly."""
    for batch in stream.batches(max_records=701):
        for message in batch:
            yield message.topic, message.partition, message.offset, message.key, message.value


def as_arrow(stream: Stream) -> Iterator[Row]:
    """Read Arrow batches."""
    for batch in stream.arrow_batches(max_records=701):
        names = ("topic", "partition", "offset", "key", "value")
        yield from zip(*(batch.column(name).to_pylist() for name in names), strict=True)


def by_record_batch_reader(stream: Stream) -> Iterator[Row]:
    """Read through a ``RecordBatchReader``, with the columns of a schema."""
    kinds = (pa.string(), pa.int32(), pa.int64(), pa.binary(), pa.binary())
    names = ("topic", "partition", "offset", "key", "value")
    wanted = pa.schema(list(zip(names, kinds, strict=True)))
    for batch in pa.RecordBatchReader.from_stream(stream, schema=wanted):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


WAYS: list[Callable[[Stream], Iterator[Row]]] = [
    one_by_one,
    in_batches,
    as_arrow,
    by_record_batch_reader,
]


def rows(cluster: Sandbox, topic: str, way: Callable[[Stream], Iterator[Row]]) -> list[Row]:
    """Return all rows of a topic, as a fresh group reads them."""
    config = settings_for(
        cluster,
        fresh_name("group"),
        consumer_timeout_ms=10_000,
        fetch_message_max_bytes=FETCH_BYTES,
    )
    with ZookeeperConsumerConnector(config) as connector:
        [stream] = connector.create_message_streams({topic: 1})[topic]
        coming = way(stream)
        return [next(coming) for _ in LINES]


@pytest.mark.parametrize("codec", CODECS_OF_MESSAGES)
def test_every_way_of_reading_returns_what_was_produced(cluster: Sandbox, codec: Codec) -> None:
    """Each line comes with its key, at its offset, once."""
    topic = fresh_name(codec.name.lower())
    cluster.create_topic(topic)
    write_lines(cluster, topic, LINES, codec, java=True)
    expected = [
        (topic, 0, offset, key.encode(), value.encode())
        for offset, (key, value) in enumerate(LINES)
    ]
    for way in WAYS:
        assert rows(cluster, topic, way) == expected, way.__name__
