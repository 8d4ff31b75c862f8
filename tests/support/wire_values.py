"""Messages of every class and version, made from the schema itself."""

import struct
from typing import Any

from hypothesis import strategies as st

from zkconsumer.wire.api import Request, Response
from zkconsumer.wire.codec import REQUESTS
from zkconsumer.wire.schema import Array, Blob, FixedInt, OnNull, Struct, Text, WireType, fields_of

REQUEST_VERSIONS: list[tuple[type[Request[Response]], int]] = [
    (request, version)
    for request in REQUESTS.values()
    for version in range(request.API.first, request.API.last + 1)
]
"""Every request class with every version of it."""


def name_of(value: object) -> str:
    """Give the id of a parametrised case."""
    return value.__name__ if isinstance(value, type) else str(value)


def messages(message: type[Any], version: int) -> st.SearchStrategy[Any]:
    """Generate messages of a class; fields that the version lacks keep their defaults."""
    fields = [field for field in fields_of(message) if field.in_version(version)]
    return st.builds(message, **{field.name: _values(field.type, version) for field in fields})


def _values(wire_type: WireType, version: int) -> st.SearchStrategy[Any]:
    match wire_type:
        case FixedInt(code):
            bits = 8 * struct.calcsize(">" + code)
            return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        case Text(on_null):
            text = st.text(st.characters(codec="utf-8"), max_size=12)
            return st.none() | text if on_null is OnNull.KEEP else text
        case Blob():
            return st.binary(max_size=40).map(memoryview)
        case Array(element):
            return st.lists(_values(element, version), max_size=4).map(tuple)
        case Struct(message):
            return messages(message, version)
