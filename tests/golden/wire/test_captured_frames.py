"""Requests and answers as they really went to brokers 0.8.0, 0.8.1.1 and 0.8.2.2 and back."""

import json
from typing import Any

import pytest

from tests.golden.capture_frames import DATA, VERSIONS
from tests.support.paths import at
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import (
    REQUESTS,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from zkconsumer.wire.versions import KNOWN_VERSIONS, BrokerGeneration

FRAMES: dict[str, dict[str, Any]] = {
    f"{kafka} {frame['name']}": frame
    for kafka in VERSIONS
    for frame in json.loads((DATA / f"frames-{kafka}.json").read_text())
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_answers(frame: dict[str, Any]) -> None:
    """A real answer says what it must, and written by us it is the same to the byte."""
    data = bytes.fromhex(frame["response"])
    request_type = REQUESTS[ApiKey[frame["api"]]]
    correlation_id, response = decode_response(request_type, frame["version"], data[4:])
    for path, value in frame["facts"].items():
        found = at(response, path)
        assert (list(found) if isinstance(found, tuple) else found) == value, path
    again = encode_response(response, version=frame["version"], correlation_id=correlation_id)
    assert again == data


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_requests(frame: dict[str, Any]) -> None:
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


def test_every_api_was_captured() -> None:
    """Each API is there that 0.8.2 has, the offset APIs in both versions."""
    captured = {(frame["api"], frame["version"]) for frame in FRAMES.values()}
    assert captured == {
        (key.name, version)
        for key, known in KNOWN_VERSIONS[BrokerGeneration.V0_8_2].items()
        for version in range(known.first, known.last + 1)
    }
