"""Bounds on what few bytes of JSON or Protobuf can expand to, and on the width of a column."""

import base64
import json
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2

from zkconsumer.schemas.column_types import JSON_TEXT, TypeConflict, merged
from zkconsumer.schemas.definition import SchemaDefinition
from zkconsumer.schemas.json_schema import JsonDecoder
from zkconsumer.schemas.protobuf import ProtobufDecoder
from zkconsumer.schemas.wire_format import BadValue


def json_of(schema: object) -> JsonDecoder:
    """Return a decoder for a JSON schema."""
    return JsonDecoder(SchemaDefinition(kind="json", text=json.dumps(schema)))


WIDE = {"type": "object", "properties": {f"f{at}": {"type": "integer"} for at in range(50)}}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "array", "items": WIDE}, b"[" + b"{}," * 20_000 + b"{}]"),
        (
            {"type": "object", "properties": {"a": {"type": "array", "items": WIDE}}},
            b'{"a":[' + b"null," * 20_000 + b"null]}",
        ),
        (
            {"type": "object", "additionalProperties": {"type": "array", "items": WIDE}},
            b'{"a":[' + b"{}," * 10_000 + b'{}],"b":[' + b"{}," * 10_000 + b"{}]}",
        ),
    ],
)
def test_few_bytes_of_json_can_not_expand_to_very_many_values(schema: object, text: bytes) -> None:
    """JSON that would expand to too many values is refused: an item has one in each column."""
    with pytest.raises(BadValue, match="too many values"):
        json_of(schema).decode(text)


def test_json_of_other_shapes_is_refused_while_it_is_counted() -> None:
    """JSON of another shape than the schema's is refused while its values are counted, too."""
    items = {"type": "array", "items": WIDE}
    mapped = {"type": "object", "additionalProperties": WIDE}
    for schema, text in ((items, b"[1]"), (items, b"5"), (mapped, b"[{}]"), (mapped, b"5")):
        with pytest.raises(BadValue):
            json_of(schema).decode(text)
    assert json_of(items).decode(b'[{"f0": 1}, null]') == [{"f0": 1}, None]
    assert json_of(mapped).decode(b'{"a": {"f0": 1}}') == [("a", {"f0": 1})]


def test_few_bytes_of_protobuf_can_not_expand_to_very_many_values() -> None:
    """Repeated empty messages are bounded: each takes two bytes, and a value in every column."""
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="y.proto", syntax="proto3")
    outer, inner = file.message_type.add(name="M"), file.message_type.add(name="N")
    outer.field.add(
        name="r",
        number=1,
        type=kinds.TYPE_MESSAGE,
        type_name=".N",
        label=kinds.LABEL_REPEATED,
    )
    for at in range(30):
        inner.field.add(
            name=f"f{at}", number=at + 1, type=kinds.TYPE_INT64, label=kinds.LABEL_OPTIONAL
        )
    text = base64.b64encode(file.SerializeToString()).decode()
    decoder = ProtobufDecoder(SchemaDefinition(kind="protobuf", text=text), (0,))
    with pytest.raises(BadValue, match="too many values"):
        decoder.decode(b"\x0a\x00" * 20_000)
    found: Any = decoder.decode(b"\x0a\x02\x08\x07" * 3)
    assert [item["f0"] for item in found["r"]] == [7, 7, 7]


def test_the_fields_of_a_merged_column_are_limited() -> None:
    """The fields of a merged column are limited, counted over all levels."""

    def wide(name: str) -> pa.DataType:
        return pa.struct([("in", pa.struct([(f"{name}{at}", pa.int64()) for at in range(4_000)]))])

    both = merged(wide("a"), wide("b"))
    with pytest.raises(TypeConflict, match="more than 10000 fields"):
        merged(both, wide("c"))
    assert merged(both, wide("a")).equals(both)


def test_json_text_and_strings_share_no_column() -> None:
    """JSON text and strings don't merge: a reader could not tell which texts are JSON."""
    with pytest.raises(TypeConflict, match="a is JSON text, but string in the column"):
        merged(pa.struct([("a", pa.string())]), pa.struct([("a", JSON_TEXT)]))
    kind = pa.struct([("a", JSON_TEXT)])
    assert merged(kind, kind).equals(kind)


def test_a_reference_to_an_anchor_becomes_json_text() -> None:
    """A ``$ref`` to an anchor is not resolved: its value becomes JSON text."""
    inner = {"$ref": "#address"}
    schema = {"type": "object", "properties": {"id": {"type": "integer"}, "address": inner}}
    decoder = json_of(schema)
    assert decoder.type.field("address").type.equals(JSON_TEXT)
    assert decoder.decode(b'{"address": {"street": "x"}}') == {"address": '{"street":"x"}'}
