"""Add what fastavro lacks to resolve values to a reader's schema. Pure.

Source: Avro 1.12 specification, schema resolution, default values, logical types.
"""

from collections.abc import Mapping
from typing import Any, Final

from zkconsumer.errors import SchemaError
from zkconsumer.schemas.column_types import MAX_FIELDS

_Names = Mapping[str, Any]
_NONE: Final = object()
_NUMBERS: Final = {"int": int, "long": int, "float": float, "double": float}
_RECORDS: Final = ("record", "error")


class DefaultValues:
    """Converts the JSON defaults of a schema's fields to values, as fastavro returns them.

    Args:
        names: the named schemas, as they were parsed.
    """

    def __init__(self, names: _Names) -> None:
        self._names = names
        self._made = 0
        self._done: set[int] = set()

    def put_into(self, schema: Any) -> None:
        """Replace the JSON defaults in a parsed schema by values, on all levels.

        Raises:
            SchemaError: a default does not fit its field, or the defaults hold too many values.
        """
        seen: set[int] = set()
        left = [schema]
        while left:
            item = left.pop()
            if id(item) in seen or not isinstance(item, dict | list):
                continue
            seen.add(id(item))
            if isinstance(item, list):
                left.extend(item)
                continue
            if item.get("type") in _RECORDS:
                self._put_into_fields(item)
            left.extend(inner for name, inner in item.items() if name != "default")

    def _put_into_fields(self, record: Any) -> None:
        for field in record["fields"]:
            # fastavro keeps the same fields in several places.
            if "default" in field and id(field) not in self._done:
                self._done.add(id(field))
                value = self._value(field["type"], field["default"])
                if value is _NONE:
                    raise SchemaError(f"the default of {field['name']} is not a value of its type")
                field["default"] = value

    def _value(self, schema: Any, given: Any) -> Any:
        """Return the value of a default; ``_NONE`` if it does not fit the schema."""
        self._made += 1
        if self._made > MAX_FIELDS:
            raise SchemaError(f"its defaults have more than {MAX_FIELDS} values")
        if isinstance(schema, list):
            found = (self._value(branch, given) for branch in schema)
            return next((value for value in found if value is not _NONE), _NONE)
        if isinstance(schema, str) and schema in self._names:
            return self._value(self._names[schema], given)
        kind = schema if isinstance(schema, str) else schema["type"]
        if not isinstance(kind, str) or (kind != schema and kind in self._names):
            return self._value(kind, given)
        if kind in _RECORDS:
            return self._record(schema, given)
        if kind in ("array", "map"):
            return self._items(schema, kind, given)
        return _scalar(schema, kind, given)

    def _items(self, schema: Any, kind: str, given: Any) -> Any:
        if kind == "array" and isinstance(given, list):
            values = [self._value(schema["items"], item) for item in given]
            return _NONE if _NONE in values else values
        if kind == "map" and isinstance(given, dict):
            mapped = {name: self._value(schema["values"], item) for name, item in given.items()}
            return _NONE if _NONE in mapped.values() else mapped
        return _NONE

    def _record(self, schema: Any, given: Any) -> Any:
        if not isinstance(given, dict):
            return _NONE
        record = {}
        for field in schema["fields"]:
            name = field["name"]
            if name not in given and "default" not in field:
                return _NONE
            record[name] = self._value(
                field["type"], given[name] if name in given else field["default"]
            )
        return _NONE if _NONE in record.values() else record


def _scalar(schema: Any, kind: str, given: Any) -> Any:
    if kind in _NUMBERS:
        is_number = isinstance(given, int | float) and not isinstance(given, bool)
        made = _NUMBERS[kind]
        return made(given) if is_number and (made is float or given == int(given)) else _NONE
    if kind in ("bytes", "fixed"):
        # Avro's JSON writes each byte as one character.
        is_bytes = isinstance(given, str) and all(ord(character) < 256 for character in given)
        if not is_bytes or (kind == "fixed" and len(given) != schema["size"]):
            return _NONE
        return given.encode("latin-1")
    fits = {
        "null": lambda: given is None,
        "boolean": lambda: isinstance(given, bool),
        "string": lambda: isinstance(given, str),
        "enum": lambda: given in schema["symbols"],
    }
    return given if kind in fits and fits[kind]() else _NONE


class LogicalTypes:
    """Checks that numbers are read in the units in which they were written.

    Args:
        writer: the named schemas of the values' writer.
        reader: the named schemas that values are resolved to.
    """

    def __init__(self, writer: _Names, reader: _Names) -> None:
        self._writer = writer
        self._reader = reader
        self._seen: set[tuple[str, str]] = set()

    def check(self, writer: Any, reader: Any) -> None:
        """Compare two parsed schemas, as far as the reader's applies to the writer's values.

        Raises:
            SchemaError: a logical type differs.
        """
        if isinstance(writer, list):
            for branch in writer:
                self.check(branch, reader)
            return
        writer = _described(writer, self._writer)
        if isinstance(reader, list):
            self._check_branches(writer, reader)
            return
        reader = _described(reader, self._reader)
        kinds = writer["type"], reader["type"]
        if kinds[0] in _RECORDS and kinds[1] in _RECORDS:
            self._check_fields(writer, reader)
        elif kinds == ("array", "array"):
            self.check(writer["items"], reader["items"])
        elif kinds == ("map", "map"):
            self.check(writer["values"], reader["values"])
        else:
            _check_pair(writer, reader)

    def _check_branches(self, writer: Any, reader: Any) -> None:
        """Check the branches to which a value may resolve: of the same type, else of numbers."""
        branches = [_described(branch, self._reader) for branch in reader]
        same = [branch for branch in branches if branch["type"] == writer["type"]]
        named = [branch for branch in same if branch.get("name") == writer.get("name")]
        for branch in named or same or branches:
            if named or same or branch["type"] in _NUMBERS:
                self.check(writer, branch)

    def _check_fields(self, writer: Any, reader: Any) -> None:
        pair = writer["name"], reader["name"]
        if pair in self._seen:
            return
        self._seen.add(pair)
        known = {alias: field for field in reader["fields"] for alias in field.get("aliases", ())}
        known.update({field["name"]: field for field in reader["fields"]})
        for field in writer["fields"]:
            other = known.get(field["name"])
            if other is not None:
                try:
                    self.check(field["type"], other["type"])
                except SchemaError as error:
                    raise SchemaError(f"{field['name']}: {error}") from None


def type_of(schema: Any, names: _Names) -> str:
    """Return the name of a parsed schema's type."""
    return "union" if isinstance(schema, list) else _described(schema, names)["type"]


def _described(schema: Any, names: _Names) -> Any:
    """Return a schema, which must not be a union, as an object with a named type."""
    while True:
        if isinstance(schema, str):
            if schema not in names:
                return {"type": schema}
            schema = names[schema]
        elif isinstance(schema["type"], str) and schema["type"] not in names:
            return schema
        else:
            schema = schema["type"]


def _check_pair(writer: Any, reader: Any) -> None:
    mine, other = writer.get("logicalType"), reader.get("logicalType")
    if mine is None or other is None:
        return
    if mine != other:
        raise SchemaError(f"it was written as {mine}, which can't be read as {other}")
    scale, other_scale = writer.get("scale", 0), reader.get("scale", 0)
    if mine == "decimal" and scale != other_scale:
        raise SchemaError(
            f"it was written as a decimal of scale {scale}, "
            f"which can't be read with scale {other_scale}"
        )
