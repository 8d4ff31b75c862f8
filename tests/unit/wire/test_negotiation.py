"""Which versions a broker serves: as ApiVersions says, or as its closed connections show."""

import re
from collections.abc import Mapping

import pytest

from tests.fakes.frame_reader import FrameReader
from tests.support.all_requests import REQUESTS, decode_request
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import BrokerError, DecodeError, UnsupportedVersion
from zkconsumer.wire.api import ApiKey, Request, Response
from zkconsumer.wire.codec import decode_response, encode_request, encode_response
from zkconsumer.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from zkconsumer.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from zkconsumer.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from zkconsumer.wire.negotiation import (
    BrokerVersions,
    after_close,
    after_frame,
    after_response,
    of_generation,
    of_response,
    request_bytes,
)
from zkconsumer.wire.old_probes import OLD_PROBES
from zkconsumer.wire.probes import FIRST_PROBE, SECOND_PROBE, Probe
from zkconsumer.wire.versions import KNOWN_VERSIONS, BrokerGeneration, VersionRange

PROBES = (FIRST_PROBE, SECOND_PROBE, *OLD_PROBES)

RESPONSES: dict[type[Request[Response]], Response] = {
    ListGroupsRequest: ListGroupsResponse(error_code=15, groups=()),
    HeartbeatRequest: HeartbeatResponse(error_code=-1),
    OffsetFetchRequest: OffsetFetchResponse(topics=()),
    ListOffsetsRequest: ListOffsetsResponse(topics=()),
}

# The versions that Kafka 4.0 still serves of the APIs that consumers use (KIP-896).
FLOOR_OF_4 = {
    ApiKey.PRODUCE: (0, 12),
    ApiKey.FETCH: (4, 17),
    ApiKey.LIST_OFFSETS: (1, 10),
    ApiKey.METADATA: (0, 13),
    ApiKey.OFFSET_COMMIT: (2, 9),
    ApiKey.OFFSET_FETCH: (1, 9),
    ApiKey.FIND_COORDINATOR: (0, 6),
    ApiKey.JOIN_GROUP: (0, 9),
    ApiKey.HEARTBEAT: (0, 4),
    ApiKey.LEAVE_GROUP: (0, 5),
    ApiKey.SYNC_GROUP: (0, 5),
    ApiKey.DESCRIBE_GROUPS: (0, 6),
    ApiKey.LIST_GROUPS: (0, 5),
    ApiKey.SASL_HANDSHAKE: (0, 1),
    ApiKey.SASL_AUTHENTICATE: (0, 2),
    ApiKey.API_VERSIONS: (0, 4),
    ApiKey.CREATE_TOPICS: (2, 7),
    ApiKey.DELETE_TOPICS: (1, 6),
    ApiKey.CREATE_PARTITIONS: (0, 3),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (0, 1),
    ApiKey.INIT_PRODUCER_ID: (0, 5),
    ApiKey.DELETE_GROUPS: (0, 2),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (0, 1),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (2, 4),
}


def serving(
    served: Mapping[int, tuple[int, int]], error: ErrorCode = ErrorCode.NONE
) -> ApiVersionsResponse:
    """Return the response of a broker that serves these versions."""
    return ApiVersionsResponse(
        error_code=error,
        api_versions=tuple(
            ApiVersion(api_key=key, min_version=first, max_version=last)
            for key, (first, last) in served.items()
        ),
    )


def probes_of(knows: BrokerGeneration) -> tuple[list[tuple[ApiKey, int]], BrokerVersions]:
    """Probe a broker of this generation until its versions are known; return the probes sent."""
    requested: list[tuple[ApiKey, int]] = []
    found: BrokerVersions | Probe = FIRST_PROBE
    while isinstance(found, Probe):
        key = found.request.API.key
        requested.append((key, found.version))
        # 0.8.2 responds to Heartbeat, though it does not serve it.
        responses = {*KNOWN_VERSIONS[knows]}
        if knows is BrokerGeneration.V0_8_2:
            responses.add(ApiKey.HEARTBEAT)
        if key in responses:
            found = after_response(found, RESPONSES[type(found.request)])
        else:
            found = after_close(found)
    return requested, found


TWICE = [(ApiKey.API_VERSIONS, 3), (ApiKey.API_VERSIONS, 0)]


@pytest.mark.parametrize(
    ("generation", "requested"),
    [
        (BrokerGeneration.V0_9, [ApiKey.LIST_GROUPS]),
        (BrokerGeneration.V0_8_2, [ApiKey.LIST_GROUPS, ApiKey.HEARTBEAT]),
        (
            BrokerGeneration.V0_8_1,
            [ApiKey.LIST_GROUPS, ApiKey.HEARTBEAT, ApiKey.OFFSET_FETCH],
        ),
        (
            BrokerGeneration.V0_8_0,
            [ApiKey.LIST_GROUPS, ApiKey.HEARTBEAT, ApiKey.OFFSET_FETCH, ApiKey.LIST_OFFSETS],
        ),
    ],
)
def test_old_brokers_are_recognized_by_what_they_respond_to(
    generation: BrokerGeneration, requested: list[ApiKey]
) -> None:
    """An old broker closes the connection on what it does not know; its first response tells it."""
    lookups, found = probes_of(generation)
    assert lookups == [*TWICE, *((key, 0) for key in requested)]
    assert found == of_generation(generation)
    assert found.generation is generation


def test_a_broker_that_ignores_api_versions_is_a_0_9() -> None:
    """A broker is a 0.9 if it skips ApiVersions and responds to the request after it."""
    for probe in (FIRST_PROBE, SECOND_PROBE):
        sent = FrameReader(1000)
        sent.receive(request_bytes(probe, client_id="c"))
        frames = [sent.next_frame(), sent.next_frame()]
        assert sent.is_empty
        requests = [decode_request(frame) for frame in frames if frame is not None]
        assert [frame.api_key for frame in requests] == [ApiKey.API_VERSIONS, ApiKey.HEARTBEAT]
        first, follower = (frame.correlation_id for frame in requests)
        refusal = HeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR)
        frame = encode_response(refusal, version=0, correlation_id=follower)[4:]
        assert after_frame(probe, frame) == of_generation(BrokerGeneration.V0_9)
        response = serving({18: (0, 3)})
        frame = encode_response(response, version=probe.version, correlation_id=first)[4:]
        assert after_frame(probe, frame) == of_response(response)
        with pytest.raises(DecodeError, match="another request"):
            after_frame(probe, b"\0\0\0\x09" + frame[4:])


def test_probes_for_old_brokers_are_sent_alone() -> None:
    """Probes for old brokers are sent alone, and their responses are checked."""
    for probe in OLD_PROBES:
        data = request_bytes(probe, client_id="c")
        read = decode_request(data[4:])
        assert read.request == probe.request
        response = RESPONSES[type(probe.request)]
        frame = encode_response(response, version=0, correlation_id=read.correlation_id)[4:]
        assert probe.proves is not None
        assert after_frame(probe, frame) == of_generation(probe.proves)
        with pytest.raises(DecodeError):
            after_frame(probe, frame + b"x")
        with pytest.raises(DecodeError, match="another request"):
            after_frame(probe, b"\0\0\0\x02" + frame[4:])


def test_no_probe_of_an_old_broker_is_dangerous() -> None:
    """No probe of an old broker can create a topic, commit an offset, or name a topic."""
    harmful = {ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.OFFSET_COMMIT, ApiKey.PRODUCE}
    assert not harmful & {probe.request.API.key for probe in PROBES}


def test_probes_can_be_encoded() -> None:
    """Each probe can be encoded, with a software version that brokers accept."""
    for probe in PROBES:
        frame = encode_request(
            probe.request, version=probe.version, correlation_id=1, client_id="c"
        )
        read = decode_request(frame[4:]).request
        if probe is FIRST_PROBE:
            assert isinstance(read, ApiVersionsRequest)
            for text in (read.client_software_name, read.client_software_version):
                assert re.fullmatch(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?", text)


def test_a_peer_that_closes_on_each_probe_is_refused() -> None:
    """A peer that closes the connection on each probe is no broker that we support."""
    probe = FIRST_PROBE
    for _ in range(len(PROBES) - 1):
        probe = after_close(probe)
    with pytest.raises(UnsupportedVersion, match=r"at every request.*TLS or SASL"):
        after_close(probe)


def test_the_newest_common_version_is_used() -> None:
    """The newest version of both sides is used, and APIs that we don't know are ignored."""
    response = serving({1: (4, 17), 3: (0, 5), 18: (0, 4), 75: (0, 0), 11: (99, 100)})
    found = after_response(FIRST_PROBE, response)
    assert isinstance(found, BrokerVersions)
    assert found.common == {
        ApiKey.FETCH: VersionRange(4, 13),
        ApiKey.METADATA: VersionRange(0, 5),
        ApiKey.API_VERSIONS: VersionRange(0, 3),
    }
    assert found.generation is None
    assert found.version_for(ApiKey.FETCH) == 13
    assert found.version_for(ApiKey.FETCH, at_most=5) == 5
    assert found.version_for(ApiKey.METADATA, at_least=5) == 5


@pytest.mark.parametrize(
    ("api", "at_least", "at_most", "complaint"),
    [
        (ApiKey.FETCH, 0, 3, "lacks FETCH up to version 3, only 4 to 13"),
        (ApiKey.METADATA, 6, None, "lacks METADATA from version 6, only 0 to 5"),
        (ApiKey.JOIN_GROUP, 0, None, "the broker lacks JOIN_GROUP$"),
    ],
)
def test_a_version_that_the_broker_lacks_is_refused(
    api: ApiKey, at_least: int, at_most: int | None, complaint: str
) -> None:
    """Without a common version within the bounds, the error says which versions there are."""
    found = of_response(serving({1: (4, 17), 3: (0, 5), 11: (10, 12)}))
    assert not found.has(api, at_least=at_least, at_most=at_most)
    with pytest.raises(UnsupportedVersion, match=complaint):
        found.version_for(api, at_least=at_least, at_most=at_most)


def test_an_old_broker_is_named_where_it_lacks_something() -> None:
    """An error about an old broker names the release that it proved to be."""
    with pytest.raises(UnsupportedVersion, match=r"broker \(Kafka 0.8.1\) lacks JOIN_GROUP"):
        of_generation(BrokerGeneration.V0_8_1).version_for(ApiKey.JOIN_GROUP)


@pytest.mark.parametrize(
    ("body", "version"),
    [
        ("0023 00000000", 0),  # 0.10 to 2.3 list no versions
        ("0023 00000001 0012 0000 0002", 2),  # from 2.4 on
        ("0023 00000001 0012 0000 0001", 1),
        ("0023 00000001 0012 0000 0009", 2),  # contradicts itself: never request the same again
        ("002a 00000000", 0),  # refuses the client software's name, for example
    ],
)
def test_a_broker_that_lacks_the_version_is_asked_in_another(body: str, version: int) -> None:
    """The response is decoded as version 0, and says which version to request next."""
    if body.startswith("0023"):
        frame = bytes.fromhex("00000007" + body)
        correlation_id, response = decode_response(ApiVersionsRequest, 3, frame)
        assert correlation_id == 7
    else:
        response = serving({}, ErrorCode.INVALID_REQUEST)
    again = after_response(FIRST_PROBE, response)
    assert isinstance(again, Probe)
    assert (again.request.API.key, again.version, again.proves) == (
        ApiKey.API_VERSIONS,
        version,
        None,
    )
    assert after_close(again) == (SECOND_PROBE if version else OLD_PROBES[0])


def test_a_refusal_of_version_0_is_an_error() -> None:
    """A broker that refuses version 0, too, is an error with its code."""
    with pytest.raises(
        BrokerError, match="does not report its versions: SECURITY_DISABLED"
    ) as caught:
        after_response(SECOND_PROBE, serving({}, ErrorCode.SECURITY_DISABLED))
    assert caught.value.code == ErrorCode.SECURITY_DISABLED


def test_a_response_to_another_request_is_refused() -> None:
    """A response to another request is a mistake of the caller."""
    with pytest.raises(TypeError, match="a HeartbeatResponse is no response to a probe"):
        after_response(FIRST_PROBE, HeartbeatResponse(error_code=0))


def test_kafka_4_can_be_spoken_with() -> None:
    """For every API of consumers we have a version that Kafka 4 still serves."""
    found = of_response(serving({int(key): versions for key, versions in FLOOR_OF_4.items()}))
    assert set(found.common) == set(REQUESTS)
    assert all(found.has(key) for key in FLOOR_OF_4)
