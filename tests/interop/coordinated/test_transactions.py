"""Transactions that a Java producer commits, aborts and leaves open, as our polls return them."""

from typing import Any

import pytest

from tests.golden.jvm import no_compiler_because, run_oracle
from tests.integration.records.test_real_transactions import COMMITTED, SCRIPT
from tests.interop.coordinated.conftest import GroupOn
from tests.support.clusters import BrokerOf, fresh_name
from tests.support.matrix import in_matrix
from zkconsumer import KafkaConsumer
from zkconsumer.model import TopicPartition
from zkconsumer.records.consumer_record import ConsumerRecord
from zkconsumer.sandbox import Sandbox, jars

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(no_compiler_because() is not None, reason=str(no_compiler_because())),
]

VERSIONS = ("0.11.0.3", "1.1.1", "2.8.2", "3.9.1")
WITH_ZSTD = {"2.8.2", "3.9.1"}
SENT = [word for line in SCRIPT if " send " in line for word in line.split()[2:]]


def write_transactions(cluster: Sandbox, topic: str, codec: str) -> list[str]:
    """Let Java write them; return what a Java consumer reads, one line of offset and value each."""
    java = run_oracle(
        "TransactionOracle.java",
        [cluster.bootstrap_servers, topic, codec],
        SCRIPT,
        class_path=jars.class_path(cluster.kafka),
    )
    assert [line.split()[1] for line in java] == COMMITTED
    return java


def read_to_end(cluster: Sandbox, tp: TopicPartition, **settings: Any) -> list[ConsumerRecord]:
    """Poll until the position is the end offset of the isolation level."""
    found: list[ConsumerRecord] = []
    with KafkaConsumer(
        bootstrap_servers=cluster.bootstrap_servers, auto_offset_reset="earliest", **settings
    ) as consumer:
        consumer.assign([tp])
        end = consumer.end_offsets([tp])[tp]
        while consumer.position(tp) < end:
            for records in consumer.poll(timeout_ms=200).values():
                found += records
        assert consumer.position(tp) == end
        assert consumer.poll(timeout_ms=300) == {}
    return found


@in_matrix("version", VERSIONS, ["0.11.0.3", "2.8.2"])
def test_committed_records_are_read_as_java_does(broker_of: BrokerOf, version: str) -> None:
    """In slices of two, or in tiny responses; read_uncommitted returns everything."""
    cluster = broker_of(version)
    tp = TopicPartition(fresh_name("transactions"), 0)
    cluster.create_topic(tp.topic)
    java = write_transactions(cluster, tp.topic, "zstd" if version in WITH_ZSTD else "lz4")
    settings: tuple[dict[str, int], ...] = (
        {"max_poll_records": 2},
        {"max_partition_fetch_bytes": 150},
    )
    for setting in settings:
        found = read_to_end(cluster, tp, isolation_level="read_committed", **setting)
        assert [f"{record.offset} {(record.value or b'').decode()}" for record in found] == java
    assert [(record.value or b"").decode() for record in read_to_end(cluster, tp)] == SENT


@pytest.mark.parametrize("version", ["0.11.0.3", "3.9.1"])
def test_a_group_commits_past_records_that_it_does_not_see(group_on: GroupOn, version: str) -> None:
    """Its offset is after aborted records and markers: the next member does not read them again."""
    group = group_on(version)
    tp = TopicPartition(group.topic(1), 0)
    java = write_transactions(group.cluster, tp.topic, "none")
    group.ours(tp.topic, isolation_level="read_committed")
    group.await_all(COMMITTED)
    with KafkaConsumer(
        bootstrap_servers=group.cluster.bootstrap_servers, isolation_level="read_committed"
    ) as other:
        # From the broker, since the last marker may come after records of the next transaction.
        last_stable = other.end_offsets([tp])[tp]
    assert last_stable > int(java[-1].split()[0])
    group.writer.ends[tp] = last_stable
    group.await_committed()
