"""Transactions of real Java producers, on real brokers: we read what a Java consumer reads."""

from itertools import product

import pytest

from tests.golden.jvm import no_compiler_because, run_oracle
from tests.support.clusters import BrokerOf, fresh_name
from tests.support.engines import IS_BUILT, both
from tests.support.matrix import in_matrix
from tests.support.raw_connections import raw_connection
from zkconsumer.model import Record
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.records.codecs import Codec
from zkconsumer.records.decode import decode_record_set
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.sandbox import jars
from zkconsumer.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(no_compiler_because() is not None, reason=str(no_compiler_because())),
]

TIMEOUT_MS = 30_000
decode = both if IS_BUILT else decode_record_set
VERSIONS = {"0.11.0.3": 4, "1.1.1": 6, "2.8.2": 12, "3.9.1": 12}
"""Broker releases, and the newest version of Fetch that each has and we support."""

SCRIPT = [
    *("a begin", "b begin", "a send a1 a2", "b send b1", "- send p1 p2", "a send a3", "a abort"),
    *("b send b2", "a begin", "a send a4 a5 a6", "b abort", "- send p3", "a commit"),
    *("b begin", "b send b3", "b commit", "a begin", "a send a7", "a abort", "- send p4"),
    *("a begin", "a send a8", "a commit", "b begin", "b send b4", "- send p5"),
]
COMMITTED = ["p1", "p2", "a4", "a5", "a6", "p3", "b3", "p4", "a8"]
"""In log order; records from b4 on are not readable, as its transaction is still open."""


def read(
    connection: BrokerConnection, topic: str, *, version: int, max_bytes: int, start: int
) -> tuple[list[Record], int]:
    """Read committed records from an offset on; return them and the last stable offset."""
    found: list[Record] = []
    offset = start
    while True:
        wanted = FetchPartition(partition=0, fetch_offset=offset, max_bytes=max_bytes)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=1,
            isolation_level=IsolationLevel.READ_COMMITTED,
            topics=(FetchTopic(topic=topic, partitions=(wanted,)),),
        )
        response = connection.request(request, version=version, timeout_ms=TIMEOUT_MS)
        (fetched,) = response.topics[0].partitions
        assert fetched.error_code == 0
        decoded = decode(
            fetched.records,
            fetch_offset=offset,
            max_decompressed_bytes=1 << 20,
            isolation=IsolationLevel.READ_COMMITTED,
            aborted=fetched.aborted_transactions,
        )
        assert decoded.error is None
        found += decoded.records
        if offset >= fetched.last_stable_offset:
            return found, fetched.last_stable_offset
        assert decoded.next_offset > offset
        offset = decoded.next_offset


@in_matrix(
    ("kafka", "codec"),
    [
        *product(VERSIONS, (Codec.NONE, Codec.LZ4)),
        *product(("2.8.2", "3.9.1"), (Codec.ZSTD,)),
    ],
    [("0.11.0.3", Codec.NONE), ("1.1.1", Codec.LZ4), ("3.9.1", Codec.NONE), ("3.9.1", Codec.ZSTD)],
)
def test_committed_records_are_read_as_java_does(
    broker_of: BrokerOf, kafka: str, codec: Codec
) -> None:
    """Whatever the size of responses, and from every offset: no aborted records, no markers."""
    brokers, version = broker_of(kafka), VERSIONS[kafka]
    topic = fresh_name("transactions")
    brokers.create_topic(topic)
    java = run_oracle(
        "TransactionOracle.java",
        [brokers.bootstrap_servers, topic, codec.name.lower()],
        SCRIPT,
        class_path=jars.class_path(brokers.kafka),
    )
    assert [line.split()[1] for line in java] == COMMITTED
    connection = raw_connection(brokers.brokers[0], timeout_ms=TIMEOUT_MS)
    for max_bytes in (1, 150, 400, 1 << 20):
        found, stable = read(connection, topic, version=version, max_bytes=max_bytes, start=0)
        assert [f"{record.offset} {(record.value or b'').decode()}" for record in found] == java
        for start in range(stable):
            later, _ = read(connection, topic, version=version, max_bytes=max_bytes, start=start)
            assert later == [record for record in found if record.offset >= start]
    connection.close()
