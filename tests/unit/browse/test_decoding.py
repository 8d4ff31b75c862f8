"""Showing arbitrary keys and values: any bytes become text that is safe to print."""

import json
import struct
import tracemalloc
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.browse.decoding import BytesDecoder
from zkconsumer.browse.message import SeenMessage, ndjson_line
from zkconsumer.errors import SchemaError
from zkconsumer.schemas.definition import SchemaDefinition
from zkconsumer.schemas.wire_format import SchemaKey

RECORD = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]})


class Schemas:
    """A registry with one schema; 2 is JSON Schema, 3 fails."""

    def __init__(self) -> None:
        self.looked_up: list[SchemaKey] = []

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaSource``."""
        self.looked_up.append(key)
        if key == 3:
            raise SchemaError("the registry is away")
        if key == 2:
            return SchemaDefinition(kind="json", text="{}")
        return SchemaDefinition(kind="avro", text=RECORD) if key in {1, UUID(int=1)} else None


def test_bytes_are_recognised_as_json_text_or_hex() -> None:
    """Bytes are shown as JSON, text, hex or null; control characters are never shown as text."""
    decode = BytesDecoder().decode
    assert decode(None).kind == "null"
    assert decode(b'{"a": [1]}').value == {"a": [1]}
    assert decode(b"{broken").kind == "text"
    assert decode(b"caf\xc3\xa9\n").text == "café\n"
    assert (decode(b"\xff\x00").kind, decode(b"\xff\x00").text) == ("hex", "ff 00")
    assert decode(b"\x1b[31mred").kind == "hex"
    assert decode(b"[" * 100_000).kind == "text"
    assert decode(b"\xff" * 5_000).text.endswith("ff ... 5000 bytes")


def test_bytes_are_shown_in_the_requested_form() -> None:
    """A requested form applies whatever the bytes hold, without looking up a schema."""
    schemas = Schemas()
    decode = BytesDecoder(schemas).decode
    framed = b"\0\0\0\0\x01\x54\xff\n"
    text = decode(framed, form="text")
    assert (text.kind, text.text) == ("text", "\\x00\\x00\\x00\\x00\\x01T\\xff\n")
    assert decode(b'{"a": 1}', form="hex").text == "7b 22 61 22 3a 20 31 7d"
    assert decode(b'{"a": 1}', form="text").kind == "text"
    assert decode(None, form="hex").kind == "null"
    assert schemas.looked_up == []


def test_avro_is_decoded_with_schemas_of_a_registry() -> None:
    """Each schema is looked up once; what cannot be decoded is shown as hex with the reason."""
    schemas = Schemas()
    decoder = BytesDecoder(schemas)
    found = decoder.decode(b"\0\0\0\0\x01\x54")
    assert (found.kind, found.text, found.value) == ("avro", '{"id":42}', {"id": 42})
    assert decoder.decode(b"\0\0\0\0\x01\x02").value == {"id": 1}
    assert schemas.looked_up == [1]
    header = b"\x01" + UUID(int=1).bytes
    assert decoder.decode(b"\x54", header).value == {"id": 42}
    for number, note in (
        (1, "schema 1: "),
        (2, "is json, not avro"),
        (3, "away"),
        (4, "no schema"),
    ):
        bad = decoder.decode(b"\0\0\0\0" + bytes([number]) + b"\xff" * 20)
        assert bad.kind == "hex"
        assert note in bad.note
    assert decoder.decode(b"\0ab").kind == "hex"
    assert decoder.decode(b"plain").kind == "text"


def test_every_avro_value_is_shown_as_json() -> None:
    """Numbers that JSON cannot hold become strings, and bytes become characters."""
    fields = [{"name": "f", "type": "double"}, {"name": "b", "type": "bytes"}]
    text = json.dumps({"type": "record", "name": "R", "fields": fields})

    class OneSchema:
        def find(self, key: SchemaKey) -> SchemaDefinition | None:
            del key
            return SchemaDefinition(kind="avro", text=text)

    value = struct.pack("<d", float("nan")) + b"\x04\xff<"
    found = BytesDecoder(OneSchema()).decode(b"\0\0\0\0\x01" + value)
    assert (found.kind, found.text) == ("avro", '{"f":"nan","b":"\u00ff<"}')


@given(st.none() | st.binary(), st.none() | st.binary(), st.text())
def test_a_line_is_json_whatever_it_holds(
    key: bytes | None, value: bytes | None, name: str
) -> None:
    """A message is written as one line of valid JSON, whatever bytes it holds."""
    decode = BytesDecoder().decode
    line = ndjson_line(
        SeenMessage(
            topic="t",
            partition=1,
            offset=2,
            timestamp=-1,
            raw_key=key,
            raw_value=value,
            key=decode(key),
            value=decode(value),
            headers=((name, decode(value)),),
        )
    )
    assert line.count(b"\n") == 1
    fields = json.loads(line)
    assert fields["timestamp"] is None
    assert (fields["value"] is None) == (value is None or fields.get("value_format") == "json")


def test_a_decoded_value_takes_no_more_memory_than_its_text() -> None:
    """A hostile JSON value is kept as text: its objects would take 27 times as much memory."""
    data = b"[" + b"{}," * 100_000 + b"{}]"
    tracemalloc.start()
    try:
        kept = BytesDecoder().decode(data)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept.kind == "json"
    assert taken < 2 * len(data)
