"""Decodes Protobuf messages by descriptors, with Google's library. Pure.

Source: the Protobuf language guide; ``google/protobuf/descriptor.proto``.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from importlib import import_module
from typing import Any, Final

import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from zkconsumer.errors import SchemaError
from zkconsumer.schemas.bounds import CellBudget, counter_of
from zkconsumer.schemas.column_types import (
    JSON_TEXT,
    TIMESTAMP,
    FieldBounds,
    TypeConflict,
    struct_of,
)
from zkconsumer.schemas.definition import SchemaDefinition, from_base64
from zkconsumer.schemas.json_text import json_text
from zkconsumer.schemas.wire_format import BadValue

Reader = Callable[[Any], Any]
"""Converts a field's value, or a whole message, to a value that Arrow accepts."""

_UINT64: Final = pa.decimal128(20, 0)
_MOST_SECONDS: Final = 253_402_300_799
_GOOGLES: Final = (
    *("any", "api", "duration", "empty", "field_mask", "source_context", "struct"),
    *("timestamp", "type", "wrappers", "descriptor"),
)
_TEXT_DEPTH: Final = 100


def _scalar_types() -> dict[int, tuple[pa.DataType, Reader]]:
    names = descriptor_pb2.FieldDescriptorProto
    whole = (
        *(names.TYPE_INT64, names.TYPE_INT32, names.TYPE_UINT32, names.TYPE_FIXED32),
        *(names.TYPE_SFIXED32, names.TYPE_SFIXED64, names.TYPE_SINT32, names.TYPE_SINT64),
    )
    return {
        **dict.fromkeys(whole, (pa.int64(), int)),
        names.TYPE_UINT64: (_UINT64, Decimal),
        names.TYPE_FIXED64: (_UINT64, Decimal),
        names.TYPE_DOUBLE: (pa.float64(), float),
        names.TYPE_FLOAT: (pa.float64(), float),
        names.TYPE_BOOL: (pa.bool_(), bool),
        names.TYPE_STRING: (pa.string(), str),
        names.TYPE_BYTES: (pa.binary(), bytes),
    }


_SCALARS: Final = _scalar_types()


class ProtobufDecoder:
    """Decodes Protobuf payloads of one message type; see ``PayloadDecoder``.

    Args:
        definition: a serialized file, or set of files, in base64.
        message: the indexes that lead to the message type within the (last) file.

    Raises:
        SchemaError: the definition is malformed, or has no such message type.
    """

    def __init__(self, definition: SchemaDefinition, message: tuple[int, ...]) -> None:
        files = _files(definition)
        try:
            pool = descriptor_pool.DescriptorPool()
            added: set[str] = set()
            for file in files:
                _add(pool, file, added)
            main = files[-1]
            descriptor = pool.FindMessageTypeByName(_message_name(main, message))
            self._class = message_factory.GetMessageClass(descriptor)
            self.type, self._read = _Walk().message(descriptor, 0)
            self._count = counter_of(self.type, getattr)
        except (SchemaError, TypeConflict) as error:
            raise SchemaError(f"the schema has no column type: {error}") from None
        except Exception as error:
            reason = str(error)[:200] or type(error).__name__
            raise SchemaError(f"the schema is not a valid Protobuf file: {reason}") from error

    def decode(self, payload: bytes) -> object:
        """See ``PayloadDecoder``."""
        message = self._class()
        try:
            message.ParseFromString(payload)
        except DecodeError as error:
            raise BadValue(str(error)) from None
        if self._count is not None:
            self._count(message, CellBudget(len(payload)))
        return self._read(message)


def _files(definition: SchemaDefinition) -> list[Any]:
    """Return the files, imported ones first; the last file has the message type."""
    try:
        if definition.is_set:
            found = descriptor_pb2.FileDescriptorSet()
            found.ParseFromString(from_base64(definition.text, "the schema"))
            files = list(found.file)
        else:
            texts = [text for _, text in definition.references] + [definition.text]
            names = [name for name, _ in definition.references] + [""]
            files = [_file(text, name) for text, name in zip(texts, names, strict=True)]
    except DecodeError as error:
        raise SchemaError(f"the schema is not a serialized descriptor: {error}") from None
    if not files:
        raise SchemaError("the descriptor set has no file")
    return files


def _file(text: str, name: str) -> Any:
    file = descriptor_pb2.FileDescriptorProto()
    file.ParseFromString(from_base64(text, "the schema"))
    # The registry's name is the one by which other files import this file.
    file.name = name or file.name or "value.proto"
    return file


def _add(pool: Any, file: Any, added: set[str]) -> None:
    for name in file.dependency:
        stem = name.removeprefix("google/protobuf/").removesuffix(".proto")
        if name not in added and name == f"google/protobuf/{stem}.proto" and stem in _GOOGLES:
            module = import_module(f"google.protobuf.{stem}_pb2")
            known = descriptor_pb2.FileDescriptorProto()
            module.DESCRIPTOR.CopyToProto(known)
            _add(pool, known, added)
    if file.name not in added:
        pool.AddSerializedFile(file.SerializeToString())
        added.add(file.name)


def _message_name(file: Any, indexes: tuple[int, ...]) -> str:
    names, messages = [file.package] if file.package else [], file.message_type
    for index in indexes:
        if index >= len(messages):
            raise SchemaError(f"it has no message with indexes {list(indexes)}")
        names.append(messages[index].name)
        messages = messages[index].nested_type
    return ".".join(names)


class _Walk:
    """Walks a message's descriptor once, to find the column's type and the readers of fields."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._bounds = FieldBounds()

    def message(self, descriptor: Any, depth: int) -> tuple[pa.DataType, Reader]:
        """Return the type of a message, and its reader."""
        self._bounds.enter(depth)
        name = descriptor.full_name
        if name == "google.protobuf.Timestamp":
            return TIMESTAMP, _micros
        if name.startswith("google.protobuf.") and name.endswith("Value"):
            field = descriptor.fields_by_name.get("value")
            if field is not None and field.type in _SCALARS:
                kind, read = _SCALARS[field.type]
                return kind, lambda message: read(message.value)
        if name in self._open or not descriptor.fields:
            return JSON_TEXT, _text
        self._open.add(name)
        found = {field.name: self._field(field, depth) for field in descriptor.fields}
        self._open.discard(name)
        readers = {field: read for field, (_, read) in found.items()}
        return (
            struct_of({field: kind for field, (kind, _) in found.items()}),
            lambda message: {field: read(message) for field, read in readers.items()},
        )

    def _field(self, field: Any, depth: int) -> tuple[pa.DataType, Reader]:
        """Return the type of a field, and the function that reads it from its message."""
        name = field.name
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            return self._map(field, depth)
        kind, read = self._single(field, depth)
        if _is_repeated(field):
            return pa.list_(kind), lambda message: [
                read(element) for element in getattr(message, name)
            ]
        if field.has_presence:
            return (
                kind,
                lambda message: read(getattr(message, name)) if message.HasField(name) else None,
            )
        return kind, lambda message: read(getattr(message, name))

    def _single(self, field: Any, depth: int) -> tuple[pa.DataType, Reader]:
        if field.message_type is not None:
            return self.message(field.message_type, depth + 1)
        self._bounds.enter(depth)
        if field.enum_type is not None:
            names = {value.number: value.name for value in field.enum_type.values}
            return pa.string(), lambda number: names.get(number, str(number))
        return _SCALARS[field.type]

    def _map(self, field: Any, depth: int) -> tuple[pa.DataType, Reader]:
        entry = field.message_type.fields_by_name
        key_type, read_key = _SCALARS[entry["key"].type]
        item_type, read_item = self._single(entry["value"], depth)
        name = field.name
        return pa.map_(key_type, item_type), lambda message: [
            (read_key(key), read_item(item)) for key, item in getattr(message, name).items()
        ]


def _is_repeated(field: Any) -> bool:
    reported = getattr(field, "is_repeated", None)
    if reported is None:
        return bool(field.label == descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED)
    return bool(reported() if callable(reported) else reported)


def _micros(message: Any) -> int:
    seconds, nanos = message.seconds, message.nanos
    if not -_MOST_SECONDS <= seconds <= _MOST_SECONDS or not 0 <= nanos < 10**9:
        raise BadValue(f"{seconds} s and {nanos} ns is not a time")
    return int(seconds) * 1_000_000 + int(nanos) // 1000


def _text(message: Any) -> str:
    """Return a message that has no column type as JSON, by the names of its fields."""
    return json_text(_plain(message, 0))


def _plain(message: Any, depth: int) -> Mapping[str, Any]:
    if depth > _TEXT_DEPTH:
        raise BadValue("it is nested too deeply")
    found: dict[str, Any] = {}
    for field, value in message.ListFields():
        of_message = field.message_type is not None
        if of_message and field.message_type.GetOptions().map_entry:
            inner = field.message_type.fields_by_name["value"].message_type is not None
            found[field.name] = {
                str(key): _plain(item, depth + 1) if inner else item for key, item in value.items()
            }
        elif _is_repeated(field):
            found[field.name] = [
                _plain(element, depth + 1) if of_message else element for element in value
            ]
        else:
            found[field.name] = _plain(value, depth + 1) if of_message else value
    return found
