"""Checks of a captured frame, whichever brokers it was exchanged with."""

from typing import Any

from tests.support.all_requests import REQUESTS, decode_request
from tests.support.paths import at
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import decode_response, encode_request, encode_response

Frame = dict[str, Any]


def check_response(frame: Frame) -> None:
    """Check that a real response has its expected values and is equal when we encode it."""
    data = bytes.fromhex(frame["response"])
    request_type = REQUESTS[ApiKey[frame["api"]]]
    correlation_id, response = decode_response(request_type, frame["version"], data[4:])
    for path, value in frame["facts"].items():
        found = at(response, path)
        assert (list(found) if isinstance(found, tuple) else found) == value, path
    again = encode_response(response, version=frame["version"], correlation_id=correlation_id)
    assert again == data


def check_request(frame: Frame) -> None:
    """Check that a real request decodes, and is equal when we encode it."""
    data = bytes.fromhex(frame["request"])
    read = decode_request(data[4:])
    again = encode_request(
        read.request,
        version=read.version,
        correlation_id=read.correlation_id,
        client_id=read.client_id or "",
    )
    assert again == data
