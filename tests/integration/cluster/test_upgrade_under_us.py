"""A broker is upgraded and restarted on its data while a group's consumer reads from it."""

import shutil
from pathlib import Path

import pytest

from tests.support.real_topics import keyed_lines, write_lines
from tests.support.waiting import wait_until
from zkconsumer import KafkaConsumer
from zkconsumer.model import TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.ports import pick_free

pytestmark = pytest.mark.sandbox

COUNT = 100
OLD, NEW = "0.9.0.1", "1.1.1"


def test_an_upgrade_under_a_consumer(tmp_path: Path) -> None:
    """It continues where it was, with the new version's features; nothing is lost or read twice."""
    taken: set[int] = set()
    zookeeper_port, broker_port = pick_free(taken), pick_free(taken)

    def broker(version: str) -> Sandbox:
        # Each sandbox numbers its tools from the start again.
        shutil.rmtree(tmp_path / "tools", ignore_errors=True)
        return Sandbox(
            kafka=version,
            brokers=1,
            zookeeper_port=zookeeper_port,
            broker_ports=[broker_port],
            work_dir=tmp_path,
        )

    lines = keyed_lines(2 * COUNT)
    read: list[str] = []

    def read_on(count: int) -> bool:
        for records in consumer.poll(timeout_ms=200).values():
            read.extend(record.value.decode() for record in records)
        return len(read) >= count

    tp = TopicPartition("up", 0)
    consumer = KafkaConsumer(
        "up",
        bootstrap_servers=f"127.0.0.1:{broker_port}",
        bootstrap_timeout_ms=0,
        group_id="group",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=30_000,
    )
    try:
        for number, version in enumerate((OLD, NEW)):
            with broker(version) as sandbox:
                if version == OLD:
                    sandbox.create_topic("up")
                written = lines[number * COUNT : (number + 1) * COUNT]
                write_lines(sandbox, "up", written, Codec.GZIP, java=True)
                total = (number + 1) * COUNT
                wait_until(lambda total=total: read_on(total), what="the lines")  # type: ignore[misc]
                consumer.commit()
                if version == NEW:
                    assert consumer.committed(tp) == 2 * COUNT
                    # The old version has no timestamps to look up.
                    assert consumer.offsets_for_times({tp: 0})[tp] is not None
                    consumer.close()
    finally:
        consumer.close()
    assert read == [value for _, value in lines]
