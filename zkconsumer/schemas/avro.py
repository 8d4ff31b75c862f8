"""Decodes Avro with fastavro, bounded against hostile schemas and values. Pure.

Logical types are removed from a schema before fastavro gets it: it would create Python objects,
which can't hold years after 9999; Arrow takes the numbers unchanged.

Source: Avro 1.12 specification, binary encoding and schema resolution.
"""

import io
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro._read_py import schemaless_reader as recursive_reader

from zkconsumer.errors import SchemaError
from zkconsumer.schemas.avro_payload import PayloadCheck
from zkconsumer.schemas.avro_resolution import DefaultValues, LogicalTypes, type_of
from zkconsumer.schemas.column_types import (
    JSON_TEXT,
    MAX_DEPTH,
    TIMESTAMP,
    FieldBounds,
    TypeConflict,
    struct_of,
)
from zkconsumer.schemas.definition import SchemaDefinition, parsed_json
from zkconsumer.schemas.json_text import json_text
from zkconsumer.schemas.wire_format import BadValue

Converter = Callable[[Any], Any] | None
"""Converts a value of fastavro to one that Arrow accepts; None: they are the same."""

_PLAIN: Final[Mapping[str, pa.DataType]] = {
    "null": JSON_TEXT,
    "boolean": pa.bool_(),
    "int": pa.int64(),
    "long": pa.int64(),
    "float": pa.float64(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "enum": pa.string(),
    "fixed": pa.binary(),
}
_LOGICAL: Final = frozenset({"logicalType"})
_FASTAVROS: Final = frozenset({"__fastavro_parsed", "__named_schemas"})
"""The keys by which fastavro recognises a schema that it has parsed already."""
_WHOLE: Final = frozenset({"int", "long"})
_NUMBERS: Final = frozenset({"int", "long", "float", "double"})
_MOST_DIGITS: Final = 38
_MOST_MILLIS: Final = (2**63 - 1) // 1000
_Names = dict[str, Any]


class AvroDecoder:
    """Decodes Avro payloads of one schema; see ``PayloadDecoder``.

    Args:
        definition: the schema that the values were written with.
        reader: a schema to resolve values to, which then determines the type; None: their own.

    Raises:
        SchemaError: a schema is invalid, or the size of its values can't be bounded.
    """

    def __init__(
        self, definition: SchemaDefinition, reader: SchemaDefinition | None = None
    ) -> None:
        writer_walk, self._writer = _prepared(definition)
        walk, self._reader = writer_walk, None
        if reader is not None:
            walk, self._reader = _prepared(reader, has_defaults=True)
            _check_logical_types(writer_walk, walk)
        self.type, self._convert = walk.type, walk.convert
        # fastavro's implementation in C does not limit how deep a value is nested.
        is_recursive = walk.payloads.is_recursive or writer_walk.payloads.is_recursive
        self._read = recursive_reader if is_recursive else schemaless_reader
        self._check = writer_walk.payloads.check
        # Confluent's Java serializer omits the length of a value that consists of bytes alone.
        self._is_raw = type_of(writer_walk.schema, writer_walk.names) == "bytes"

    def decode(self, payload: bytes) -> object:
        """See ``PayloadDecoder``."""
        if self._is_raw:
            payload = _with_length(payload)
        self._check(payload)
        value = self._read(io.BytesIO(payload), self._writer, self._reader)
        return value if self._convert is None else self._convert(value)


def _check_logical_types(writer: "_Walk", reader: "_Walk") -> None:
    try:
        LogicalTypes(writer.names, reader.names).check(writer.schema, reader.schema)
    except SchemaError as error:
        raise SchemaError(f"its values can't be read with the column's schema: {error}") from None


def _prepared(definition: SchemaDefinition, *, has_defaults: bool = False) -> tuple["_Walk", Any]:
    """Return the walk of a schema, and the schema without logical types, as fastavro takes it."""
    texts = [text for _, text in definition.references] + [definition.text]
    schemas = [parsed_json(text, "the schema") for text in texts]
    try:
        for schema in schemas:
            _check_depth(schema)
        schemas = [_without(schema, _FASTAVROS) for schema in schemas]
        parsed, names = _parsed(schemas)
        walk = _Walk(names, parsed)
        bare, _ = _parsed([_without(schema, _LOGICAL) for schema in schemas])
        if has_defaults:
            DefaultValues(names).put_into(bare)
    except (SchemaError, TypeConflict) as error:
        raise SchemaError(f"the schema has no column type: {error}") from None
    except Exception as error:
        reason = str(error)[:200] or type(error).__name__
        raise SchemaError(f"the schema is not a valid Avro schema: {reason}") from error
    return walk, bare


def _parsed(schemas: list[Any]) -> tuple[Any, _Names]:
    """Return the last of the schemas as parsed by fastavro, and all named schemas."""
    names: _Names = {}
    parsed: Any = None
    for schema in schemas:
        parsed = parse_schema(schema, named_schemas=names)
    return parsed, names


def _check_depth(schema: object, depth: int = 0) -> None:
    if depth > 4 * MAX_DEPTH:
        raise SchemaError("it is nested too deeply")
    if isinstance(schema, dict):
        for item in schema.values():
            _check_depth(item, depth + 1)
    elif isinstance(schema, list):
        for item in schema:
            _check_depth(item, depth + 1)


def _without(schema: Any, left_out: frozenset[str]) -> Any:
    if isinstance(schema, dict):
        return {
            name: item if name == "default" else _without(item, left_out)
            for name, item in schema.items()
            if name not in left_out
        }
    if isinstance(schema, list):
        return [_without(item, left_out) for item in schema]
    return schema


def _with_length(data: bytes) -> bytes:
    out = io.BytesIO()
    schemaless_writer(out, "bytes", data)
    return out.getvalue()


class _Walk:
    """Walks a parsed schema once, to find the column's type and the conversion of values.

    Args:
        names: the named schemas.
        schema: the schema, as fastavro parsed it.

    Raises:
        SchemaError, TypeConflict: it has no column type.
    """

    def __init__(self, names: _Names, schema: Any) -> None:
        self.names = names
        self.schema = schema
        self._open: set[str] = set()
        self._bounds = FieldBounds()
        self.payloads = PayloadCheck(schema, names)
        self.type, self.convert = self._of(schema, 0)

    def _of(self, schema: Any, depth: int) -> tuple[pa.DataType, Converter]:
        """Return the type of a schema's values, and the conversion from fastavro's values."""
        self._bounds.enter(depth)
        match schema:
            case list():
                return self._union(schema, depth)
            case str():
                if schema in _PLAIN:
                    return _PLAIN[schema], _null_text if schema == "null" else None
                return self._named(schema, depth)
            case _:
                return self._described(schema, depth)

    def _described(self, schema: Any, depth: int) -> tuple[pa.DataType, Converter]:
        kind = schema["type"]
        if kind in ("record", "error"):
            return self._record(schema, depth)
        if kind == "array":
            item, convert = self._of(schema["items"], depth + 1)
            return pa.list_(item), _list_converter(convert)
        if kind == "map":
            item, convert = self._of(schema["values"], depth + 1)
            return pa.map_(pa.string(), item), _map_converter(convert)
        found = _logical(schema) if "logicalType" in schema else None
        if found is not None:
            return found
        if isinstance(kind, str) and kind in _PLAIN:
            return _PLAIN[kind], _null_text if kind == "null" else None
        return self._of(kind, depth + 1)

    def _named(self, name: str, depth: int) -> tuple[pa.DataType, Converter]:
        if name in self._open:
            return JSON_TEXT, _text_or_none
        return self._of(self.names[name], depth)

    def _record(self, schema: Any, depth: int) -> tuple[pa.DataType, Converter]:
        name = schema["name"]
        if name in self._open:
            return self._named(name, depth)
        self._open.add(name)
        kinds: dict[str, pa.DataType] = {}
        converters: dict[str, Callable[[Any], Any]] = {}
        for field in schema["fields"]:
            kinds[field["name"]], convert = self._of(field["type"], depth + 1)
            if convert is not None:
                converters[field["name"]] = convert
        self._open.discard(name)
        if not kinds:
            return JSON_TEXT, _text_or_none
        return struct_of(kinds), _record_converter(converters)

    def _union(self, schema: Any, depth: int) -> tuple[pa.DataType, Converter]:
        others = [branch for branch in schema if branch != "null"]
        if len(others) == 1:
            kind, convert = self._of(others[0], depth + 1)
            return kind, _null_or(convert)
        names = {branch for branch in others if isinstance(branch, str)}
        if names and len(names) == len(others) and names <= _NUMBERS:
            if names <= _WHOLE:
                return pa.int64(), None
            return pa.float64(), _null_or(_double)
        for branch in others:
            # Only to check the branch against the bounds.
            self._of(branch, depth + 1)
        return JSON_TEXT, _text_or_none


def _logical(schema: Any) -> tuple[pa.DataType, Converter] | None:
    """Return the column type of a logical type; None: values keep the type that it is based on."""
    match schema["logicalType"], schema["type"]:
        case "date", "int":
            return pa.date32(), _day
        case ("timestamp-millis", "long"):
            return TIMESTAMP, _micros
        case ("timestamp-micros", "long"):
            return TIMESTAMP, None
        case "decimal", ("bytes" | "fixed"):
            digits, scale = schema.get("precision"), schema.get("scale", 0)
            if isinstance(digits, int) and isinstance(scale, int) and 0 < digits <= _MOST_DIGITS:
                return pa.decimal128(digits, scale), _decimal(scale)
            return None
        case _:
            return None


def _day(days: int) -> int:
    if not -(2**31) <= days < 2**31:
        raise BadValue(f"{days} is not a date")
    return days


def _micros(millis: int) -> int:
    if not -_MOST_MILLIS <= millis <= _MOST_MILLIS:
        raise BadValue(f"{millis} ms is not a time that a column can hold")
    return millis * 1000


def _decimal(scale: int) -> Callable[[bytes], Decimal]:
    # ``scaleb`` would round to the precision of the context.
    def convert(data: bytes) -> Decimal:
        if len(data) > 64:
            raise BadValue("a decimal has more than 64 bytes")
        number = int.from_bytes(data, signed=True)
        digits = tuple(map(int, str(abs(number))))
        return Decimal((int(number < 0), digits, -scale))

    return convert


def _double(number: float) -> float:
    found = float(number)
    # Python compares an int and a float exactly.
    if isinstance(number, int) and found != number:
        raise BadValue(f"{number} is not a double")
    return found


def _null_text(_: None) -> str:
    return "null"


def _text_or_none(value: Any) -> str | None:
    return None if value is None else json_text(value)


def _null_or(convert: Converter) -> Converter:
    if convert is None:
        return None
    return lambda value: None if value is None else convert(value)


def _list_converter(convert: Converter) -> Converter:
    if convert is None:
        return None
    return lambda values: [convert(value) for value in values]


def _map_converter(convert: Converter) -> Converter:
    if convert is None:
        return lambda values: list(values.items())
    return lambda values: [(name, convert(value)) for name, value in values.items()]


def _record_converter(converters: Mapping[str, Callable[[Any], Any]]) -> Converter:
    if not converters:
        return None

    def convert(record: dict[str, Any]) -> dict[str, Any]:
        # A copy: fastavro returns one object as the default of all values.
        made = dict(record)
        for name, of_field in converters.items():
            made[name] = of_field(made[name])
        return made

    return convert
