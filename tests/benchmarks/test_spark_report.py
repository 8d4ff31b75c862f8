"""Reports of Spark's passes: tables, outcomes of goals, and the contents of landed files."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.benchmarks.bounds import spark_goals
from tests.benchmarks.contestants.contestant import Pass
from tests.benchmarks.figures import Run
from tests.benchmarks.spark.report import tables
from tests.benchmarks.spark.session import landed, run_name
from tests.benchmarks.spark.sources import AGGREGATE, JVM, MAPPED, OURS, PARQUET

TOPIC = "100-none-p4"
LABELS = {OURS: "zkconsumer", JVM: "Spark's Kafka source"}


def a_run(contestant: str, kind: str, number: int, seconds: float) -> Run:
    """Return a pass over a million records."""
    return Run(
        topic=run_name(TOPIC, kind),
        contestant=contestant,
        round=number,
        result=Pass(records=1_000_000, seconds=seconds, cpu_seconds=2.0, peak_kb=0),
        value_bytes=100,
        broker_cpu_seconds=0.25,
        foreign_cpu_seconds=0.0,
        wall_seconds=seconds,
    )


RUNS = [
    a_run(JVM, AGGREGATE, 0, 1.0),
    a_run(OURS, AGGREGATE, 0, 0.25),
    a_run(JVM, AGGREGATE, 1, 2.0),
    a_run(OURS, AGGREGATE, 1, 0.5),
    a_run(JVM, PARQUET, 0, 2.0),
    a_run(OURS, PARQUET, 0, 1.0),
]


def test_each_kind_of_work_has_its_goal() -> None:
    """A ratio of 4 reaches the goal of ``aggregate``; a ratio of 2 misses that of ``parquet``."""
    aggregate, parquet = tables(RUNS, {}, LABELS).split("\n\n### ")
    assert "| zkconsumer | **3** | 2 - 4 | 4.00 (4.00 - 4.00) | 2.00 | 0.25 | 0 of 2 |" in aggregate
    assert "- zkconsumer to jvm, aggregate: 4.00 (4.00 - 4.00), at least 3: reached" in aggregate
    assert "- zkconsumer to jvm, parquet: 2.00 (2.00 - 2.00), at least 2.5: MISSED" in parquet
    assert [kind for kind, _ in spark_goals()] == [AGGREGATE, PARQUET]


def test_an_older_spark_is_held_against_the_newest() -> None:
    """Time and CPU time have separate goals; one may be reached without the other."""
    slower = a_run(MAPPED, AGGREGATE, 0, 0.5)
    aggregate, _ = tables([*RUNS, slower], {}, LABELS).split("\n\n### ")
    to = "- zkconsumer-3.5 to zkconsumer, rows per"
    assert f"{to} CPU second: 1.00 (1.00 - 1.00), at least 0.8: reached" in aggregate
    assert f"{to} second: 0.50 (0.50 - 0.50), at least 0.8: MISSED" in aggregate


def test_who_is_missing_is_said() -> None:
    """It has a row with the reason, and no goal is reported for it."""
    text = tables(RUNS[:1], {(run_name(TOPIC, AGGREGATE), OURS): "no Java"}, LABELS)
    assert "| zkconsumer | no Java |" in text
    assert "at least" not in text


def test_landed_rows_are_counted_by_another_library(tmp_path: Path) -> None:
    """All files are read; a null counts as a row of length 0."""
    for number, values in enumerate(([b"abc", None], [b"de"])):
        table = pa.table({"value": pa.array(values, pa.binary())})
        pq.write_table(table, tmp_path / f"part-{number}.parquet")
    assert landed(tmp_path) == {"records": 3, "value_bytes": 5}
