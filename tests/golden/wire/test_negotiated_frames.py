"""Real consumers' requests to brokers 0.9 to 3.9, and their responses, version by version."""

import gzip
import json

import pytest

from tests.golden.capture_negotiated import VERSIONS
from tests.golden.jvm import DATA
from tests.golden.wire.frame_checks import Frame, check_request, check_response
from tests.support.all_requests import REQUESTS
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import decode_response
from zkconsumer.wire.messages.api_versions import ApiVersionsResponse
from zkconsumer.wire.negotiation import BrokerVersions, of_generation, of_response
from zkconsumer.wire.versions import BrokerGeneration

FRAMES: dict[str, Frame] = {
    f"{kafka} {frame['name']}": frame
    for kafka in VERSIONS
    for frame in json.loads(gzip.decompress((DATA / f"negotiated-{kafka}.json.gz").read_bytes()))
}
WITH_API_VERSIONS = VERSIONS[1:]
SASL = {ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
WRITING = {
    ApiKey.PRODUCE,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.DELETE_GROUPS,
}
"""The APIs without consumers' requests; ``tests/integration/produce`` uses them on real brokers."""


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_responses(frame: Frame) -> None:
    """A real response has its expected values, and encodes to the same bytes."""
    check_response(frame)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_requests(frame: Frame) -> None:
    """A real request decodes, and encodes to the same bytes."""
    check_request(frame)


@pytest.mark.parametrize("kafka", WITH_API_VERSIONS)
def test_every_common_version_was_captured(kafka: str) -> None:
    """Every version that the broker reports and the codec supports was exchanged."""
    frame = FRAMES[f"{kafka} ApiVersionsRequest v0"]
    _, response = decode_response(
        REQUESTS[ApiKey.API_VERSIONS], 0, bytes.fromhex(frame["response"])[4:]
    )
    assert isinstance(response, ApiVersionsResponse)
    assert captured_from(kafka) == versions_in(of_response(response))


def test_every_version_of_0_9_was_captured() -> None:
    """Every version in our table for 0.9, which can't report them, was exchanged."""
    assert captured_from("0.9.0.1") == versions_in(of_generation(BrokerGeneration.V0_9))


def captured_from(kafka: str) -> set[tuple[str, int]]:
    """Return each API and version that was exchanged with a release."""
    return {
        (each["api"], each["version"])
        for name, each in FRAMES.items()
        if name.startswith(f"{kafka} ")
    }


def versions_in(found: BrokerVersions) -> set[tuple[str, int]]:
    """Return each API and version that can be used, except for those that the scenes omit."""
    return {
        (key.name, version)
        for key, versions in found.common.items()
        if key not in SASL | WRITING
        for version in range(versions.first, versions.last + 1)
    }
