"""The APIs of consumers as they really went to brokers 0.9 to 3.9 and back, version by version."""

import gzip
import json

import pytest

from tests.golden.capture_negotiated import VERSIONS
from tests.golden.jvm import DATA
from tests.golden.wire.frame_checks import Frame, check_answer, check_request
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
"""What consumers do without; real brokers are written to in ``tests/integration/produce``."""


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_answers(frame: Frame) -> None:
    """A real answer says what it must, and written by us it is the same to the byte."""
    check_answer(frame)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_requests(frame: Frame) -> None:
    """What the broker understood is what we would write again."""
    check_request(frame)


@pytest.mark.parametrize("kafka", WITH_API_VERSIONS)
def test_every_common_version_was_captured(kafka: str) -> None:
    """What broker and codec have in common, by the broker's own words, was all exchanged."""
    frame = FRAMES[f"{kafka} ApiVersionsRequest v0"]
    _, response = decode_response(
        REQUESTS[ApiKey.API_VERSIONS], 0, bytes.fromhex(frame["response"])[4:]
    )
    assert isinstance(response, ApiVersionsResponse)
    assert captured_from(kafka) == versions_in(of_response(response))


def test_every_version_of_0_9_was_captured() -> None:
    """The broker that can't say it answered all that the table says of it."""
    assert captured_from("0.9.0.1") == versions_in(of_generation(BrokerGeneration.V0_9))


def captured_from(kafka: str) -> set[tuple[str, int]]:
    """Each API and version that was exchanged with that release."""
    return {
        (each["api"], each["version"])
        for name, each in FRAMES.items()
        if name.startswith(f"{kafka} ")
    }


def versions_in(found: BrokerVersions) -> set[tuple[str, int]]:
    """Each API and version that can be used, but for those that the scene does without."""
    return {
        (key.name, version)
        for key, versions in found.common.items()
        if key not in SASL | WRITING
        for version in range(versions.first, versions.last + 1)
    }
