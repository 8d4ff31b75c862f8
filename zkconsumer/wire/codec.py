"""Encodes and decodes whole frames: the entry point of this package.

Message classes are data (``schema``); ``reader`` and ``writer`` compile each of them once per
version. This module adds headers, lengths and errors. It covers what consumers of Kafka 0.8.0 to
4.x need. The headers of flexible versions end with tagged fields (KIP-482), except in responses to
ApiVersions, which must be readable before the broker's versions are known (KIP-511).
"""

import struct
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar, cast

from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import DecodeError, LocalProtocolError
from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.encoding import CLASSIC, FLEXIBLE, Encoding
from zkconsumer.wire.fault import Fault
from zkconsumer.wire.messages.api_versions import ApiVersionsResponse
from zkconsumer.wire.reader import reader_of
from zkconsumer.wire.schema import ApiMessage, Int16, Int32, NullableString
from zkconsumer.wire.tagged import NO_TAGS, Pieces, ReadValue, read_tags
from zkconsumer.wire.writer import writer_of

R = TypeVar("R")
_LENGTH = struct.Struct(">i")
_HEADER_VERSION = 0
_SKIP_TAGS = partial(read_tags, known={})
_UNSUPPORTED = ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")
MAX_FRAME_BYTES: Final = (1 << 31) - 1


class RequestHeader(ApiMessage):
    """The header of a request."""

    api_key: Int16
    api_version: Int16
    correlation_id: Int32
    client_id: NullableString


class ResponseHeader(ApiMessage):
    """The header of a response: the correlation id of its request."""

    correlation_id: Int32


class RequestFrame(NamedTuple):
    """A request as a broker decodes it."""

    api_key: ApiKey
    version: int
    correlation_id: int
    client_id: str | None
    request: Request[Response]


def encode_request(
    request: Request[object], *, version: int, correlation_id: int, client_id: str
) -> bytes:
    """Return the whole frame of a request, its length prefix included.

    Raises:
        LocalProtocolError: the version or a value can't be sent; names the field.
    """
    name = _checked_name(request, request.API, version)
    header = RequestHeader(
        api_key=request.API.key,
        api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    tags = NO_TAGS if request.API.is_flexible(version) else b""
    return _frame(name, header, tags, request, version)


def encode_response(response: Response, *, version: int, correlation_id: int) -> bytes:
    """Return the whole frame of a response, its length prefix included: for fakes.

    Raises:
        LocalProtocolError: the version or a value can't be sent; names the field.
    """
    name = _checked_name(response, response.API, version)
    tags = NO_TAGS if _header_has_tags(response, version) else b""
    header = ResponseHeader(correlation_id=correlation_id)
    return _frame(name, header, tags, response, version)


def decode_response(
    request: Request[R] | type[Request[R]], version: int, frame: bytes | bytearray | memoryview
) -> tuple[int, R]:
    """Return the correlation id and the response in a frame.

    Args:
        request: the request, or its class.
        version: the version in which the request was sent.
        frame: the frame without its length prefix. Record sets remain views into it.

    A broker that lacks the version of an ApiVersions request responds in version 0, with error
    ``UNSUPPORTED_VERSION``: such a response is decoded as version 0 (KIP-511).

    Raises:
        DecodeError: the frame is malformed; names message, field and position.
        LocalProtocolError: the codec has no such version.
    """
    response_type = request.RESPONSE
    name = _checked_name(response_type, response_type.API, version)
    buffer = memoryview(frame).cast("B")
    header, position = _read(name, reader_of(ResponseHeader, _HEADER_VERSION), buffer)
    if response_type is ApiVersionsResponse and buffer[position : position + 2] == _UNSUPPORTED:
        name, version = f"{response_type.__name__} v0", 0
    if _header_has_tags(response_type, version):
        position = _skip_tags(name, buffer, position)
    response, position = _read(name, _reader(response_type, version), buffer, position)
    _check_end(name, buffer, position)
    return header.correlation_id, cast("R", response)


def decode_request(
    frame: bytes | bytearray | memoryview,
    request_types: Mapping[ApiKey, type[Request[Response]]],
) -> RequestFrame:
    """Return the request in a frame without its length prefix.

    Args:
        frame: a frame that we encoded, or that a fake broker received.
        request_types: the classes of the expected requests.

    Raises:
        DecodeError: the frame is malformed, or holds another request; names message, field and
            position.
    """
    buffer = memoryview(frame).cast("B")
    header, position = _read("RequestHeader", reader_of(RequestHeader, _HEADER_VERSION), buffer)
    request_type = request_types.get(header.api_key)
    if request_type is None:
        raise DecodeError("RequestHeader", "api_key", 0, f"API {header.api_key} is not known")
    api, version = request_type.API, header.api_version
    if not api.first <= version <= api.last:
        raise DecodeError(
            "RequestHeader", "api_version", 2, f"{api.key.name} version {version} is not known"
        )
    name = f"{request_type.__name__} v{version}"
    if api.is_flexible(version):
        position = _skip_tags("RequestHeader", buffer, position)
    request, position = _read(name, _reader(request_type, version), buffer, position)
    _check_end(name, buffer, position)
    return RequestFrame(
        api_key=api.key,
        version=version,
        correlation_id=header.correlation_id,
        client_id=header.client_id,
        request=request,
    )


def _checked_name(message: object, api: Api, version: int) -> str:
    kind = message if isinstance(message, type) else type(message)
    if not api.first <= version <= api.last:
        raise LocalProtocolError(
            f"{kind.__name__}: there is no version {version} (field api_version), "
            f"only {api.first} to {api.last}"
        )
    return f"{kind.__name__} v{version}"


def _header_has_tags(response: Response | type[Response], version: int) -> bool:
    return response.API.is_flexible(version) and response.API.key is not ApiKey.API_VERSIONS


def _encoding(api: Api, version: int) -> Encoding:
    return FLEXIBLE if api.is_flexible(version) else CLASSIC


def _frame(
    name: str, header: ApiMessage, tags: bytes, body: Request[Any] | Response, version: int
) -> bytes:
    pieces: Pieces = [b""]
    try:
        writer_of(type(header), _HEADER_VERSION)(header, pieces)
        pieces.append(tags)
        writer_of(type(body), version, _encoding(body.API, version))(body, pieces)
    except Fault as fault:
        raise fault.unsendable(name) from None
    size = sum(len(piece) for piece in pieces)
    if size > MAX_FRAME_BYTES:
        raise LocalProtocolError(f"{name}: {size} bytes are too many for one frame (field -)")
    pieces[0] = _LENGTH.pack(size)
    return b"".join(pieces)


def _reader(message: type[Any], version: int) -> ReadValue:
    return reader_of(message, version, _encoding(message.API, version))


# The readers' values are as untyped as the schema that they are compiled from.
def _read(name: str, read: ReadValue, buffer: memoryview, position: int = 0) -> tuple[Any, int]:
    try:
        return read(buffer, position)
    except Fault as fault:
        raise fault.unreadable(name) from None


def _skip_tags(name: str, buffer: memoryview, position: int) -> int:
    try:
        return _read(name, _SKIP_TAGS, buffer, position)[1]
    except struct.error:
        raise DecodeError(name, "", position, "the bytes end within its tagged fields") from None


def _check_end(name: str, buffer: memoryview, position: int) -> None:
    if position != len(buffer):
        raise DecodeError(name, "", position, f"{len(buffer) - position} bytes follow its end")
