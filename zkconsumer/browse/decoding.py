"""Decodes untrusted bytes to text: JSON, Avro with a registry, plain text, or hex. Pure.

Sizes are bounded, and bytes that can't be decoded are shown as hex.
"""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from zkconsumer.errors import SchemaError
from zkconsumer.schemas.definition import SchemaSource
from zkconsumer.schemas.json_text import json_text
from zkconsumer.schemas.wire_format import BadValue, SchemaKey, framed

if TYPE_CHECKING:
    from zkconsumer.schemas.payloads import PayloadDecoder

_JSON_MAX: Final = 1 << 20
"""Larger texts are not parsed."""
_HEX_MAX: Final = 4_096
_DECODERS_MAX: Final = 100

Kind = Literal["null", "json", "avro", "text", "hex"]
Form = Literal["auto", "text", "hex"]
FORMS: Final[tuple[Form, ...]] = ("auto", "text", "hex")
"""The forms in which bytes can be shown; ``auto`` chooses the form that they seem to have."""
_CONTROLS: Final = {
    code: f"\\x{code:02x}" for code in (*range(32), 127) if chr(code) not in "\t\r\n"
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedBytes:
    """Bytes as text.

    Attributes:
        kind: the form that they were decoded in.
        text: the text; of hex only the beginning.
        note: why they could not be decoded in the form that they seem to have; "" if they could.
    """

    kind: Kind
    text: str
    note: str = ""

    @property
    def value(self) -> object:
        """The value of JSON and Avro, parsed at each access; None for other kinds.

        It is not kept, since its objects take 27 times the bytes of the text.

        Raises:
            RecursionError: the value is nested too deep.
        """
        return json.loads(self.text) if self.kind in {"json", "avro"} else None


_NULL: Final = DecodedBytes(kind="null", text="null")


class BytesDecoder:
    """Decodes keys, values and headers. Thread: one at a time.

    Args:
        schemas: finds Avro schemas by their ids; None: no bytes are decoded as Avro.
    """

    def __init__(self, schemas: SchemaSource | None = None) -> None:
        self._schemas = schemas
        self._decoders: dict[SchemaKey, PayloadDecoder | str] = {}

    def decode(
        self, data: bytes | None, schema_header: bytes | None = None, form: Form = "auto"
    ) -> DecodedBytes:
        """Return the bytes as text.

        Args:
            data: the bytes of a key, a value or a header; None for null.
            schema_header: the header that names the value's schema; None: there is none.
            form: the form to show them in.
        """
        if data is None:
            return _NULL
        if form != "auto":
            return _as_text(data) if form == "text" else _hex(data)
        if self._schemas is not None and (schema_header is not None or data[:1] == b"\0"):
            return self._avro(data, schema_header)
        return _plain(data)

    def _avro(self, data: bytes, schema_header: bytes | None) -> DecodedBytes:
        try:
            found = framed(data, schema_header, has_indexes=False)
        except BadValue:
            return _plain(data)
        decoder = self._decoder(found.schema)
        if isinstance(decoder, str):
            return _hex(data, note=decoder)
        try:
            value = decoder.decode(data[found.payload_start :])
            text = json_text(value)
        except Exception as error:  # noqa: BLE001 - both the bytes and the schema are untrusted
            return _hex(data, note=f"schema {found.schema}: {type(error).__name__}")
        return DecodedBytes(kind="avro", text=text)

    def _decoder(self, key: SchemaKey) -> "PayloadDecoder | str":
        if key not in self._decoders:
            if len(self._decoders) >= _DECODERS_MAX:
                return f"schema {key}: too many other schemas are loaded already"
            self._decoders[key] = self._found(key)
        return self._decoders[key]

    def _found(self, key: SchemaKey) -> "PayloadDecoder | str":
        assert self._schemas is not None
        try:
            definition = self._schemas.find(key)
            if definition is None:
                return f"there is no schema {key}"
            if definition.kind != "avro":
                return f"schema {key} is {definition.kind}, not avro"
            from zkconsumer.schemas.payloads import payload_decoder  # noqa: PLC0415 - an extra

            return payload_decoder(definition, ())
        except SchemaError as error:
            return f"schema {key}: {error}"


def _plain(data: bytes) -> DecodedBytes:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _hex(data)
    if any(char < " " and char not in "\t\r\n" for char in text) or "\x7f" in text:
        return _hex(data)
    if len(text) <= _JSON_MAX and text.lstrip()[:1] in {"{", "["}:
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            pass
        else:
            return DecodedBytes(kind="json", text=text)
    return DecodedBytes(kind="text", text=text)


def _as_text(data: bytes) -> DecodedBytes:
    """Return bytes as text, whatever they seem to be; escape bytes that are not text."""
    text = data.decode(errors="backslashreplace").translate(_CONTROLS)
    return DecodedBytes(kind="text", text=text)


def _hex(data: bytes, note: str = "") -> DecodedBytes:
    more = "" if len(data) <= _HEX_MAX else f" ... {len(data)} bytes"
    return DecodedBytes(kind="hex", text=data[:_HEX_MAX].hex(" ") + more, note=note)
