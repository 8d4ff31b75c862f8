"""Decodes JSON by the types that a JSON Schema gives its properties. Pure.

It does not validate: it uses only the types of a schema. Values whose type no column can have are
kept as JSON text, and properties that the schema does not name remain in the raw value alone.

Source: JSON Schema drafts 4 to 2020-12: ``type``, ``properties``, ``items``, ``$ref`` within a
document.
"""

import json
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from zkconsumer.errors import SchemaError
from zkconsumer.printable import shown
from zkconsumer.schemas.bounds import CellBudget, counter_of
from zkconsumer.schemas.column_types import (
    JSON_TEXT,
    FieldBounds,
    TypeConflict,
    struct_of,
    usable_name,
)
from zkconsumer.schemas.definition import SchemaDefinition, parsed_json
from zkconsumer.schemas.json_text import json_text
from zkconsumer.schemas.wire_format import BadValue

Converter = Callable[[Any], Any]
_MOST: Final = 2**63


class JsonDecoder:
    """Decodes JSON payloads of one schema; see ``PayloadDecoder``.

    Args:
        definition: the definition of the schema; values of schemas that it refers to are kept as
            JSON text.

    Raises:
        SchemaError: it is not a JSON Schema, or has too many fields.
    """

    def __init__(self, definition: SchemaDefinition) -> None:
        schema = parsed_json(definition.text, "the schema")
        if not isinstance(schema, dict | bool):
            raise SchemaError("the schema is not a valid JSON Schema: it is not an object")
        try:
            self.type, self._convert = _Walk(schema).of(schema, 0)
        except (SchemaError, TypeConflict, RecursionError) as error:
            raise SchemaError(f"the schema has no column type: {error}") from None
        self._count = counter_of(self.type, _field)

    def decode(self, payload: bytes) -> object:
        """See ``PayloadDecoder``."""
        value = json.loads(payload.decode(), parse_constant=_refuse)
        if value is None:
            return None
        if self._count is not None:
            self._count(value, CellBudget(len(payload)))
        return self._convert(value)


def _field(record: Any, name: str) -> Any:
    if not isinstance(record, dict):
        raise BadValue(f"{_shown(record)} is not an object")
    return record.get(name)


class _Walk:
    """Walks a schema once, to find the column's type and the conversion of values.

    Args:
        root: the document in which ``$ref`` is resolved.
    """

    def __init__(self, root: object) -> None:
        self._root = root
        self._open: set[str] = set()
        self._bounds = FieldBounds()

    def of(self, schema: Any, depth: int) -> tuple[pa.DataType, Converter]:
        """Return the type of a schema's values, and the function that checks and converts them."""
        self._bounds.enter(depth)
        if not isinstance(schema, dict):
            return JSON_TEXT, json_text
        reference = schema.get("$ref")
        if isinstance(reference, str):
            return self._referred(reference, depth)
        nullable = _but_null(schema)
        if nullable is not None:
            return self.of(nullable, depth + 1)
        kind = _type_of(schema)
        if kind == "array" and isinstance(schema.get("items"), dict):
            item, convert = self.of(schema["items"], depth + 1)
            return pa.list_(item), _list_of(convert)
        if kind == "object":
            return self._object(schema, depth)
        return _SCALARS.get(str(kind), (JSON_TEXT, json_text))

    def _object(self, schema: Any, depth: int) -> tuple[pa.DataType, Converter]:
        properties = schema.get("properties")
        if isinstance(properties, dict) and properties:
            found = {
                name: self.of(item, depth + 1)
                for name, item in properties.items()
                if usable_name(name)
            }
            kinds = {name: kind for name, (kind, _) in found.items()}
            if kinds:
                return struct_of(kinds), _object_of({name: it for name, (_, it) in found.items()})
        more = schema.get("additionalProperties")
        if isinstance(more, dict) and not properties:
            item, convert = self.of(more, depth + 1)
            return pa.map_(pa.string(), item), _map_of(convert)
        return JSON_TEXT, json_text

    def _referred(self, reference: str, depth: int) -> tuple[pa.DataType, Converter]:
        """Return the type of a ``$ref``; JSON text for other documents, anchors and recursion."""
        is_within = reference == "#" or reference.startswith("#/")
        if not is_within or reference in self._open:
            return JSON_TEXT, json_text
        target = self._root
        for step in reference[1:].split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(target, dict) or name not in target:
                return JSON_TEXT, json_text
            target = target[name]
        self._open.add(reference)
        found = self.of(target, depth + 1)
        self._open.discard(reference)
        return found


def _type_of(schema: Any) -> object:
    """Return the only type besides null; None if there is none, or several."""
    kind = schema.get("type")
    if isinstance(kind, list):
        kinds = [name for name in kind if name != "null"]
        return kinds[0] if len(kinds) == 1 else None
    if kind is None and isinstance(schema.get("properties"), dict):
        return "object"
    return kind


def _but_null(schema: Any) -> object:
    """Return the other branch of an ``anyOf`` or ``oneOf`` of two, one of them null; else None."""
    for name in ("anyOf", "oneOf"):
        branches = schema.get(name)
        if isinstance(branches, list) and "type" not in schema:
            others = [branch for branch in branches if branch != {"type": "null"}]
            if len(others) == 1 and len(branches) == 2:
                return others[0]
    return None


def _refuse(name: str) -> object:
    raise BadValue(f"{name} is not JSON")


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise BadValue(f"{_shown(value)} is not a string")
    # Lone surrogates are allowed in JSON, but not in UTF-8.
    value.encode()
    return value


def _integer(value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not -_MOST <= value < _MOST:
        raise BadValue(f"{_shown(value)} is not a 64-bit integer")
    return value


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise BadValue(f"{_shown(value)} is not a number")
    return float(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadValue(f"{_shown(value)} is not a boolean")
    return value


def _list_of(convert: Converter) -> Converter:
    def listed(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise BadValue(f"{_shown(value)} is not an array")
        return [None if item is None else convert(item) for item in value]

    return listed


def _map_of(convert: Converter) -> Converter:
    def mapped(value: Any) -> list[tuple[str, Any]]:
        if not isinstance(value, dict):
            raise BadValue(f"{_shown(value)} is not an object")
        return [
            (_string(name), None if item is None else convert(item)) for name, item in value.items()
        ]

    return mapped


def _object_of(converters: dict[str, Converter]) -> Converter:
    def made(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise BadValue(f"{_shown(value)} is not an object")
        return {
            name: convert(item)
            for name, convert in converters.items()
            if (item := value.get(name)) is not None
        }

    return made


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    return shown(value, 40)


_SCALARS: Final[dict[str, tuple[pa.DataType, Converter]]] = {
    "string": (pa.string(), _string),
    "integer": (pa.int64(), _integer),
    "number": (pa.float64(), _number),
    "boolean": (pa.bool_(), _boolean),
}
