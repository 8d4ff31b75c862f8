"""Requests and answers as they really went to brokers 0.8.0, 0.8.1.1 and 0.8.2.2 and back."""

import json

import pytest

from tests.golden.capture_frames import DATA, VERSIONS
from tests.golden.wire.frame_checks import Frame, check_answer, check_request
from zkconsumer.wire.versions import KNOWN_VERSIONS, BrokerGeneration

FRAMES: dict[str, Frame] = {
    f"{kafka} {frame['name']}": frame
    for kafka in VERSIONS
    for frame in json.loads((DATA / f"frames-{kafka}.json").read_text())
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_answers(frame: Frame) -> None:
    """A real answer says what it must, and written by us it is the same to the byte."""
    check_answer(frame)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_requests(frame: Frame) -> None:
    """What the broker understood is what we would write again."""
    check_request(frame)


def test_every_api_was_captured() -> None:
    """Each API is there that 0.8.2 has, the offset APIs in both versions."""
    captured = {(frame["api"], frame["version"]) for frame in FRAMES.values()}
    assert captured == {
        (key.name, version)
        for key, known in KNOWN_VERSIONS[BrokerGeneration.V0_8_2].items()
        for version in range(known.first, known.last + 1)
    }
