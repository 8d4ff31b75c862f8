"""Real requests to brokers 0.8.0, 0.8.1.1 and 0.8.2.2, and their responses."""

import json

import pytest

from tests.golden.capture_frames import DATA, VERSIONS
from tests.golden.wire.frame_checks import Frame, check_request, check_response
from zkconsumer.wire.versions import KNOWN_VERSIONS, BrokerGeneration

FRAMES: dict[str, Frame] = {
    f"{kafka} {frame['name']}": frame
    for kafka in VERSIONS
    for frame in json.loads((DATA / f"frames-{kafka}.json").read_text())
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_responses(frame: Frame) -> None:
    """A real response has its expected values, and encodes to the same bytes."""
    check_response(frame)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_requests(frame: Frame) -> None:
    """A real request decodes, and encodes to the same bytes."""
    check_request(frame)


def test_every_api_was_captured() -> None:
    """There is each API of 0.8.2, the offset APIs in both versions."""
    captured = {(frame["api"], frame["version"]) for frame in FRAMES.values()}
    assert captured == {
        (key.name, version)
        for key, known in KNOWN_VERSIONS[BrokerGeneration.V0_8_2].items()
        for version in range(known.first, known.last + 1)
    }
