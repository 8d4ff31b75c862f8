"""Arrow batches and lists have what single messages have, whatever the record sets."""

from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.chunks import T0, T1, are_native, claim_of, each_chunk, ignore, native_records
from tests.support.shares import examples
from zkconsumer.clock import SystemClock
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import CODECS_OF_MESSAGES, Codec
from zkconsumer.records.decode import decode_record_set
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.delivery import Delivery
from zkconsumer.streams.stream import KafkaStream

pytestmark = pytest.mark.usefixtures(each_chunk.__name__)

Stream = KafkaStream[bytes, bytes]
Row = tuple[bytes | None, bytes | None, str, int, int, int, int]
Read = Callable[[Stream, int], Iterator[Row]]
blobs = st.none() | st.binary(max_size=60)


@st.composite
def record_sets(draw: st.DrawFn) -> tuple[int, int, bytes]:
    """Draw a partition, a fetch offset, and a record set of any codec and magic 0 or 1."""
    magic = draw(st.sampled_from([0, 1]))
    codec = draw(st.sampled_from(CODECS_OF_MESSAGES))
    stamps = st.just((-1, TimestampType.NONE))
    if magic:
        kind = draw(st.sampled_from([TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME]))
        times = st.integers(-1, 2**63 - 1)
        by_broker = codec is not Codec.NONE and kind is TimestampType.LOG_APPEND_TIME
        stamps = st.tuples(st.just(draw(times)) if by_broker else times, st.just(kind))
    offsets = draw(st.lists(st.integers(0, 50), min_size=1, max_size=20, unique=True).map(sorted))
    found = [Record(offset, draw(blobs), draw(blobs), *draw(stamps)) for offset in offsets]
    data = build_message_set(found, magic=magic, codec=codec)
    return draw(st.integers(0, 1)), draw(st.integers(0, offsets[-1])), data


def singly(stream: Stream, _most: int) -> Iterator[Row]:
    """Read one message after the other."""
    most_millis = (2**63 - 1) // 1000
    for message in stream:
        micros = min(message.timestamp, most_millis) * 1000
        kind = int(message.timestamp_type)
        yield (
            message.key,
            message.value,
            message.topic,
            message.partition,
            message.offset,
            micros,
            kind,
        )


def in_lists(stream: Stream, most: int) -> Iterator[Row]:
    """Read by ``batches``."""
    for batch in stream.batches(max_records=most, timeout_ms=0):
        assert 1 <= len(batch) <= most
        yield from singly(iter(batch), most)  # type: ignore[arg-type]  # it only iterates


def in_arrow(stream: Stream, most: int) -> Iterator[Row]:
    """Read by ``arrow_batches``."""
    for batch in stream.arrow_batches(max_records=most, timeout_ms=0):
        assert 1 <= batch.num_rows <= most
        batch.validate(full=True)
        columns = [
            (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
            for column in batch.columns
        ]
        yield from zip(*columns, strict=True)


def outcome(
    read: Read, sets: list[tuple[int, int, bytes]], most: int, delivery: Delivery
) -> list[object]:
    """Return all rows, all commits ahead, and the final offsets of the claims."""
    claims, queue = (claim_of(T0), claim_of(T1)), ChunkQueue(100)
    commits: list[tuple[str, int]] = []

    def commit(claim: PartitionClaim, offset: int) -> bool:
        commits.append((str(claim.topic_partition), offset))
        return True

    for partition, fetch_offset, data in sets:
        decoded = decode_record_set(data, fetch_offset=fetch_offset, max_decompressed_bytes=1 << 20)
        found = native_records(data, fetch_offset) if are_native() else decoded.records
        chunk = Chunk(claims[partition], fetch_offset, decoded.next_offset, found, 100)
        assert queue.offer(chunk, ignore)
    queue.close()
    stream = Stream(queue, clock=SystemClock(), delivery=delivery, commit_ahead=commit)
    rows = list(read(stream, most))
    return [rows, commits, [(claim.consumed_offset, claim.delivered_offset) for claim in claims]]


@settings(deadline=None, max_examples=examples(150))
@given(
    st.lists(record_sets(), max_size=5),
    st.integers(1, 30),
    st.sampled_from(Delivery),
)
def test_batches_have_what_single_messages_have(
    sets: list[tuple[int, int, bytes]], most: int, delivery: Delivery
) -> None:
    """Every field of every record is the same, and so are commits and final offsets."""
    expected = outcome(singly, sets, most, delivery)
    assert outcome(in_lists, sets, most, delivery) == expected
    assert outcome(in_arrow, sets, most, delivery) == expected
