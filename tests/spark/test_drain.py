"""Whole drains of a real cluster: their files, commits, and ends."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from tests.interop.mixed_group import MixedGroup
from tests.spark.queries import Topic, rows_of
from tests.support.begun_drains import plans_of
from tests.support.clusters import fresh_name
from tests.support.drain_kills import SPARK, end_in_order
from zkconsumer.drain import DrainReport, DrainSettings, drain
from zkconsumer.drain.checksum import Checksum
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.landing_delta import DeltaLanding
from zkconsumer.drain.landing_files import WrittenRows
from zkconsumer.drain.on_spark.hadoop_storage import HadoopStorage
from zkconsumer.drain.on_spark.rows import SparkRangeRows, count_rows, date_of
from zkconsumer.drain.plan import BatchPlan, Positions
from zkconsumer.drain.proving.coverage import Discrepancy
from zkconsumer.errors import ConfigError, DrainError
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox
from zkconsumer.spark.data_loss import LogBounds

pytestmark = [pytest.mark.spark, pytest.mark.sandbox]

COLUMNS = "key,value,partition,offset,timestamp,timestampType,topic,date"


@pytest.fixture
def topic(cluster: Sandbox) -> Iterator[Topic]:
    """Create two partitions with ten messages each."""
    topic = Topic(cluster, 2, prefix="drained")
    topic.write(10, codec=Codec.SNAPPY)
    yield topic
    topic.close()


def settings_for(topic: Topic, path: Path) -> DrainSettings:
    """Return settings for Parquet, in batches of about eight, for a group of its own."""
    return DrainSettings(
        path=str(path),
        zookeeper=topic.cluster.zookeeper_connect,
        topics=(topic.name,),
        group=fresh_name("drain"),
        max_offsets_per_batch=8,
    )


def test_topics_are_landed_once_and_then_committed(
    spark: SparkSession, topic: Topic, group: MixedGroup, tmp_path: Path
) -> None:
    """Files are by topic and date; the next run lands only what was written since."""
    path = tmp_path / "lake"
    settings = replace(settings_for(topic, path), group=group.name)
    first = drain(spark, replace(settings, max_offsets_per_batch=12))
    tps = topic.partitions
    assert (first.batches, first.rows) == (2, 20)
    assert first.positions == dict.fromkeys(tps, 10)
    topic.write(3, partition=1)
    assert drain(spark, settings) == DrainReport(
        finished=True, batches=1, rows=3, positions={tps[0]: 10, tps[1]: 13}
    )
    assert drain(spark, settings).batches == 0
    landed = spark.read.parquet(str(path))
    assert ",".join(landed.columns) == COLUMNS
    assert rows_of(landed) == topic.rows
    assert group.peek.offsets(topic.name) == {0: "10", 1: "13"}
    day = f"topic={topic.name}/date="
    assert all(
        str(file.relative_to(path)).startswith(day) for file in path.glob("topic=*/**/part-*")
    )
    assert not (path / "_zkconsumer" / "staging" / "0000000001").exists()


def test_json_has_the_same_contents(spark: SparkSession, topic: Topic, tmp_path: Path) -> None:
    """Bytes are base64; the checksums are of the messages, whatever the format."""
    as_json = replace(settings_for(topic, tmp_path / "json"), format="json")
    drain(spark, replace(as_json, max_offsets_per_batch=100))
    drain(spark, replace(settings_for(topic, tmp_path / "lake"), max_offsets_per_batch=100))
    parts = [
        next(iter(BatchJournal(HadoopStorage(spark, str(tmp_path / name))).manifests())).parts
        for name in ("json", "lake")
    ]
    assert parts[0] == parts[1]
    assert parts[0][0].contents.checksum != Checksum()
    landed = spark.read.schema("value binary, partition int, offset bigint").json(
        str(tmp_path / "json")
    )
    assert rows_of(landed) == topic.rows


def test_a_delta_table_gets_a_batch_once(spark: SparkSession, topic: Topic, tmp_path: Path) -> None:
    """Killed after the entry in the table's log, it publishes again, and nothing is repeated."""
    settings = replace(settings_for(topic, tmp_path), format="delta", max_offsets_per_batch=12)
    assert drain(spark, settings).batches == 2
    storage = HadoopStorage(spark, settings.path)
    journal = BatchJournal(storage)
    landing = DeltaLanding(storage, writer=Unused(), settings=settings)
    for plan, manifest in zip(plans_of(journal), journal.manifests(), strict=True):
        landing.publish(plan, manifest)
    table = DeltaTable(settings.path)
    assert table.version() == 2
    rows = table.to_pyarrow_table(columns=["partition", "offset", "value", "topic"]).to_pylist()
    assert {row["topic"] for row in rows} == {topic.name}
    found = sorted((row["partition"], row["offset"], row["value"].decode()) for row in rows)
    assert found == topic.rows


class Unused:
    """A writer that must not be used."""

    def write(self, plan: BatchPlan, folder: str) -> WrittenRows:
        """Fail: publishing again needs no writing."""
        raise AssertionError(f"{plan} is written to {folder}")


@pytest.mark.once
def test_a_group_with_live_members_is_refused(
    spark: SparkSession, topic: Topic, group: MixedGroup, tmp_path: Path
) -> None:
    """The error names the members, and nothing is written."""
    settings = replace(settings_for(topic, tmp_path / "lake"), group=group.name)
    member = group.ours({topic.name: 1})
    with pytest.raises(ConfigError, match=f"live members: {member.consumer_id}"):
        drain(spark, settings)
    assert not (tmp_path / "lake").exists()


def test_missed_offsets_are_distinguished_from_gaps(spark: SparkSession, topic: Topic) -> None:
    """The log is read again: offsets it has were missed; those it lost meanwhile have expired."""
    settings = settings_for(topic, Path("/nowhere"))
    tp = topic.partitions[0]
    wanted = OffsetRange(topic_partition=tp, from_offset=0, until_offset=10)
    plan = BatchPlan(number=1, created_ms=0, positions={tp: 0}, starts={tp: 0}, ranges=(wanted,))
    rows = SparkRangeRows(spark, settings.reading())
    landed = rows.read(plan.ranges)

    def ends(tps: Sequence[TopicPartition], _known: Positions) -> LogBounds:
        return LogBounds(dict.fromkeys(tps, 4), dict.fromkeys(tps, 10))

    (whole,) = count_rows(rows, ends, plan, landed)
    assert (whole.contents.rows, whole.absent) == (10, ())
    with pytest.raises(
        DrainError, match="the first read of the log missed offset 4, which a second read found"
    ):
        count_rows(rows, ends, plan, landed.where("offset <> 4"))
    (part,) = count_rows(From4(rows), ends, plan, landed.where("offset >= 4"))
    (absence,) = part.absent
    assert (absence.kind, absence.from_offset, absence.until_offset) == (
        *(Discrepancy.EXPIRED, 0, 4),
    )
    assert part.complaint() is None


def test_dates_are_valid_for_all_readers(spark: SparkSession) -> None:
    """It is the message's date in UTC, or the plan's if there is none before the year 10000."""
    day_us = 86_400_000_000
    times = {
        "NULL": "1970-01-02",
        "0L": "1970-01-01",
        f"{16_000 * day_us - 1}L": "2013-10-21",
        f"{2_932_897 * day_us - 1}L": "9999-12-31",
        f"{2_932_897 * day_us}L": "1970-01-02",
        "1400000000000000000L": "1970-01-02",
    }
    values = ", ".join(f"(timestamp_micros({at}))" for at in times)
    rows = spark.sql(f"SELECT * FROM VALUES {values} AS messages(timestamp)")
    dated = rows.selectExpr(f"{date_of(day_us // 1000)} AS date")
    assert [row.date for row in dated.collect()] == list(times.values())


class From4(SparkRangeRows):
    """A log whose first four messages have expired."""

    def __init__(self, rows: SparkRangeRows) -> None:
        super().__init__(rows.session, {})
        self._rows = rows

    def read(self, ranges: object, *, divided: bool = True) -> DataFrame:
        """Return the rows that are left."""
        del divided
        return self._rows.read(ranges).where("offset >= 4")  # type: ignore[arg-type]


@pytest.mark.versions
@pytest.mark.once
@pytest.mark.timeout(600)
def test_sigterm_ends_it_after_the_current_batch(topic: Topic, tmp_path: Path) -> None:
    """The program prints what it landed. CI ends the last of its killed drains like this."""
    path = tmp_path / "lake"
    where = ("--zookeeper", topic.cluster.zookeeper_connect, "--topics", topic.name)
    landed = path / "_zkconsumer" / "batches" / "0000000001.json"
    staging = path / "_zkconsumer" / "staging" / "0000000001"
    message = end_in_order(
        (*where, "--to", str(path), "--interval-ms", "600000"),
        SPARK,
        lambda: landed.exists() and not staging.exists(),
    )
    assert f"Landed 20 messages in 1 batches: {path}" in message
