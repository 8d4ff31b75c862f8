"""Topics written by Kafka's own producers, and the bytes that a real broker returns."""

from collections.abc import Iterator, Sequence

from tests.support.raw_connections import raw_connection
from zkconsumer.records.codecs import Codec
from zkconsumer.records.decode import DecodedSet, decode_record_set
from zkconsumer.sandbox.cluster import Sandbox
from zkconsumer.wire.messages.fetch import (
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchTopic,
)

KeyedLine = tuple[str, str]
CONSOLE_PRODUCER = "kafka.tools.ConsoleProducer"
BATCH_BYTES = 100_000
TIMEOUT_MS = 30_000
ROOM = 1 << 26


def keyed_lines(count: int) -> list[KeyedLine]:
    """Return distinct log lines that compress well, and contain their number."""
    return [
        (
            f"{number * 2_654_435_761 % 2**32:08x}",
            f"line {number}: GET /item/{number * number % 9973} took {number * 7919 % 4001} us"
            + " retried" * (number % 5),
        )
        for number in range(count)
    ]


def write_lines(
    cluster: Sandbox, topic: str, lines: Sequence[KeyedLine], codec: Codec, *, java: bool
) -> None:
    """Write keyed lines with the console producer.

    Args:
        cluster: the cluster.
        topic: an existing topic.
        lines: keys and values in ASCII, without tab or newline.
        codec: the producer's compression.
        java: whether to use the Java producer; else the Scala one, shipped up to 0.11.
    """
    options = ["--compression-codec", codec.name.lower(), "--request-required-acks", "1"]
    if java:
        options += ["--max-partition-memory-bytes", str(BATCH_BYTES)]
    if cluster.kafka.startswith("0.8"):
        options += ["--new-producer"] if java else []
    elif not java:
        options += ["--old-producer"]
    result = cluster.run_scala_tool(
        CONSOLE_PRODUCER,
        *("--broker-list", cluster.bootstrap_servers, "--topic", topic),
        *("--property", "parse.key=true", *options),
        stdin="".join(f"{key}\t{value}\n" for key, value in lines).encode(),
    )
    assert result.status == 0, result.errors


class PartitionReader:
    """Fetches partition 0 of topics from the first broker, with our wire and record layers."""

    def __init__(self, cluster: Sandbox) -> None:
        self._connection = raw_connection(cluster.brokers[0], timeout_ms=TIMEOUT_MS)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def fetch(self, topic: str, offset: int, max_bytes: int = 1 << 20) -> FetchedPartition:
        """Fetch once."""
        wanted = FetchPartition(partition=0, fetch_offset=offset, max_bytes=max_bytes)
        request = FetchRequest(
            max_wait_ms=100,
            min_bytes=1,
            topics=(FetchTopic(topic=topic, partitions=(wanted,)),),
        )
        response = self._connection.request(request, version=0, timeout_ms=TIMEOUT_MS)
        return response.topics[0].partitions[0]

    def decode(self, topic: str, offset: int, max_bytes: int = 1 << 20) -> DecodedSet:
        """Fetch and decode once."""
        fetched = self.fetch(topic, offset, max_bytes)
        assert fetched.error_code == 0
        return decode_record_set(fetched.records, fetch_offset=offset, max_decompressed_bytes=ROOM)

    def read_all(self, topic: str, offset: int, max_bytes: int = 1 << 20) -> Iterator[DecodedSet]:
        """Fetch and decode until the high watermark."""
        while True:
            fetched = self.fetch(topic, offset, max_bytes)
            assert fetched.error_code == 0
            if offset == fetched.high_watermark:
                return
            decoded = decode_record_set(
                fetched.records, fetch_offset=offset, max_decompressed_bytes=ROOM
            )
            assert decoded.next_offset > offset, decoded.error
            yield decoded
            offset = decoded.next_offset
