"""Avro values resolved to a reader's schema: defaults, and conversions between numbers."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.support.schemas import avro, avro_bytes
from tests.unit.schemas.test_hostile_avro import record, zigzag
from zkconsumer.errors import SchemaError
from zkconsumer.schemas.avro import AvroDecoder
from zkconsumer.schemas.wire_format import BadValue

ID = record(("id", "long"))
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}


def decimal(scale: int) -> dict[str, Any]:
    """Return the schema of a decimal with this scale."""
    return {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": scale}


def with_default(kind: object, default: object) -> dict[str, Any]:
    """Return ``ID`` with one more field, which has a default."""
    fields: list[Any] = [*ID["fields"], {"name": "more", "type": kind, "default": default}]
    return {**ID, "fields": fields}


INNER = {
    **record(("q", MILLIS), name="In"),
    "fields": [{"name": "q", "type": MILLIS, "default": 3}],
}


@pytest.mark.parametrize(
    ("kind", "default", "value"),
    [
        (record(("at", MILLIS), name="M"), {"at": 5}, {"at": 5_000}),
        (INNER, {}, {"q": 3_000}),
        ({"type": "array", "items": INNER}, [{}, {"q": 1}], [{"q": 3_000}, {"q": 1_000}]),
        ({"type": "map", "values": MILLIS}, {"k": 1}, [("k", 1_000)]),
        ("bytes", "\u00ff", b"\xff"),
        ({"type": "fixed", "name": "F", "size": 2}, "\u0000\u00ff", b"\0\xff"),
        (decimal(2), "\u0001\u0000", Decimal("2.56")),
        (["null", "string"], None, None),
        (["string", "null"], None, None),
        (["bytes", "null"], "\u00ff", b"\xff"),
        ("double", 5, 5.0),
        ("boolean", True, True),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "A", "A"),
    ],
)
def test_a_default_is_the_same_value_in_each_row(
    kind: object, default: object, value: object
) -> None:
    """A field's default is decoded as Avro defines it, to the same value in each row."""
    decoder = AvroDecoder(avro(ID), avro(with_default(kind, default)))
    found = [decoder.decode(zigzag(1)) for _ in range(3)]
    assert found == [{"id": 1, "more": value}] * 3
    assert pa.array(found, decoder.type).field("more").to_pylist() == (
        pa.array([value] * 3, decoder.type.field("more").type).to_pylist()
    )


def doubling(levels: int) -> dict[str, Any]:
    """Nest records whose default holds the default of the level below twice."""
    schema: Any = {**record(name="L0"), "fields": [{"name": "x", "type": "int", "default": 1}]}
    for at in range(1, levels):
        kinds = (("a", schema), ("b", f"L{at - 1}"))
        fields: list[Any] = [{"name": name, "type": kind, "default": {}} for name, kind in kinds]
        schema = {**record(name=f"L{at}"), "fields": fields}
    return with_default(schema, {})


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (with_default("bytes", "\u0100"), "the default of more is not a value"),
        (with_default(record(("x", "int"), name="M"), {}), "the default of more is not a value"),
        (doubling(30), "more than 10000"),
    ],
)
def test_an_invalid_default_is_refused(schema: object, reason: str) -> None:
    """A default that does not fit its type, or that is too large, is refused with the schema."""
    with pytest.raises(SchemaError, match=reason):
        AvroDecoder(avro(ID), avro(schema))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (decimal(2), decimal(4)),
        (MILLIS, MICROS),
        (["null", MILLIS], ["null", MICROS]),
        (["null", MILLIS], MICROS),
        ({"type": "array", "items": MILLIS}, {"type": "array", "items": MICROS}),
        ({"type": "map", "values": decimal(0)}, {"type": "map", "values": decimal(1)}),
        (record(("x", MILLIS), name="In"), record(("x", MICROS), name="In")),
        ({"type": "int", "logicalType": "date"}, MILLIS),
        ({"type": "int", "logicalType": "date"}, ["null", MILLIS]),
    ],
)
def test_numbers_are_not_read_in_another_unit(written: object, read: object) -> None:
    """Numbers of different units are not converted; Avro's own readers take them unchanged."""
    with pytest.raises(SchemaError, match=r"d: .*can't be read"):
        AvroDecoder(avro(record(("d", written))), avro(record(("d", read))))


@pytest.mark.parametrize(
    ("written", "read", "value", "found"),
    [
        (MILLIS, ["null", "string", MILLIS], 5, "5"),
        ("long", MILLIS, 5, 5_000),
        (MILLIS, "long", 5, 5),
        ({**decimal(2), "precision": 5}, decimal(2), b"\1", Decimal("0.01")),
    ],
)
def test_numbers_of_the_same_unit_are_read(
    written: Any, read: object, value: object, found: object
) -> None:
    """Numbers are read where units agree, or where one of the two schemas has none."""
    bare = written["type"] if isinstance(written, dict) else written
    payload = avro_bytes(record(("d", bare)), {"d": value})
    decoder = AvroDecoder(avro(record(("d", written))), avro(record(("d", read))))
    decoded: Any = decoder.decode(payload)
    assert decoded == {"d": found}


@pytest.mark.parametrize("schema", ["bytes", {"type": "bytes"}])
def test_bytes_that_are_all_of_a_value_have_no_length(schema: object) -> None:
    """A value that is only bytes has no length prefix, as Confluent's serializer writes it."""
    decoder = AvroDecoder(avro(schema))
    assert [decoder.decode(data) for data in (b"hello", b"\4AB", b"")] == [b"hello", b"\4AB", b""]
    assert AvroDecoder(avro(schema), avro(["null", "bytes"])).decode(b"hello") == b"hello"


def test_a_long_that_is_no_double_is_refused() -> None:
    """A long that a double can't represent is refused in a column of doubles."""
    decoder = AvroDecoder(avro(record(("d", ["null", "long", "double"]))))
    assert decoder.decode(zigzag(1) + zigzag(2**53)) == {"d": 2.0**53}
    with pytest.raises(BadValue, match="9007199254740993 is not a double"):
        decoder.decode(zigzag(1) + zigzag(2**53 + 1))
