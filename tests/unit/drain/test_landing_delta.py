"""A Delta table has the columns of every schema that was landed, whenever it appeared."""

from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tests.support.schemas import USER, avro, avro_value
from zkconsumer.drain.adopted_schemas import AdoptedSchemas
from zkconsumer.drain.decode_settings import DecodeSettings
from zkconsumer.drain.identity import DrainIdentity
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.landing_delta import DeltaLanding
from zkconsumer.drain.landing_files import RowWriter
from zkconsumer.drain.layout import staging_folder
from zkconsumer.drain.local.columns import HEADERS, SCHEMA
from zkconsumer.drain.local.decoded import RowDecoder
from zkconsumer.drain.local.local_storage import LocalStorage
from zkconsumer.drain.manifest import LandedFile, Manifest
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.settings import DrainSettings
from zkconsumer.schemas.decoding import ValueDecoding
from zkconsumer.schemas.definition import SchemaDefinition
from zkconsumer.schemas.wire_format import SchemaKey

AT = {"type": "record", "name": "At", "fields": [{"name": "x", "type": "long"}]}
AT_NEWER = {**AT, "fields": [*AT["fields"], {"name": "y", "type": "string"}]}


def evolved(at: dict[str, Any]) -> dict[str, Any]:
    """Return a user's schema with places in a list, in a map and as a field."""
    more = [
        {"name": "all", "type": {"type": "array", "items": at}},
        {"name": "by", "type": {"type": "map", "values": "At"}},
        {"name": "one", "type": "At"},
    ]
    return {**USER, "fields": [*USER["fields"], *more]}


SECOND, THIRD = evolved(AT), evolved(AT_NEWER)


class ThreeSchemas:
    """A ``SchemaSource`` with three schemas."""

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaSource``."""
        return {1: avro(USER), 2: avro(SECOND), 3: avro(THIRD)}.get(cast("int", key))


def decoder_of(storage: LocalStorage) -> RowDecoder:
    """Build the decoder of a process that starts now."""
    decoding = ValueDecoding("avro", AdoptedSchemas(storage, ThreeSchemas()))
    return RowDecoder(DecodeSettings(format="avro"), decoding)


def landing_of(storage: LocalStorage, path: Path, decoder: RowDecoder) -> DeltaLanding:
    """Build a landing that publishes what others have written."""
    settings = DrainSettings(path=str(path), zookeeper="zk", topics=("t",), format="delta")
    return DeltaLanding(storage, cast("RowWriter", None), settings, columns=decoder.columns)


def rows_of(value: bytes, offset: int) -> pa.RecordBatch:
    """Build the row of one message."""
    columns = [pa.nulls(1, field.type) for field in SCHEMA]
    columns[SCHEMA.get_field_index("value")] = pa.array([value])
    columns[SCHEMA.get_field_index("offset")] = pa.array([offset])
    found = pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
    return found.append_column("headers", pa.nulls(1, HEADERS))


def written(path: Path, decoder: RowDecoder, number: int, value: bytes) -> Manifest:
    """Stage the file of a batch of one message and return the manifest."""
    (found,) = decoder.decode(rows_of(value, number))
    staged = path / staging_folder(number) / "a" / "f.parquet"
    staged.parent.mkdir(parents=True)
    files: tuple[LandedFile, ...] = ()
    if len(found.landed):
        pq.write_table(pa.Table.from_batches([found.landed]), staged)
        name = f"topic=t/date=2020-01-01/part-{number}.parquet"
        values = {"topic": "t", "date": "2020-01-01"}
        size = staged.stat().st_size
        files = (LandedFile(staged="a/f.parquet", path=name, size_bytes=size, values=values),)
    return Manifest(number=number, attempt="a", landed_ms=0, files=files, parts=())


@pytest.mark.parametrize("by_others", [False, True])
def test_a_delta_table_gains_the_columns_of_later_schemas(tmp_path: Path, by_others: bool) -> None:
    """Nested columns are added too, after a batch of dead letters and after other processes."""
    storage = LocalStorage(str(tmp_path))
    identity = dict.fromkeys(("id", "cluster", "subscription", "starting", "format"), "x")
    BatchJournal(storage).begin(DrainIdentity(**identity, created_ms=0, group=None), "a")
    at = {"x": 7, "y": "z"}
    user = {"id": 1, "name": "a"}
    newest = {**user, "all": [at], "by": {"k": at}, "one": at}
    values = [
        b"plain",
        avro_value(1, USER, user),
        avro_value(2, SECOND, newest),
        avro_value(3, THIRD, newest),
        avro_value(1, USER, user),
    ]
    decoder = decoder_of(storage)
    landing = landing_of(storage, tmp_path, decoder)
    for number, value in enumerate(values, 1):
        writer = decoder_of(storage) if by_others else decoder
        manifest = written(tmp_path, writer, number, value)
        landing.publish(cast("BatchPlan", None), manifest)
        landing.publish(cast("BatchPlan", None), manifest)
    table = DeltaTable(tmp_path)
    # One log entry creates the table, and there is one per batch and one per schema.
    assert table.version() == len(values) + 3
    found = table.to_pyarrow_dataset().to_table().sort_by("offset")["value_decoded"].to_pylist()
    old = {"all": None, "by": None, "one": None}
    half = {"x": 7, "y": None}
    assert found == [
        {**user, **old},
        {**user, "all": [half], "by": [("k", half)], "one": half},
        {**user, "all": [at], "by": [("k", at)], "one": at},
        {**user, **old},
    ]
