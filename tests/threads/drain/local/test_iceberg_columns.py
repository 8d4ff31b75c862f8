"""Nested columns in an Iceberg table: numbered, extended, and read again."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table

from tests.support.begun_drains import DRAIN, begin
from tests.support.shares import examples
from zkconsumer.drain.local.columns import SCHEMA
from zkconsumer.drain.local.data_files import LocalFiles
from zkconsumer.drain.local.dated_files import DatedFiles, FileNaming
from zkconsumer.drain.local.footers import read_footer
from zkconsumer.drain.local.iceberg_table import IcebergTable
from zkconsumer.drain.local.local_storage import LocalStorage
from zkconsumer.drain.local.memory import Shares
from zkconsumer.drain.manifest import LandedFile, Manifest
from zkconsumer.drain.table_name import TableName
from zkconsumer.errors import DrainError
from zkconsumer.schemas.column_types import merged

OLD = pa.struct(
    [
        ("id", pa.int64()),
        ("a.b", pa.string()),
        ("amount", pa.decimal128(20, 0)),
        ("lines", pa.list_(pa.struct([("sku", pa.string())]))),
        ("labels", pa.map_(pa.string(), pa.struct([("x", pa.float64())]))),
    ]
)
NEW = merged(
    OLD,
    pa.struct(
        [
            ("lines", pa.list_(pa.struct([("count", pa.int64())]))),
            ("labels", pa.map_(pa.string(), pa.struct([("y", pa.bool_())]))),
            ("at", pa.timestamp("us", "UTC")),
        ]
    ),
)


class NestedColumnsTable:
    """A folder with a drain's table.

    Args:
        path: the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.storage = LocalStorage(str(path))
        self.files = LocalFiles(self.storage)
        begin(self.storage)
        self.table = IcebergTable(TableName(), self.storage, {})
        self._batch = 0

    def land(self, *parts: tuple[pa.DataType, list[Any]]) -> None:
        """Land a batch with values of these types, one file for each."""
        self._batch += 1
        naming = FileNaming(
            folder=".",
            topic="t",
            task=self._batch,
            file_format="parquet",
            created_ms=0,
            file_columns=self.table.file_columns,
        )
        dated = DatedFiles(self.files, naming, Shares.of(256, 1))
        for kind, values in parts:
            rows = [{"offset": at, "value_decoded": value} for at, value in enumerate(values)]
            columns = pa.schema([*SCHEMA, ("value_decoded", kind)])
            dated.write(pa.RecordBatch.from_pylist(rows, columns))
        landed = tuple(self._file(path.removeprefix("./")) for path in dated.close())
        assert len(landed) == len(parts)
        manifest = Manifest(number=self._batch, attempt="a", landed_ms=0, files=landed)
        self.table.append(manifest, lambda file, ids: read_footer(self.files, file.path, ids))

    def _file(self, path: str) -> LandedFile:
        where = dict(step.split("=", 1) for step in path.split("/")[:2])
        size = (self.path / path).stat().st_size
        return LandedFile(staged=path, path=path, size_bytes=size, values=where)

    def read(self) -> Table:
        """Load the table as any user of pyiceberg does."""
        where = {"type": "sql", "uri": f"sqlite:///{self.path}/catalog.db"}
        return load_catalog("default", **where).load_table("kafka.messages")

    def values(self, **scan: Any) -> list[Any]:
        """Return the values that a reader gets."""
        found: list[Any] = self.read().scan(**scan).to_arrow().column("value_decoded").to_pylist()
        return found


@pytest.fixture
def world(tmp_path: Path) -> NestedColumnsTable:
    """An empty table."""
    return NestedColumnsTable(tmp_path)


def numbers_in(field: pa.Field) -> Iterator[int]:
    """Yield the ids of a field and of all fields nested in it."""
    yield int(field.metadata[b"PARQUET:field_id"])
    kind = field.type
    if pa.types.is_map(kind):
        inner = [kind.key_field, kind.item_field]
    elif pa.types.is_list(kind):
        inner = [kind.value_field]
    else:
        inner = list(kind) if pa.types.is_struct(kind) else []
    for item in inner:
        yield from numbers_in(item)


def test_nested_fields_are_added_in_place(world: NestedColumnsTable) -> None:
    """They are in structs, lists and maps; earlier rows read as null there."""
    old = {
        "id": 1,
        "a.b": "x",
        "amount": Decimal(-7),
        "lines": [{"sku": "s"}],
        "labels": [("k", {"x": 0.5})],
    }
    new = {
        "id": 9,
        "a.b": None,
        "amount": None,
        "at": None,
        "lines": [{"sku": None, "count": 3}],
        "labels": [("k", {"x": None, "y": True})],
    }
    world.land((OLD, [old, None]))
    world.land((OLD, [old]), (NEW, [new]))
    widened = {
        **old,
        "at": None,
        "lines": [{"sku": "s", "count": None}],
        "labels": [("k", {"x": 0.5, "y": None})],
    }
    found = world.values()
    assert sorted(found, key=str) == sorted([widened, None, widened, new], key=str)
    state = world.table.state(DRAIN)
    assert len(state.files) == 3


def test_readers_skip_files_by_nested_fields(world: NestedColumnsTable) -> None:
    """Numbers and short texts have bounds; decimals and repeated fields have none."""
    kind = merged(OLD, pa.struct([("text", pa.string())]))
    for at, text in ((1, "a"), (5, "b" * 1_000), (9, "c")):
        lines = [{"sku": text}] * at
        world.land((kind, [{"id": at, "text": text, "amount": Decimal(-at), "lines": lines}]))
    scan = world.read().scan
    assert len(list(scan("value_decoded.id > 4").plan_files())) == 2
    assert len(list(scan("value_decoded.text = 'a'").plan_files())) == 2
    assert len(list(scan("value_decoded.id is null").plan_files())) == 0
    assert [row["id"] for row in world.values(row_filter="value_decoded.amount = -5")] == [5]
    schema = world.read().schema()
    bounded = {
        schema.find_column_name(number)
        for task in scan().plan_files()
        for number in (*(task.file.lower_bounds or ()), *(task.file.null_value_counts or ()))
    }
    assert "value_decoded.text" in bounded
    assert not [name for name in bounded if name and name.startswith("value_decoded.lines")]
    long = [task.file for task in scan("value_decoded.id = 5").plan_files()]
    number = schema.find_field("value_decoded.text").field_id
    assert [number in (file.lower_bounds or ()) for file in long] == [False]


def test_a_column_of_another_type_is_an_error(world: NestedColumnsTable) -> None:
    """Somebody else created it, so it is not changed."""
    world.table.file_columns()
    with world.read().update_schema() as update:
        update.union_by_name(pa.schema([("value_decoded", pa.int64())]))
    with pytest.raises(DrainError, match=r"^the Iceberg table kafka\.messages of its own"):
        world.land((OLD, [None]))


_NAMES = st.sampled_from(["a", "b", "c.d", "e-f"])
_TYPES = st.recursive(
    st.sampled_from([pa.int64(), pa.string(), pa.float64(), pa.date32(), pa.binary()]),
    lambda inner: st.one_of(
        inner.map(pa.list_),
        inner.map(lambda kind: pa.map_(pa.string(), kind)),
        st.dictionaries(_NAMES, inner, min_size=1).map(lambda fields: pa.struct([*fields.items()])),
    ),
    max_leaves=8,
)


@settings(max_examples=examples(12), deadline=None)
@given(st.lists(_TYPES, min_size=1, max_size=3))
def test_each_column_keeps_its_id(kinds: list[pa.DataType]) -> None:
    """However the type grows, ids are the table's, are unique, and never change."""
    with TemporaryDirectory() as folder:
        world = NestedColumnsTable(Path(folder))
        grown = pa.struct([("first", pa.int64())])
        known: dict[str, int] = {}
        for at, kind in enumerate(kinds):
            grown = merged(grown, pa.struct([("first", pa.int64()), (f"of.{at}", kind)]))
            rows = pa.schema([*SCHEMA, ("value_decoded", grown)])
            columns = world.table.file_columns(rows)
            numbers = [number for field in columns for number in numbers_in(field)]
            schema = world.read().schema()
            assert len(numbers) == len({*numbers})
            assert {*numbers} == {*schema.field_ids}
            for number in numbers:
                name = schema.find_column_name(number) or ""
                assert known.setdefault(name, number) == number
            world.land((grown, [None, {"first": at}]))
        firsts = [None if row is None else row["first"] for row in world.values()]
        assert sorted(first for first in firsts if first is not None) == [*range(len(kinds))]
        assert firsts.count(None) == len(kinds)


def test_ambiguous_nested_names_are_an_error(world: NestedColumnsTable) -> None:
    """Iceberg names nested columns with dots in between, as a name may hold them itself."""
    kind = pa.struct([("a.b", pa.int64()), ("a", pa.struct([("b", pa.int64())]))])
    with pytest.raises(DrainError, match=r"value_decoded\.a\.b"):
        world.land((kind, [None]))
