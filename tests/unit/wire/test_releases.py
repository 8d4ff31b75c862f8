"""Which Kafka release a broker is taken for, by what real brokers responded."""

import gzip
import json

import pytest

from tests.golden.jvm import DATA
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import decode_response
from zkconsumer.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from zkconsumer.wire.negotiation import of_generation, of_response
from zkconsumer.wire.releases import Release, keeps_no_zookeeper, release_of
from zkconsumer.wire.versions import BrokerGeneration

LEADER_AND_ISR = 4
NEWEST_OF_3_4 = {
    ApiKey.PRODUCE: 9,
    ApiKey.FETCH: 13,
    ApiKey.LIST_OFFSETS: 7,
    ApiKey.METADATA: 12,
    LEADER_AND_ISR: 7,
    ApiKey.OFFSET_FETCH: 8,
    ApiKey.JOIN_GROUP: 9,
    24: 3,
    29: 3,
    35: 4,
    48: 1,
}
"""The relevant part of a 3.4 broker's ApiVersions response."""


def served_by(kafka: str) -> ApiVersionsResponse:
    """Return a captured ApiVersions response of a broker of that release."""
    frames = json.loads(gzip.decompress((DATA / f"negotiated-{kafka}.json.gz").read_bytes()))
    frame = next(
        frame_bytes for frame_bytes in frames if frame_bytes["name"] == "ApiVersionsRequest v0"
    )
    request = ApiVersionsRequest(client_software_name="", client_software_version="")
    return decode_response(request, 0, bytes.fromhex(frame["response"])[4:])[1]


@pytest.mark.parametrize(
    ("kafka", "release"),
    [
        ("0.10.2.2", (0, 10, 2)),
        ("0.11.0.3", (0, 11)),
        ("1.1.1", (1, 1)),
        ("2.8.2", (2, 8)),
        ("3.9.1", (3, 9)),
    ],
)
def test_a_release_is_recognized_by_the_whole_response(kafka: str, release: Release) -> None:
    """The release is recognized by all APIs in the response, also those that the codec lacks."""
    assert of_response(served_by(kafka)).release == release


@pytest.mark.parametrize(
    ("generation", "release"),
    [
        (BrokerGeneration.V0_8_0, (0, 8, 0)),
        (BrokerGeneration.V0_8_1, (0, 8, 1)),
        (BrokerGeneration.V0_8_2, (0, 8, 2)),
        (BrokerGeneration.V0_9, (0, 9)),
    ],
)
def test_a_broker_without_api_versions_has_its_generations_release(
    generation: BrokerGeneration, release: Release
) -> None:
    """A broker without ApiVersions has the release of its generation, as kafka-python names it."""
    assert of_generation(generation).release == release


def test_a_broker_without_any_marker_is_a_0_10_0() -> None:
    """Without any newer API a broker is a 0.10.0, as ApiVersions came with that."""
    assert release_of({}) == (0, 10, 0)
    assert release_of({ApiKey.API_VERSIONS: 0, ApiKey.FETCH: 2, 9_999: 9}) == (0, 10, 0)


def test_the_newest_marker_decides() -> None:
    """The newest marker decides: brokers keep older ones, and a newer version proves it, too."""
    assert release_of(NEWEST_OF_3_4) == (3, 4)
    without = {key: last for key, last in NEWEST_OF_3_4.items() if key != LEADER_AND_ISR}
    assert release_of(without) == (3, 3)
    assert release_of({**NEWEST_OF_3_4, ApiKey.PRODUCE: 13}) == (4, 1)
    assert release_of({**NEWEST_OF_3_4, ApiKey.PRODUCE: 99}) == (4, 1)


@pytest.mark.parametrize("kafka", ["0.10.2.2", "0.11.0.3", "1.1.1", "2.8.2", "3.9.1"])
def test_a_broker_with_a_zookeeper_is_recognized(kafka: str) -> None:
    """Captured responses of clusters with a ZooKeeper are not taken for ones without."""
    newest = {versions.api_key: versions.max_version for versions in served_by(kafka).api_versions}
    assert not keeps_no_zookeeper(newest)
    assert not of_response(served_by(kafka)).no_zookeeper


def test_a_broker_without_leader_and_isr_has_no_zookeeper() -> None:
    """From 2.8 on, a broker without LeaderAndIsr has no ZooKeeper; one without any marker may."""
    newest = {int(key): number for key, number in NEWEST_OF_3_4.items() if key != LEADER_AND_ISR}
    assert keeps_no_zookeeper(newest)
    assert not keeps_no_zookeeper({})
