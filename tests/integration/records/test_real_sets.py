"""Message sets of a real 0.8.2.2 broker: we read its producers' records, and it reads ours."""

import pytest

from tests.support.real_topics import PartitionReader, keyed_lines, write_lines
from tests.support.set_producer import Producer
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records import xerial
from zkconsumer.records.codecs import CODECS_OF_MESSAGES, Codec
from zkconsumer.records.entries import entry_at
from zkconsumer.sandbox.cluster import Sandbox

pytestmark = pytest.mark.sandbox

CODECS = list(CODECS_OF_MESSAGES)
COMPRESSING = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
LINES = keyed_lines(3000)
RECORDS = [
    Record(offset, key.encode(), value.encode()) for offset, (key, value) in enumerate(LINES)
]


def written(cluster: Sandbox, codec: Codec, *, java: bool) -> str:
    """Return a topic with the lines of that codec and producer; write them the first time."""
    topic = f"{codec.name.lower()}-{'java' if java else 'scala'}"
    if topic not in WRITTEN:
        cluster.create_topic(topic)
        write_lines(cluster, topic, LINES, codec, java=java)
        WRITTEN.add(topic)
    return topic


WRITTEN: set[str] = set()


def wrappers(data: bytes) -> list[tuple[int, int, bytes]]:
    """Return offset, codec bits and bytes of the entries of a set."""
    found, position = [], 0
    while (entry := entry_at(data, position)) is not None:
        bits = data[position + 17] & 7
        found.append((entry.offset, bits, data[position : entry.stop]))
        position = entry.stop
    return found


@pytest.mark.parametrize("java", [False, True], ids=["scala", "java"])
@pytest.mark.parametrize("codec", CODECS)
def test_all_records_are_read_exactly(
    cluster: Sandbox, reader: PartitionReader, codec: Codec, java: bool
) -> None:
    """Count, keys, values and offsets are right, and the entries really were compressed."""
    topic = written(cluster, codec, java=java)
    first = bytes(reader.fetch(topic, 0).records)
    assert {bits for _, bits, _ in wrappers(first)} == {codec}
    sets = list(reader.read_all(topic, 0, max_bytes=200_000))
    assert [decoded.error for decoded in sets] == [None] * len(sets)
    assert [record for decoded in sets for record in decoded.records] == RECORDS


@pytest.mark.parametrize("codec", COMPRESSING)
def test_reading_resumes_inside_a_compressed_set(
    cluster: Sandbox, reader: PartitionReader, codec: Codec
) -> None:
    """From an offset inside a wrapper, that record and all later ones are read."""
    topic = written(cluster, codec, java=True)
    ends = [end for end, _, _ in wrappers(bytes(reader.fetch(topic, 0).records))]
    assert len(ends) > 1
    for offset in (1, ends[0] // 2, ends[0], ends[0] + 1, (ends[0] + ends[1]) // 2):
        decoded = reader.decode(topic, offset)
        assert decoded.error is None
        assert decoded.records == RECORDS[offset : decoded.next_offset]
        assert decoded.records[0].offset == offset


def test_snappy_sets_of_several_blocks_are_read(cluster: Sandbox, reader: PartitionReader) -> None:
    """A batch above 32 KiB has several snappy blocks."""
    topic = written(cluster, Codec.SNAPPY, java=True)
    _, _, entry = wrappers(bytes(reader.fetch(topic, 0).records))[0]
    blocks = list(xerial.blocks_in(entry[26:]))
    assert entry[26:].startswith(xerial.HEADER)
    assert len(blocks) > 1
    assert {xerial.uncompressed_size(block) for block in blocks[:-1]} == {xerial.BLOCK_BYTES}


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_a_first_entry_above_the_fetch_size_reports_its_size(
    cluster: Sandbox, reader: PartitionReader, codec: Codec
) -> None:
    """A fetch of exactly that size succeeds; with one byte less it does not."""
    topic = written(cluster, codec, java=True)
    needed = reader.decode(topic, 10, max_bytes=20).first_entry_size_bytes
    assert needed is not None
    short = reader.decode(topic, 10, max_bytes=needed - 1)
    assert (list(short.records), short.first_entry_size_bytes) == ([], needed)
    enough = reader.decode(topic, 10, max_bytes=needed)
    assert enough.records[0] == RECORDS[10]
    assert enough.first_entry_size_bytes is None


@pytest.mark.parametrize("codec", CODECS)
def test_the_broker_and_the_scala_consumer_read_what_we_write(
    cluster: Sandbox, reader: PartitionReader, codec: Codec
) -> None:
    """The broker decompresses sets to assign offsets, so ours must be valid; null stays null."""
    topic = f"ours-{codec.name.lower()}"
    cluster.create_topic(topic)
    sent = [*RECORDS[:1500], Record(1500, b"key", None), Record(1501, None, b"last")]
    producer = Producer(cluster.brokers)
    try:
        assert producer.send(TopicPartition(topic, 0), sent, codec=codec) == 0
    finally:
        producer.close()
    sets = list(reader.read_all(topic, 0))
    assert [record for decoded in sets for record in decoded.records] == sent

    shell = cluster.run_scala_tool(
        "kafka.tools.SimpleConsumerShell",
        *("--broker-list", cluster.bootstrap_servers, "--topic", topic, "--partition", "0"),
        *("--offset", "-2", "--no-wait-at-logend"),
    )
    values = [line for line in shell.lines if line.startswith(("line ", "last"))]
    assert values == [value for _, value in LINES[:1500]] + ["last"]
