"""Generates messages of every class and version from the schema itself."""

import struct
from typing import Any

from hypothesis import strategies as st

from tests.support.all_requests import REQUESTS
from tests.support.altered_messages import altered
from zkconsumer.error_codes import ErrorCode
from zkconsumer.wire.api import Request, Response
from zkconsumer.wire.messages.api_versions import ApiVersionsResponse
from zkconsumer.wire.schema import (
    Array,
    Blob,
    FixedBytes,
    FixedInt,
    OnNull,
    SingleField,
    Struct,
    Text,
    WireType,
    fields_of,
)

REQUEST_VERSIONS: list[tuple[type[Request[Response]], int]] = [
    (request, version)
    for request in REQUESTS.values()
    for version in range(request.API.first, request.API.last + 1)
]
"""Every request class with each of its versions."""


def name_of(value: object) -> str:
    """Return the id of a parametrized case."""
    return value.__name__ if isinstance(value, type) else str(value)


def messages(message: type[Any], version: int) -> st.SearchStrategy[Any]:
    """Generate messages of a class; fields that the version lacks keep their defaults."""
    fields = [field for field in fields_of(message) if field.in_version(version)]
    return st.builds(message, **{field.name: _values(field.type, version) for field in fields})


def responses(
    request: type[Request[Response]], version: int
) -> st.SearchStrategy[tuple[Response, int]]:
    """Generate responses to requests of a version, each with its own version.

    A broker that lacks the version of an ApiVersions request responds in version 0 (KIP-511), so
    the error ``UNSUPPORTED_VERSION`` never comes in another version.
    """
    kind = request.RESPONSE
    plain = messages(kind, version)
    if not issubclass(kind, ApiVersionsResponse):
        return st.tuples(plain, st.just(version))
    refused = ErrorCode.UNSUPPORTED_VERSION
    served = plain.filter(lambda response: response.error_code != refused)
    missing = messages(kind, 0).map(lambda response: altered(response, error_code=refused))
    return st.tuples(served, st.just(version)) | st.tuples(missing, st.just(0))


def _values(wire_type: WireType, version: int) -> st.SearchStrategy[Any]:
    match wire_type:
        case FixedInt("?"):
            return st.booleans()
        case FixedInt(code):
            bits = 8 * struct.calcsize(">" + code)
            return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        case Text(on_null):
            text = st.text(st.characters(codec="utf-8"), max_size=12)
            return st.none() | text if on_null is OnNull.KEEP else text
        case FixedBytes(count):
            return st.binary(min_size=count, max_size=count)
        case Blob(on_null, copied):
            data = st.binary(max_size=40)
            values: st.SearchStrategy[Any] = data
            if not copied:
                values = data.map(memoryview)
            return st.none() | values if on_null is OnNull.KEEP else values
        case Array(element, null_since):
            arrays = st.lists(_values(element, version), max_size=4).map(tuple)
            may_be_null = null_since is not None and version >= null_since
            return st.none() | arrays if may_be_null else arrays
        case Struct(message):
            return messages(message, version)
        case SingleField(message, name):
            (field,) = (field for field in fields_of(message) if field.name == name)
            return _values(field.type, version)
