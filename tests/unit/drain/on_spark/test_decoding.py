"""What Spark tasks decode and report, tested without a JVM."""

import json
import pickle
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Self, cast

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.support.schemas import USER, avro, avro_value
from zkconsumer.drain.decode_settings import DecodeSettings
from zkconsumer.drain.local.local_storage import LocalStorage
from zkconsumer.drain.on_spark import decoding as decoding_module
from zkconsumer.drain.on_spark.decoding import BatchDecoding, Findings, TaskDecoding
from zkconsumer.drain.proving.coverage import Run
from zkconsumer.drain.storage import Storage
from zkconsumer.errors import DrainError
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.schemas.decoding import AdoptedSchema, SchemaUse
from zkconsumer.schemas.folder import SchemaFolder

COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")


def batch(values: list[bytes | None]) -> pa.RecordBatch:
    """Build rows as Spark passes them: alternating between two topics, from offset 100 on."""
    rows = [
        (None, value, f"t{at % 2}", 0, 100 + at, None, -1, None) for at, value in enumerate(values)
    ]
    kinds = (
        *(pa.binary(), pa.binary(), pa.string(), pa.int32(), pa.int64()),
        *(pa.timestamp("us", tz="UTC"), pa.int32()),
        pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    )
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=list(COLUMNS))


def test_tasks_decode_with_adopted_schemas_and_report_others(tmp_path: Path) -> None:
    """Rows keep their topics; newly used schemas and dead letters are reported."""
    for key in (1, 2):
        (tmp_path / f"{key}.avsc").write_text(json.dumps(USER))
    folder = SchemaFolder(str(tmp_path), "avro")
    folder.hold()
    settings = DecodeSettings(format="avro", schemas="not here")
    adopted = (AdoptedSchema(SchemaUse(1), avro(USER)),)
    tasks: TaskDecoding = pickle.loads(pickle.dumps(TaskDecoding(settings, "t0", adopted, folder)))
    keys = [1, 1, 2, 1, 1, 3, 1, 1]
    values = [avro_value(key, USER, {"id": at, "name": None}) for at, key in enumerate(keys)]
    findings = Findings()
    found = list(tasks.decoded([batch([*values, None])], findings))
    landed = {
        topic: [row["value_decoded"] and row["value_decoded"]["id"] for row in rows.to_pylist()]
        for topic, (rows, _) in found
    }
    assert landed == {"t0": [0, 4, 6, None], "t1": [1, 3, 7]}
    assert findings.schemas == {SchemaUse(2): AdoptedSchema(SchemaUse(2), avro(USER))}
    assert findings.rejects == {
        TopicPartition("t0", 0): Run(102, 103),
        TopicPartition("t1", 0): Run(105, 106),
    }


def test_findings_of_tasks_add_up_to_ranges() -> None:
    """A range extends from the first dead letter of a partition to the last."""
    tp, other = TopicPartition("t", 0), TopicPartition("t", 1)
    found = Findings()
    found.add(Findings(rejects={tp: Run(7, 10)}))
    found.add(Findings(rejects={tp: Run(3, 9), other: Run(0, 1)}))
    assert found.ranges() == [
        OffsetRange(topic_partition=tp, from_offset=3, until_offset=10),
        OffsetRange(topic_partition=other, from_offset=0, until_offset=1),
    ]


def test_a_pass_is_repeated_after_a_schema_was_adopted(tmp_path: Path) -> None:
    """It is repeated even if another process adopted the schema, but not without a new one."""
    (tmp_path / "1.avsc").write_text(json.dumps(USER))
    storage = LocalStorage(str(tmp_path / "lake"))
    settings = DecodeSettings(format="avro", schemas=str(tmp_path))
    decoding, another = (BatchDecoding(SESSION, settings, "t", storage) for _ in range(2))
    new_findings = Findings({SchemaUse(1): AdoptedSchema(SchemaUse(1), avro(USER))})
    begun = decoding.begin()
    assert not decoding.adopt(begun)
    assert "value_decoded" not in begun.columns.names
    begun.findings.add(new_findings)
    assert another.adopt(begun)
    assert decoding.adopt(begun)
    again = decoding.begin()
    assert again.findings == Findings()
    assert "value_decoded" in again.columns.names
    again.findings.add(new_findings)
    assert not decoding.adopt(again)


@pytest.mark.parametrize("is_supported", [True, False])
def test_a_nested_record_is_refused_if_spark_does_not_support_it(
    is_supported: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark 3.4 does not; the schema is adopted all the same, for the other engine."""
    inner = {"type": "record", "name": "Inner", "fields": [{"name": "id", "type": "long"}]}
    outer = {"type": "record", "name": "Outer", "fields": [{"name": "inner", "type": inner}]}
    (tmp_path / "1.avsc").write_text(json.dumps(outer))
    monkeypatch.setattr(decoding_module, "takes_nested_records", lambda: is_supported)
    settings = DecodeSettings(format="avro", schemas=str(tmp_path))
    decoding = BatchDecoding(SESSION, settings, "t", LocalStorage(str(tmp_path / "lake")))
    begun = decoding.begin()
    begun.findings.add(Findings({SchemaUse(1): AdoptedSchema(SchemaUse(1), avro(outer))}))
    assert decoding.adopt(begun)
    with (
        nullcontext() if is_supported else pytest.raises(DrainError, match=r"'t' .* --engine local")
    ):
        decoding.begin()


def test_passes_share_an_accumulator() -> None:
    """Spark's Python keeps each accumulator for good, and a continuous drain has many passes."""
    session = _FakeSession()
    storage = cast("Storage", None)
    decoding = BatchDecoding(cast("SparkSession", session), DecodeSettings(), "t", storage)
    for _ in range(3):
        decoding.begin()
    assert session.made == 1


class _FakeSession:
    """A Spark session and its context that count accumulators."""

    made = 0

    @property
    def sparkContext(self) -> Self:  # noqa: N802 - Spark's
        """See ``SparkSession``."""
        return self

    def accumulator(self, value: Findings, _: object) -> SimpleNamespace:
        """See ``SparkContext``."""
        self.made += 1
        return SimpleNamespace(value=value)


SESSION = cast("SparkSession", _FakeSession())
