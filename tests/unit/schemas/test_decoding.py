"""Values of several schemas share a column, or are rejected with a reason."""

import base64
import datetime
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

from tests.support.manual_clock import ManualClock
from tests.support.schemas import USER, MemoryCatalog, avro, avro_bytes, avro_value, with_id
from zkconsumer.errors import ConfigError
from zkconsumer.schemas.decoding import ValueDecoding
from zkconsumer.schemas.definition import AbsentReference, SchemaDefinition, UnusableSchema
from zkconsumer.schemas.remembered import RememberedSchemas, SchemaMemory
from zkconsumer.schemas.wire_format import SchemaKey

JSON_INT = SchemaDefinition(kind="json", text='{"type": "integer"}')


def decoding_of(kind: str = "avro", **known: SchemaDefinition) -> ValueDecoding:
    """Return a decoding whose catalog has these schemas: ``s7`` is the one with id 7."""
    keys: dict[SchemaKey, SchemaDefinition] = {
        int(name[1:]): definition for name, definition in known.items()
    }
    return ValueDecoding(kind, MemoryCatalog(keys))


def record(*fields: tuple[str, Any]) -> dict[str, Any]:
    """Return an Avro record schema with these fields."""
    listed = [{"name": name, "type": kind} for name, kind in fields]
    return {"type": "record", "name": "R", "fields": listed}


def rows(column: pa.Array | None) -> list[Any]:
    """Return the values of a column."""
    assert column is not None
    found: list[Any] = column.to_pylist()
    return found


def test_a_schema_that_evolves_widens_the_column() -> None:
    """Rows of the old schema have null in a new field, and int widens to long."""
    old, new = record(("a", "int")), record(("a", "long"), ("b", ["null", "string"]))
    decoding = decoding_of(s1=avro(old), s2=avro(new))
    first = decoding.decode([avro_value(1, old, {"a": 1})])
    assert rows(first.column) == [{"a": 1}]
    second = decoding.decode(
        [avro_value(2, new, {"a": 2**40, "b": "x"}), avro_value(1, old, {"a": 3})]
    )
    assert rows(second.column) == [{"a": 2**40, "b": "x"}, {"a": 3, "b": None}]


def test_a_schema_that_contradicts_the_column_makes_rejects() -> None:
    """Values whose schema contradicts the column are rejected, and the reason names the field."""
    other = record(("id", "string"))
    decoding = decoding_of(s1=avro(USER), s2=avro(other))
    value = avro_value(1, USER, {"id": 7, "name": None})
    found = decoding.decode([value, avro_value(2, other, {"id": "x"}), value])
    assert rows(found.column) == [{"id": 7, "name": None}, None, {"id": 7, "name": None}]
    assert found.rejects == {1: "schema 2: id is string, but int64 in the column"}


def test_a_schema_is_looked_up_once() -> None:
    """A schema is looked up once, found or not."""
    catalog = MemoryCatalog({1: avro(USER)})
    decoding = ValueDecoding("avro", catalog)
    value = avro_value(1, USER, {"id": 7, "name": None})
    given = [value, with_id(9, b"x"), None, b"plain"]
    decoding.decode(given)
    found = decoding.decode(given)
    assert catalog.looked_up == [1, 9]
    assert found.rejects == {
        1: "there is no schema 9",
        3: "it does not begin with a magic byte 0 and a schema id",
    }
    assert found.schemas == [1, 9, None, None]


def test_unknown_ids_keep_no_other_value_from_being_decoded() -> None:
    """Unknown schema ids are looked up once each, and known values are decoded beside them."""
    clock = ManualClock()
    catalog = MemoryCatalog({7_777: avro(USER)})
    decoding = ValueDecoding("avro", catalog, clock=clock)
    unknown = [with_id(at, b"") for at in range(1_200)]
    good = avro_value(7_777, USER, {"id": 1, "name": None})
    found = decoding.decode([*unknown, good])
    assert list(found.rejects) == list(range(1_200))
    assert set(found.rejects.values()) == {f"there is no schema {at}" for at in range(1_200)}
    assert rows(found.column)[-1] == {"id": 1, "name": None}
    asked = len(catalog.looked_up)
    decoding.decode(unknown[-900:])
    assert len(catalog.looked_up) == asked == 1_201


def test_a_registry_that_lags_makes_dead_letters_for_seconds_only() -> None:
    """A missing schema is looked up again after seconds; a known one never."""
    clock = ManualClock()
    catalog = MemoryCatalog({1: avro(USER)})
    decoding = ValueDecoding("avro", catalog, clock=clock)
    late, known = (avro_value(key, USER, {"id": 1, "name": None}) for key in (2, 1))
    for _ in range(50):
        clock.advance(100)
        assert list(decoding.decode([late, known]).rejects) == [0]
    assert catalog.looked_up == [2, 1]
    clock.advance(100)
    assert list(decoding.decode([late]).rejects) == [0]
    assert catalog.looked_up == [2, 1, 2]
    catalog.known[2] = avro(USER)
    clock.advance(5_000)
    assert decoding.decode([late, known]).rejects == {}
    assert catalog.looked_up == [2, 1, 2, 2]


def test_an_unusable_schema_is_fetched_once_in_five_minutes() -> None:
    """A schema that can't be used is looked up again after five minutes: it exists already."""
    clock = ManualClock()
    catalog = MemoryCatalog({2: JSON_INT})
    decoding = ValueDecoding("avro", catalog, clock=clock)
    for _ in range(2):
        assert list(decoding.decode([with_id(2, b"")]).rejects) == [0]
        clock.advance(299_999)
    clock.advance(1)
    decoding.decode([with_id(2, b"")])
    assert catalog.looked_up == [2, 2]


@pytest.mark.parametrize(
    ("error", "times"), [(UnusableSchema("too many"), 1), (AbsentReference("not there"), 2)]
)
def test_only_a_missing_reference_is_requested_again_in_seconds(
    error: UnusableSchema, times: int
) -> None:
    """Only a missing reference is looked up again within seconds: it may be registered soon.

    A schema with too many references exists: each lookup of it may cost a hundred requests.
    """
    clock = ManualClock()
    catalog = MemoryCatalog({5: error})
    remembered = RememberedSchemas(catalog, SchemaMemory(clock))
    decoding = ValueDecoding("avro", catalog, clock=clock)
    for at in range(4):
        clock.advance(2_500)
        assert decoding.decode([with_id(5, b"")]).rejects == {0: f"schema 5: {error}"}
        with pytest.raises(type(error), match=str(error)):
            remembered.find(5)
        assert len(catalog.looked_up) == 2 * min(times, 1 + at // 2)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (None, "no schema of t-value"),
        (JSON_INT, "of kind json"),
        (avro(17), "not a valid Avro schema"),
    ],
)
def test_bare_values_need_a_schema(schema: SchemaDefinition | None, reason: str) -> None:
    """Bare values without a usable schema are a configuration error, not all dead letters."""
    catalog = MemoryCatalog({} if schema is None else {"t-value": schema})
    with pytest.raises(ConfigError, match=reason):
        ValueDecoding("avro", catalog, "t-value").decode([b"x"])


def test_a_schema_that_can_not_be_used_makes_rejects() -> None:
    """Values are rejected where the references of their schema are missing."""
    catalog = MemoryCatalog({1: avro(USER), 5: UnusableSchema("its references are gone \ud800")})
    good = avro_value(1, USER, {"id": 1, "name": None})
    found = ValueDecoding("avro", catalog).decode([with_id(5, b""), good])
    assert found.rejects == {0: "schema 5: its references are gone \\ud800"}


@pytest.mark.parametrize(
    "text",
    [
        '{"type": "\\ud800"}',
        '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "\\ud800"}]}',
        '{"type": "record", "name": "R", "fields": [{"name": "\\ud800", "type": "long"}]}',
    ],
)
def test_a_reason_is_text_that_files_can_hold(text: str) -> None:
    """Reasons are valid text even where a library quotes half of a surrogate pair from a schema."""
    definition = SchemaDefinition(kind="avro", text=text)
    found = decoding_of(s1=definition).decode([with_id(1, b"\2")])
    assert pa.array(found.rejects.values()).to_pylist() == [found.rejects[0]]


def test_bare_values_are_of_the_schema_of_their_subject() -> None:
    """Bare values, without a schema id in front, are decoded with the schema of their subject."""
    catalog = MemoryCatalog({"t-value": avro(USER)})
    decoding = ValueDecoding("avro", catalog, "t-value")
    found = decoding.decode([avro_bytes(USER, {"id": 1, "name": "a"})])
    assert rows(found.column) == [{"id": 1, "name": "a"}]
    assert (found.schemas, found.payload_starts) == ([None], [0])


def test_avro_types_become_those_of_tables() -> None:
    """Avro's logical types, maps, arrays, unions, named types and references become Arrow types."""
    inner = {"type": "record", "name": "ns.In", "fields": [{"name": "x", "type": "int"}]}
    schema = record(
        ("day", {"type": "int", "logicalType": "date"}),
        ("at", {"type": "long", "logicalType": "timestamp-micros"}),
        ("cost", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}),
        ("tags", {"type": "array", "items": "string"}),
        ("more", {"type": "map", "values": "long"}),
        ("either", ["null", "string", "long"]),
        ("number", ["int", "double"]),
        ("inner", "ns.In"),
        ("nothing", {"type": "record", "name": "E", "fields": []}),
    )
    definition = avro(schema, ("in", inner))
    value = {
        "day": datetime.date(2014, 5, 13),
        "at": datetime.datetime(2014, 5, 13, tzinfo=datetime.UTC),
        "cost": Decimal("-12.34"),
        "tags": ["a"],
        "more": {"k": 1},
        "either": 5,
        "number": 2,
        "inner": {"x": 3},
        "nothing": {},
    }
    inline = json.loads(json.dumps(schema).replace('"ns.In"', json.dumps(inner)))
    found = decoding_of(s1=definition).decode([avro_value(1, inline, value)])
    assert found.rejects == {}
    assert rows(found.column) == [
        {**value, "more": [("k", 1)], "either": "5", "number": 2.0, "nothing": "{}"}
    ]


def test_a_recursive_schema_is_text_and_can_not_overflow_the_stack() -> None:
    """A recursive schema becomes text, and deep values are rejected before the stack overflows."""
    node = {
        "type": "record",
        "name": "Node",
        "fields": [{"name": "v", "type": "int"}, {"name": "next", "type": ["null", "Node"]}],
    }
    value = avro_value(1, node, {"v": 1, "next": {"v": 2, "next": None}})
    deep = with_id(1, b"\2\2" * 1_000_000)
    found = decoding_of(s1=avro(node)).decode([value, deep])
    assert rows(found.column)[0] == {"v": 1, "next": '{"v":2,"next":null}'}
    assert found.rejects == {1: "it is nested too deeply"}


def _doubling(levels: int) -> dict[str, Any]:
    """Nest records of which each has the one below it twice: a short schema of very many fields."""
    schema: Any = "null"
    for at in range(levels):
        inner = schema if at == 0 else f"L{at - 1}"
        first = {"name": "a", "type": schema}
        schema = {
            "type": "record",
            "name": f"L{at}",
            "fields": [first, {"name": "b", "type": inner}],
        }
    assert isinstance(schema, dict)
    return schema


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (record(("a", {"type": "array", "items": "null"})), "take no bytes"),
        (_doubling(40), "more than 10000 fields"),
        (record(("id", "int"), ("ID", "int")), "differ only in case"),
        ({"type": "record"}, "not a valid Avro schema"),
        (["null", {"type": "nonsense"}], "not a valid Avro schema"),
        (17, "not a valid Avro schema"),
    ],
)
def test_hostile_schemas_make_rejects(schema: Any, reason: str) -> None:
    """Values of a hostile schema are rejected quickly, and other values are decoded."""
    decoding = decoding_of(s1=avro(schema), s2=avro(USER))
    good = avro_value(2, USER, {"id": 1, "name": None})
    found = decoding.decode([with_id(1, b"\xff" * 9 + b"\1"), good])
    assert list(found.rejects) == [0]
    assert reason in found.rejects[0]
    assert rows(found.column)[1] == {"id": 1, "name": None}


@pytest.mark.parametrize(
    ("kind", "levels", "reason"),
    [
        ("avro", 300, "nested too deeply"),
        ("json", 300, "more than 48 levels"),
        ("avro", 5_000, "nested too deeply"),  # for the parser already, as the next
        ("json", 5_000, "nested too deeply"),
    ],
)
def test_a_deep_schema_is_refused(kind: str, levels: int, reason: str) -> None:
    """A schema nested too deeply is refused in any language, by the parser or by our own limit."""
    text = '{"type":"array","items":' * levels + '"int"' + "}" * levels
    bomb = SchemaDefinition(kind=kind, text=text)
    found = decoding_of(kind, s1=bomb).decode([with_id(1, b"1")])
    assert reason in found.rejects[0]


def test_bytes_after_a_value_reject_it() -> None:
    """Bytes after the end of a value reject it: no serializer writes any."""
    value = avro_value(1, USER, {"id": 7, "name": None})
    found = decoding_of(s1=avro(USER)).decode([value + b"xy"])
    assert found.rejects == {0: "2 bytes follow the end of the value"}


JSON = SchemaDefinition(
    kind="json",
    text=json.dumps(
        {
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "price": {"type": ["null", "number"]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "who": {"$ref": "#/definitions/who"},
                "any": {},
                "maybe": {"oneOf": [{"type": "null"}, {"type": "boolean"}]},
                "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
                "odd name": {"type": "string"},
            },
            "definitions": {"who": {"type": "object", "properties": {"n": {"type": "string"}}}},
        }
    ),
)


def test_json_has_the_types_of_its_schema() -> None:
    """JSON fields have their schema's types; untyped ones are JSON text, missing ones null."""
    value = {
        "id": 1.0,
        "price": 2,
        "tags": ["a", None],
        "who": {"n": "x", "unknown": 1},
        "any": [1, {"a": None}],
        "maybe": True,
        "counts": {"k": 3},
        "odd name": "kept in the raw value",
    }
    found = decoding_of("json", s1=JSON).decode(
        [with_id(1, json.dumps(value).encode()), with_id(1, b"{}"), with_id(1, b"null")]
    )
    assert found.rejects == {}
    full, empty, nothing = rows(found.column)
    assert full == {
        "id": 1,
        "price": 2.0,
        "tags": ["a", None],
        "who": {"n": "x"},
        "any": '[1,{"a":null}]',
        "maybe": True,
        "counts": [("k", 3)],
    }
    assert set(empty.values()) == {None}
    assert nothing is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"{", "JSON"),
        (b"\xff", "UnicodeDecodeError"),
        (b'{"id": "1"}', "'1' is not a 64-bit integer"),
        (b'{"id": 9223372036854775808}', "not a 64-bit integer"),
        (b'{"id": true}', "True is not a 64-bit integer"),
        (b'{"price": NaN}', "NaN is not JSON"),
        (b'{"tags": "a"}', "'a' is not an array"),
        (b'{"tags": ["\\ud800"]}', "UnicodeEncodeError"),
        (b"[1]", "an array is not an object"),
        (b"[" * 200_000, "RecursionError"),
    ],
)
def test_json_of_other_types_makes_a_reject(text: bytes, reason: str) -> None:
    """JSON that does not fit its schema is rejected, and the reason quotes the value."""
    found = decoding_of("json", s1=JSON).decode([with_id(1, text)])
    assert reason in found.rejects[0]


def _proto() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    kinds = descriptor_pb2.FieldDescriptorProto
    first = file.message_type.add(name="Unused")
    first.field.add(name="x", number=1, type=kinds.TYPE_INT32, label=kinds.LABEL_OPTIONAL)
    order = file.message_type.add(name="Order")
    for number, (name, kind, label, of) in enumerate(
        (
            ("id", kinds.TYPE_UINT64, kinds.LABEL_OPTIONAL, ""),
            ("name", kinds.TYPE_STRING, kinds.LABEL_OPTIONAL, ""),
            ("tags", kinds.TYPE_STRING, kinds.LABEL_REPEATED, ""),
            (
                "at",
                kinds.TYPE_MESSAGE,
                kinds.LABEL_OPTIONAL,
                ".google.protobuf.Timestamp",
            ),
            ("parent", kinds.TYPE_MESSAGE, kinds.LABEL_OPTIONAL, ".shop.Order"),
            ("state", kinds.TYPE_ENUM, kinds.LABEL_OPTIONAL, ".shop.State"),
        ),
        1,
    ):
        field = order.field.add(name=name, number=number, type=kind, label=label)
        if of:
            field.type_name = of
    state = file.enum_type.add(name="State")
    state.value.add(name="NEW", number=0)
    state.value.add(name="SENT", number=1)
    return file


def _order(**fields: Any) -> bytes:
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(_proto().SerializeToString())
    message = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))(**fields)
    data: bytes = message.SerializeToString()
    return data


@pytest.mark.parametrize("is_set", [False, True])
def test_protobuf_has_the_types_of_its_message(is_set: bool) -> None:
    """A Protobuf message is found by its indexes, in one file's descriptor or in a set of files."""
    given: Any = _proto()
    if is_set:
        given = descriptor_pb2.FileDescriptorSet(file=[_proto()])
    text = base64.b64encode(given.SerializeToString()).decode()
    definition = SchemaDefinition(kind="protobuf", text=text, is_set=is_set)
    value = _order(
        id=2**64 - 1, tags=["a"], at={"seconds": 5, "nanos": 1000}, parent={"id": 3}, state=7
    )
    found = decoding_of("protobuf", s1=definition).decode(
        [with_id(1, b"\2\2" + value), with_id(1, b"\2\2\xff"), with_id(1, b"\2\x08" + value)]
    )
    assert rows(found.column)[0] == {
        "id": Decimal(2**64 - 1),
        "name": "",
        "tags": ["a"],
        "at": datetime.datetime(1970, 1, 1, 0, 0, 5, 1, tzinfo=datetime.UTC),
        "parent": '{"id":3}',
        "state": "7",
    }
    assert list(found.rejects) == [1, 2]
    assert "it has no message with indexes [4]" in found.rejects[2]


def test_a_proto_file_in_place_of_a_descriptor_says_what_helps() -> None:
    """The text of a ``.proto`` file is refused, and the reason names the option that helps."""
    definition = SchemaDefinition(kind="protobuf", text='syntax = "proto3";')
    found = decoding_of("protobuf", s1=definition).decode([with_id(1, b"\0")])
    assert "--schemas" in found.rejects[0]


def test_a_schema_of_another_kind_makes_rejects() -> None:
    """Values whose schema is of another kind are rejected."""
    found = decoding_of("json", s1=avro(USER)).decode([with_id(1, b"{}")])
    assert found.rejects == {0: "schema 1 is of kind avro, not json"}
