"""Random Avro schemas and values, as fastavro writes them, come back as typed columns."""

import io
import math
from collections.abc import Iterator
from itertools import count
from typing import Any

import pyarrow as pa
from fastavro import parse_schema, schemaless_writer
from hypothesis import given
from hypothesis import strategies as st

from tests.support.schemas import MemoryCatalog, avro, with_id
from zkconsumer.schemas.decoding import ValueDecoding

_INT = st.integers(-(2**31), 2**31 - 1)
_LONG = st.integers(-(2**63), 2**63 - 1)
_PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": _INT,
    "long": _LONG,
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "string": st.text(max_size=12),
    "bytes": st.binary(max_size=12),
}


@st.composite
def _typed(draw: st.DrawFn, depth: int = 0) -> tuple[Any, st.SearchStrategy[Any]]:
    """Draw a schema, and a strategy of its values."""
    simple = ["primitive", "optional", "enum", "fixed", "date", "time"]
    kind = draw(st.sampled_from(simple + ([] if depth > 2 else ["record", "array", "map"])))
    if kind == "primitive":
        primitive = draw(st.sampled_from(sorted(_PRIMITIVES)))
        return primitive, _PRIMITIVES[primitive]
    if kind == "optional":
        primitive = draw(st.sampled_from(sorted(_PRIMITIVES)))
        return ["null", primitive], st.none() | _PRIMITIVES[primitive]
    if kind == "enum":
        return {"type": "enum", "name": "N", "symbols": ["A", "B"]}, st.sampled_from(["A", "B"])
    if kind == "fixed":
        return {"type": "fixed", "name": "N", "size": 3}, st.binary(min_size=3, max_size=3)
    if kind == "date":
        return {"type": "int", "logicalType": "date"}, _INT
    if kind == "time":
        millis = st.integers(-(2**53), 2**53)
        return {"type": "long", "logicalType": "timestamp-millis"}, millis
    if kind == "array":
        items, values = draw(_typed(depth + 1))
        return {"type": "array", "items": items}, st.lists(values, max_size=3)
    if kind == "map":
        items, values = draw(_typed(depth + 1))
        keys = st.text(max_size=4)
        return {"type": "map", "values": items}, st.dictionaries(keys, values, max_size=3)
    return draw(_records(depth))


@st.composite
def _records(draw: st.DrawFn, depth: int = 0) -> tuple[Any, st.SearchStrategy[Any]]:
    fields, values = [], {}
    for at in range(draw(st.integers(1, 4))):
        schema, some = draw(_typed(depth + 1))
        fields.append({"name": f"f{at}", "type": schema})
        values[f"f{at}"] = some
    return {"type": "record", "name": "R", "fields": fields}, st.fixed_dictionaries(values)


def _written(schema: Any, value: Any) -> bytes:
    """Encode a value with fastavro, with plain numbers for dates and times."""
    out = io.BytesIO()
    schemaless_writer(out, parse_schema(_without(schema)), value)
    return with_id(1, out.getvalue())


def _without(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _without(item) for key, item in schema.items() if key != "logicalType"}
    return [_without(item) for item in schema] if isinstance(schema, list) else schema


def _plain(schema: Any, value: Any) -> Any:
    """Return what the column must hold for a value: numbers for dates and times."""
    if isinstance(schema, list):
        return value if value is None else _plain(schema[1], value)
    if not isinstance(schema, dict):
        return value
    match schema["type"]:
        case "record":
            fields = {field["name"]: field["type"] for field in schema["fields"]}
            return {name: _plain(kind, value[name]) for name, kind in fields.items()}
        case "array":
            return [_plain(schema["items"], item) for item in value]
        case "map":
            return [(key, _plain(schema["values"], item)) for key, item in value.items()]
        case "long":
            return value * 1000
        case _:
            return value


def _numbers(kind: pa.DataType) -> pa.DataType:
    """Return the type with plain numbers for dates and times, beyond Python's range."""
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _numbers(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_numbers(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(pa.string(), _numbers(kind.item_type))
    if pa.types.is_timestamp(kind):
        return pa.int64()
    return pa.int32() if pa.types.is_date(kind) else kind


def _renamed(schema: Any, numbers: Iterator[int]) -> Any:
    """Return the schema with a unique name for each type."""
    if isinstance(schema, list):
        return [_renamed(item, numbers) for item in schema]
    if not isinstance(schema, dict):
        return schema
    renamed = {key: _renamed(item, numbers) for key, item in schema.items()}
    if "symbols" in schema or "size" in schema or "fields" in schema:
        renamed["name"] = f"N{next(numbers)}"
    return renamed


_CASES = _records().flatmap(
    lambda found: st.tuples(
        st.just(_renamed(found[0], count())), st.lists(found[1], min_size=1, max_size=5)
    )
)


@given(_CASES)
def test_the_column_has_the_written_values(case: tuple[Any, list[Any]]) -> None:
    """It has every value of every schema in order, and no value is rejected."""
    schema, values = case
    decoding = ValueDecoding("avro", MemoryCatalog({1: avro(schema)}))
    found = decoding.decode([_written(schema, value) for value in values])
    assert found.rejects == {}
    assert found.schemas == [1] * len(values)
    assert found.column is not None
    assert found.column.cast(_numbers(found.column.type)).to_pylist() == [
        _plain(schema, value) for value in values
    ]


@given(_CASES, st.data())
def test_damage_affects_only_its_own_value(
    case: tuple[Any, list[Any]], data: st.DataObject
) -> None:
    """That value is rejected or differs, and the others are as before."""
    schema, values = case
    written = [_written(schema, value) for value in values]
    at = data.draw(st.integers(0, len(written) - 1))
    damaged = bytearray(written[at])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place] ^= data.draw(st.integers(1, 255))
    both = []
    for middle in (written[at], bytes(damaged)):
        decoding = ValueDecoding("avro", MemoryCatalog({1: avro(schema)}))
        both.append(decoding.decode([*written[:at], middle, *written[at + 1 :]]))
    sound, harmed = both
    assert set(harmed.rejects) <= {at}
    assert sound.column is not None
    for other in set(range(len(written))) - {at}:
        assert harmed.column is not None
        assert harmed.column[other].equals(sound.column[other])


@given(st.lists(st.none() | st.binary(max_size=30), max_size=6), _CASES)
def test_any_bytes_are_a_value_or_a_reject(
    garbage: list[bytes | None], case: tuple[Any, list[Any]]
) -> None:
    """They are with a schema id in front of them, too; null stays null."""
    schema, _ = case
    decoding = ValueDecoding("avro", MemoryCatalog({1: avro(schema)}))
    values = [
        data if data is None or at % 2 else with_id(1, data) for at, data in enumerate(garbage)
    ]
    found = decoding.decode(values)
    for at, value in enumerate(values):
        if value is None:
            assert at not in found.rejects
        if at in found.rejects:
            assert found.rejects[at]
            assert found.column is None or not found.column[at].is_valid


def test_nan_and_infinity_are_values() -> None:
    """They are not rejected, and come back unchanged."""
    schema = {"type": "record", "name": "F", "fields": [{"name": "x", "type": "double"}]}
    decoding = ValueDecoding("avro", MemoryCatalog({1: avro(schema)}))
    found = decoding.decode([_written(schema, {"x": x}) for x in (math.nan, math.inf)])
    assert found.column is not None
    (first, second) = (row["x"] for row in found.column.to_pylist())
    assert math.isnan(first)
    assert second == math.inf
