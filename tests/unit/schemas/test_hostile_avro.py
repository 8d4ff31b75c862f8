"""Hostile Avro: payloads that do not fit their schema, and those that cost too much."""

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.schemas import avro, avro_bytes
from tests.support.shares import examples
from zkconsumer.errors import SchemaError
from zkconsumer.schemas.avro import AvroDecoder
from zkconsumer.schemas.wire_format import BadValue


def zigzag(number: int) -> bytes:
    """Encode a long as Avro does."""
    left, out = (number << 1) ^ (number >> 63), bytearray()
    while left >= 0x80:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes(out) + bytes([left])


def record(*fields: tuple[str, Any], name: str = "R") -> dict[str, Any]:
    """Return an Avro record schema with these fields."""
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": field, "type": kind} for field, kind in fields],
    }


UNION = ["null", "string", "long"]
ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
NODE = record(("v", "long"), ("next", ["null", "R"]))
LONGS = {"type": "array", "items": "long"}
TOO_LONG = b"\xff" * 11 + b"\1"


@pytest.mark.parametrize(
    ("schema", "payload", "reason"),
    [
        (record(("a", UNION)), zigzag(-1) + zigzag(42), "no branch -1"),
        (record(("a", UNION)), zigzag(3) + zigzag(42), "no branch 3"),
        (NODE, zigzag(1) + zigzag(-1) + zigzag(2) + zigzag(0), "no branch -1"),
        (ENUM, zigzag(-1), "no symbol -1"),
        (ENUM, zigzag(2), "no symbol 2"),
        ("long", TOO_LONG, "more than 64 bits"),
        ("long", b"\xff" * 9 + b"\2", "more than 64 bits"),
        (NODE, TOO_LONG + zigzag(0), "more than 64 bits"),
        ("int", zigzag(2**31), "more than 32 bits"),
        ("boolean", b"\2", "an invalid boolean: 2"),
        ("string", zigzag(-1) + b"hello", "an invalid length: -1"),
        ("string", zigzag(6) + b"hello", "the value is truncated"),
        ("double", b"\0" * 7, "the value is truncated"),
        ({"type": "fixed", "name": "F", "size": 4}, b"abc", "the value is truncated"),
        (LONGS, zigzag(2**62), "the value is truncated"),
        (LONGS, zigzag(-1) + zigzag(-1) + zigzag(5) + b"\0", "an invalid size: -1 bytes"),
        (LONGS, b"\0\0", "1 bytes follow the end"),
        (NODE, b"\2\2" * 1_000 + b"\2\0", "nested too deeply"),
    ],
)
def test_a_payload_that_does_not_fit_its_schema_is_refused(
    schema: object, payload: bytes, reason: str
) -> None:
    """A payload that does not fit its schema is refused; fastavro alone would return a value."""
    with pytest.raises(BadValue, match=reason):
        AvroDecoder(avro(schema)).decode(payload)


@settings(max_examples=examples(25))
@given(
    st.fixed_dictionaries(
        {
            "whole": st.integers(-(2**31), 2**31 - 1),
            "long": st.integers(-(2**63), 2**63 - 1),
            "either": st.none() | st.text(max_size=5) | st.integers(-(2**63), 2**63 - 1),
            "sign": st.sampled_from(ENUM["symbols"]),
            "listed": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5),
            "mapped": st.dictionaries(st.text(max_size=3), st.binary(max_size=3), max_size=3),
            "yes": st.booleans(),
            "fixed": st.binary(min_size=3, max_size=3),
            "double": st.floats(allow_nan=False),
        }
    )
)
def test_what_fastavro_writes_is_decoded(value: dict[str, Any]) -> None:
    """Whatever fastavro writes is decoded to the same value."""
    schema = record(
        ("whole", "int"),
        ("long", "long"),
        ("either", UNION),
        ("sign", ENUM),
        ("listed", LONGS),
        ("mapped", {"type": "map", "values": "bytes"}),
        ("yes", "boolean"),
        ("fixed", {"type": "fixed", "name": "F", "size": 3}),
        ("double", "double"),
    )
    found: Any = AvroDecoder(avro(schema)).decode(avro_bytes(schema, value))
    found.pop("either")
    assert {**found, "mapped": dict(found["mapped"]), "either": value["either"]} == value


def test_blocks_with_a_size_in_bytes_are_decoded() -> None:
    """Array blocks may state their size in bytes, as those of Java's blocking encoder do."""
    payload = zigzag(-2) + zigzag(2) + b"\2\4" + zigzag(1) + b"\6" + b"\0"
    assert AvroDecoder(avro(LONGS)).decode(payload) == [1, 2, 3]


def test_an_endless_varint_is_refused_at_once() -> None:
    """An endless varint is refused at once: fastavro's pure reader takes quadratic time for it."""
    decoder, before = AvroDecoder(avro(NODE)), time.process_time()
    with pytest.raises(BadValue, match="64 bits"):
        decoder.decode(b"\xff" * 2_000_000 + b"\1\0")
    assert time.process_time() - before < 1


def nested(levels: int) -> Any:
    """Nest records of which each has the one below it twice, and no field takes a byte."""
    schema: Any = record(("x", "null"), name="L0")
    for at in range(1, levels):
        schema = record(("a", schema), ("b", f"L{at - 1}"), name=f"L{at}")
    return schema


def test_a_short_schema_of_very_many_fields_costs_no_time() -> None:
    """A short schema of very many fields is checked quickly: each name is visited once."""
    before = time.process_time()
    with pytest.raises(SchemaError, match="take no bytes"):
        AvroDecoder(avro({"type": "array", "items": nested(40)}))
    assert time.process_time() - before < 1


NULLS = [(f"n{at}", "null") for at in range(50)]


@pytest.mark.parametrize(
    "items",
    [
        record(("x", "boolean"), *NULLS),
        ["null", record(("x", "boolean"), *NULLS)],
        ["long", "string", record(("x", "boolean"), *NULLS)],
        record(("x", ["null", "R"]), *NULLS),
    ],
)
def test_few_bytes_can_not_expand_to_very_many_values(items: object) -> None:
    """A few bytes that would expand to too many values are refused; null fields count, too."""
    count = 20_000
    decoder = AvroDecoder(avro({"type": "array", "items": items}))
    with pytest.raises(BadValue, match="too many values"):
        decoder.decode(zigzag(count) + b"\0" * count + b"\0")
    assert decoder.decode(b"\0") == []


@pytest.mark.parametrize("size", [-1, "4", None])
def test_a_fixed_type_without_a_size_is_refused(size: object) -> None:
    """A fixed type without a valid size is refused, even if marked as parsed by fastavro."""
    fixed = {"type": "fixed", "name": "F", "size": size}
    for more in ({}, {"__fastavro_parsed": True, "__named_schemas": {}}):
        with pytest.raises(SchemaError):
            AvroDecoder(avro({"type": "array", "items": fixed, **more}))
