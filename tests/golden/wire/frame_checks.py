"""What is asked of every captured frame, whichever brokers it went to."""

from typing import Any

from tests.support.all_requests import REQUESTS, decode_request
from tests.support.paths import at
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import decode_response, encode_request, encode_response

Frame = dict[str, Any]


def check_answer(frame: Frame) -> None:
    """A real answer says what it must, and written by us it is the same to the byte."""
    data = bytes.fromhex(frame["response"])
    request_type = REQUESTS[ApiKey[frame["api"]]]
    correlation_id, response = decode_response(request_type, frame["version"], data[4:])
    for path, value in frame["facts"].items():
        found = at(response, path)
        assert (list(found) if isinstance(found, tuple) else found) == value, path
    again = encode_response(response, version=frame["version"], correlation_id=correlation_id)
    assert again == data


def check_request(frame: Frame) -> None:
    """What the broker understood is what we would write again."""
    data = bytes.fromhex(frame["request"])
    read = decode_request(data[4:])
    again = encode_request(
        read.request,
        version=read.version,
        correlation_id=read.correlation_id,
        client_id=read.client_id or "",
    )
    assert again == data
