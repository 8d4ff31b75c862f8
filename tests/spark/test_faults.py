"""Streaming queries go on while brokers, leaders, logs, ZooKeeper and executors fail."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyarrow.dataset import dataset
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from tests.spark.conftest import SETTINGS, Brokers
from tests.support.clusters import expire, fresh_name, without
from tests.support.process_table import processes_with
from tests.support.quick_spark import JAVA
from tests.support.stream_batches import (
    COLUMNS,
    Batches,
    Found,
    assert_all_once,
    await_rows,
    ends_of,
    run_to_end,
    running,
)
from tests.support.traffic import Traffic, partitions_of, write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

BROKERS = 3
ROOT = Path(__file__).parents[2]
DEADLINE_S = 200
PAUSE_MS = 30
"""Between messages of the traffic: shorter than a batch, yet all can be read back repeatedly."""


def options_for(cluster: Sandbox, topic: str, **more: str) -> dict[str, str]:
    """Return options to read a topic from its beginning."""
    return {
        "zookeeper.connect": cluster.zookeeper_connect,
        "subscribe": topic,
        "startingOffsets": "earliest",
        **more,
    }


# --- Logs whose first messages expire -------------------------------------------------------------


def test_messages_that_expire_while_a_query_is_down_are_reported_exactly(
    brokers: Brokers, spark: SparkSession, spark_log: Path, checkpoint: str
) -> None:
    """The query stops and names the lost range; without ``failOnDataLoss`` it continues."""
    topic = fresh_name("expired")
    (tp,) = partitions_of(topic, 1)
    values = [b"%d " % number + b"x" * 100 for number in range(40)]
    brokers.cluster.create_topic(topic, assignment={0: [2]}, config={"segment.bytes": "1000"})
    batches, options = Batches(), options_for(brokers.cluster, topic)
    for value in values[:5]:
        write(brokers.cluster, tp, [value])
    run_to_end(spark, options, batches, checkpoint)
    assert batches.found == [(tp, offset, values[offset]) for offset in range(5)]

    for value in values[5:]:
        write(brokers.cluster, tp, [value])
    start = expire(brokers.cluster, brokers.folder, tp, broker_id=2)
    assert 5 < start < 40
    lost = re.escape(f"{tp} [5, {start}) is lost: the log begins at {start}")
    with pytest.raises(StreamingQueryException, match=f"failOnDataLoss: {lost}"):
        run_to_end(spark, options, batches, checkpoint)
    assert len(batches.found) == 5  # it did not read on

    after = Batches()
    run_to_end(spark, options | {"failOnDataLoss": "false"}, after, checkpoint)
    assert after.found == [(tp, offset, values[offset]) for offset in range(start, 40)]
    wait_until(
        lambda: re.search(f"{lost}.*failOnDataLoss is false: going on", spark_log.read_text()),
        what="a warning",
    )


# --- Brokers and leaders --------------------------------------------------------------------------


def test_a_query_survives_a_killed_broker(
    brokers: Brokers, spark: SparkSession, checkpoint: str
) -> None:
    """Its partitions are read from their next leaders, and from the broker when it is back."""
    cluster, topic = brokers.cluster, fresh_name("killed")
    partitions = partitions_of(topic, BROKERS)
    cluster.create_topic(topic, partitions=BROKERS, replication=BROKERS)
    tree, batches = ZkTree(cluster), Batches()
    with (
        Traffic(cluster, partitions, pause_ms=PAUSE_MS) as traffic,
        running(spark, options_for(cluster, topic), batches, checkpoint) as query,
    ):
        wait_until(lambda: len(traffic.ends()) == BROKERS, what="traffic on all partitions")
        await_rows(query, batches, traffic.ends, "before the kill")
        with without(cluster, 1):
            wait_until(lambda: tree.leaders(topic)[1] in {0, 2}, what="a new leader of partition 1")
            before = traffic.ends()
            wait_until(
                lambda: all(traffic.ends()[tp] > before[tp] for tp in partitions),
                what="new messages on every partition",
            )
            await_rows(query, batches, traffic.ends, "without the broker")
        await_rows(query, batches, traffic.ends, "with the broker back")
        acknowledged = traffic.stop()
        await_rows(query, batches, traffic.ends, "the rest")
    assert_all_once(batches.found, acknowledged)


def test_a_partition_that_moves_to_another_broker_is_followed(
    brokers: Brokers, spark: SparkSession, checkpoint: str
) -> None:
    """It leaves the only broker that the query knew for it: each message is read once."""
    cluster, topic = brokers.cluster, fresh_name("moved")
    (tp,) = partitions_of(topic, 1)
    cluster.create_topic(topic, assignment={0: [0]})
    tree, batches = ZkTree(cluster), Batches()
    with (
        Traffic(cluster, [tp], pause_ms=PAUSE_MS) as traffic,
        running(spark, options_for(cluster, topic), batches, checkpoint) as query,
    ):
        wait_until(lambda: traffic.count() > 20, what="traffic")
        await_rows(query, batches, traffic.ends, "at broker 0")
        move = {"topic": topic, "partition": 0, "replicas": [1]}
        request = {"version": 1, "partitions": [move]}
        tree.put("/admin/reassign_partitions", json.dumps(request).encode())
        wait_until(lambda: tree.leaders(topic) == {0: 1}, what="the move")
        before = traffic.ends()[tp]
        wait_until(lambda: traffic.ends()[tp] > before, what="new messages")
        acknowledged = traffic.stop()
        await_rows(query, batches, traffic.ends, "at broker 1")
    assert_all_once(batches.found, acknowledged)


def test_partitions_that_are_added_are_read_from_their_first_message(
    brokers: Brokers, spark: SparkSession, checkpoint: str
) -> None:
    """Even a query that began at the end of the partitions of that time reads all of a new one."""
    cluster, topic = brokers.cluster, fresh_name("grown")
    first, second = partitions_of(topic, 2)
    cluster.create_topic(topic)
    write(cluster, first, [b"before it began"] * 3)
    batches = Batches()
    latest = options_for(cluster, topic, startingOffsets="latest")
    with running(spark, latest, batches, checkpoint) as query:
        wait_until(lambda: query.lastProgress is not None, what="the query's first progress")
        write(cluster, first, [b"it runs"])
        await_rows(query, batches, lambda: {first: 4}, "the old partition")
        cluster.add_partitions(topic, 2)
        write(cluster, second, [b"new %d" % number for number in range(3)])
        await_rows(query, batches, lambda: {second: 3}, "the new partition")
    assert batches.found == [
        (first, 3, b"it runs"),
        *((second, number, b"new %d" % number) for number in range(3)),
    ]


# --- ZooKeeper ------------------------------------------------------------------------------------


def test_a_query_goes_on_while_zookeeper_is_down(
    brokers: Brokers, spark: SparkSession, checkpoint: str
) -> None:
    """ZooKeeper told it who the brokers are, and it asks them for the rest."""
    cluster, topic = brokers.cluster, fresh_name("no-zookeeper")
    (tp,) = partitions_of(topic, 1)
    cluster.create_topic(topic)
    write(cluster, tp, [b"with it"])
    batches = Batches()
    with running(spark, options_for(cluster, topic), batches, checkpoint) as query:
        await_rows(query, batches, lambda: {tp: 1}, "with ZooKeeper")
        cluster.kill_zookeeper()
        try:
            write(cluster, tp, [b"without it"] * 2)
            await_rows(query, batches, lambda: {tp: 3}, "without ZooKeeper")
        finally:
            cluster.start_zookeeper()
    assert [value for _, _, value in batches.found] == [b"with it", b"without it", b"without it"]


# --- Executors ------------------------------------------------------------------------------------


class Job:
    """A query as a separate process, with an executor in another; see ``fault_job``.

    Args:
        folder: for its files.
        options: those of the source.
    """

    def __init__(self, folder: Path, options: dict[str, str]) -> None:
        self.token = fresh_name("zkconsumer.job")
        self._into, self._log, self._until = folder / "into", folder / "log", folder / "until"
        self._found: dict[Path, Found] = {}
        self._requested = {
            "master": "local-cluster[1,1,512]",
            "settings": SETTINGS
            | {
                "spark.executor.memory": "512m",
                "spark.executor.extraJavaOptions": f"-D{self.token}=1 {JAVA}",
            },
            "options": options,
            "into": str(self._into),
            "checkpoint": str(folder / "checkpoint"),
            "until": str(self._until),
        }

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """Run the process, and kill it at the end."""
        with (
            self._log.open("wb") as log,
            subprocess.Popen(
                [sys.executable, "-m", "tests.spark.fault_job", json.dumps(self._requested)],
                cwd=ROOT,
                env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            ) as process,
        ):
            try:
                yield process
            finally:
                process.kill()  # its JVM ends when its standard input does

    def stop(self) -> None:
        """Ask the query to end by itself."""
        self._until.touch()

    def message(self) -> str:
        """Return the output of the process, its JVM and its workers."""
        return self._log.read_text("utf-8", "replace")

    def found(self) -> Found:
        """Return the sorted rows of all batches that are complete."""
        for done in self._into.glob("*/_SUCCESS"):
            if done.parent not in self._found:
                self._found[done.parent] = _rows_in(done.parent)
        return sorted(row for rows in self._found.values() for row in rows)

    def executors(self) -> set[int]:
        """Return the process ids of the query's executors."""
        return set(processes_with(f"-D{self.token}=1")) & set(
            processes_with("CoarseGrainedExecutorBackend")
        )


def _rows_in(batch: Path) -> Found:
    files = [str(file) for file in batch.glob("*.parquet")]
    table = dataset(files, format="parquet").to_table(columns=list(COLUMNS)).to_pydict()
    partitions = map(TopicPartition, table["topic"], table["partition"])
    return list(zip(partitions, table["offset"], table["value"], strict=True))


def test_a_query_survives_a_killed_executor(brokers: Brokers, tmp_path: Path) -> None:
    """Another executor reads the same ranges again: every message is published once."""
    cluster, topic = brokers.cluster, fresh_name("executors")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    job = Job(tmp_path, options_for(cluster, topic))

    def await_published(what: str) -> None:
        wanted = traffic.ends()

        def published() -> bool:
            assert process.poll() is None, job.message()
            have = ends_of(job.found())
            return all(have.get(tp, 0) >= end for tp, end in wanted.items())

        wait_until(published, timeout_s=DEADLINE_S, what=what)

    with Traffic(cluster, partitions, pause_ms=PAUSE_MS) as traffic, job.running() as process:
        wait_until(lambda: len(traffic.ends()) == 2, what="traffic on all partitions")
        await_published("the first rows")
        [executor] = job.executors()
        os.kill(executor, 9)
        await_published("rows with the other executor")
        assert job.executors() not in (set(), {executor})
        acknowledged = traffic.stop()
        await_published("the rest")
        job.stop()
        assert process.wait(DEADLINE_S) == 0, job.message()
    assert_all_once(job.found(), acknowledged)
