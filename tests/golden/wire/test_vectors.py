"""Bytes exchanged between the original's clients and a broker 0.8.2.2, both encoded and decoded."""

import pytest

from tests.support.all_requests import decode_request
from zkconsumer.wire.api import Request, Response
from zkconsumer.wire.codec import decode_response, encode_request, encode_response
from zkconsumer.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from zkconsumer.wire.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from zkconsumer.wire.messages.list_offsets import (
    EARLIEST_TIMESTAMP,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from zkconsumer.wire.messages.metadata import MetadataRequest
from zkconsumer.wire.messages.offset_commit import (
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitTopic,
)
from zkconsumer.wire.messages.offset_fetch import (
    OffsetFetchedPartition,
    OffsetFetchedTopic,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchTopic,
)

REQUESTS = [
    pytest.param(
        FetchRequest(
            max_wait_ms=100,
            min_bytes=1,
            topics=(
                FetchTopic(
                    topic="t",
                    partitions=(FetchPartition(partition=0, fetch_offset=5, max_bytes=1 << 20),),
                ),
            ),
        ),
        0,
        "g1",
        "00000033 0001 0000 00000000 0002 6731 ffffffff 00000064 00000001 00000001 0001 74 "
        "00000001 00000000 0000000000000005 00100000",
        id="fetch",
    ),
    pytest.param(
        MetadataRequest(topics=("t",)),
        0,
        "g1",
        "00000013 0003 0000 00000000 0002 6731 00000001 0001 74",
        id="metadata",
    ),
    pytest.param(
        FindCoordinatorRequest(group_id="g1"),
        0,
        "",
        "0000000e 000a 0000 00000000 0000 0002 6731",
        id="consumer-metadata",
    ),
    pytest.param(
        ListOffsetsRequest(
            topics=(
                ListOffsetsTopic(
                    topic="t",
                    partitions=(ListOffsetsPartition(partition=0, timestamp=EARLIEST_TIMESTAMP),),
                ),
            ),
        ),
        0,
        "g1",
        "0000002b 0002 0000 00000000 0002 6731 ffffffff 00000001 0001 74 00000001 00000000 "
        "fffffffffffffffe 00000001",
        id="list-offsets",
    ),
    pytest.param(
        OffsetCommitRequest(
            group_id="g1",
            topics=(
                OffsetCommitTopic(
                    topic="t", partitions=(OffsetCommitPartition(partition=0, offset=6),)
                ),
            ),
        ),
        1,
        "g1",
        "00000037 0008 0001 00000000 0002 6731 0002 6731 ffffffff 0000 00000001 0001 74 00000001 "
        "00000000 0000000000000006 ffffffffffffffff 0000",
        id="offset-commit-1",
    ),
    pytest.param(
        OffsetFetchRequest(group_id="g1", topics=(OffsetFetchTopic(topic="t", partitions=(0,)),)),
        1,
        "g1",
        "0000001f 0009 0001 00000000 0002 6731 0002 6731 00000001 0001 74 00000001 00000000",
        id="offset-fetch-1",
    ),
]

RESPONSES = [
    pytest.param(
        FindCoordinatorRequest,
        0,
        FindCoordinatorResponse(error_code=0, coordinator_id=0, host="127.0.0.1", port=35192),
        "0000 00000000 0009 3132372e302e302e31 00008978",
        id="consumer-metadata",
    ),
    pytest.param(
        OffsetFetchRequest,
        1,
        OffsetFetchResponse(
            topics=(
                OffsetFetchedTopic(
                    topic="auto1",
                    partitions=(
                        OffsetFetchedPartition(partition=0, offset=-1, metadata="", error_code=0),
                    ),
                ),
            )
        ),
        "00000001 0005 6175746f31 00000001 00000000 ffffffffffffffff 0000 0000",
        id="offset-fetch-1",
    ),
]


@pytest.mark.parametrize(("request_", "version", "client_id", "hexa"), REQUESTS)
def test_requests(request_: Request[Response], version: int, client_id: str, hexa: str) -> None:
    """Our request encodes to the original's bytes, and the original's decodes to ours."""
    frame = encode_request(request_, version=version, correlation_id=0, client_id=client_id)
    assert frame == bytes.fromhex(hexa)
    read = decode_request(frame[4:])
    assert (read.request, read.version, read.client_id) == (request_, version, client_id)


@pytest.mark.parametrize(("requested", "version", "response", "hexa"), RESPONSES)
def test_responses(
    requested: type[Request[Response]], version: int, response: Response, hexa: str
) -> None:
    """The broker's response decodes, and a fake broker encodes it to the same bytes."""
    body = bytes.fromhex("00000000" + hexa)
    assert decode_response(requested, version, body) == (0, response)
    assert encode_response(response, version=version, correlation_id=0)[4:] == body
