"""Frames to messages and back: what is refused, and how clearly."""

from dataclasses import replace

import pytest

from tests.support.all_requests import decode_request
from zkconsumer.errors import DecodeError, LocalProtocolError
from zkconsumer.wire.api import Request, Response
from zkconsumer.wire.codec import decode_response, encode_request, encode_response
from zkconsumer.wire.messages.fetch import (
    FetchedPartition,
    FetchedTopic,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from zkconsumer.wire.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from zkconsumer.wire.messages.list_offsets import ListOffsetsRequest
from zkconsumer.wire.messages.metadata import MetadataRequest
from zkconsumer.wire.messages.offset_commit import (
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitTopic,
)
from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest

RECORDS = b"any bytes"
FETCHED = FetchResponse(
    topics=(
        FetchedTopic(
            topic="t",
            partitions=tuple(
                FetchedPartition(
                    partition=number,
                    error_code=0,
                    high_watermark=9,
                    records=memoryview(RECORDS),
                )
                for number in range(2)
            ),
        ),
    )
)


def fetch(partition: FetchPartition, topic: str = "t") -> FetchRequest:
    """A fetch of one partition, second in its topic."""
    first = FetchPartition(partition=0, fetch_offset=0, max_bytes=1)
    return FetchRequest(
        max_wait_ms=1,
        min_bytes=1,
        topics=(FetchTopic(topic=topic, partitions=(first, partition)),),
    )


GOOD = FetchPartition(partition=0, fetch_offset=0, max_bytes=1)


def encode(request: Request[object], *, version: int = 0) -> bytes:
    """A frame without its length."""
    return encode_request(request, version=version, correlation_id=1, client_id="c")[4:]


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        (
            fetch(replace(GOOD, partition=1 << 31)),
            r"FetchRequest v0: 2147483648 is not a signed 32-bit integer "
            r"\(field topics\[0\]\.partitions\[1\]\.partition\)",
        ),
        (
            fetch(replace(GOOD, fetch_offset=-(1 << 63) - 1)),
            r"64-bit integer \(field topics\[0\]\.partitions\[1\]\.fetch_offset\)",
        ),
        (
            fetch(GOOD, "t" * 32768),
            r"32768 bytes are more than the 32767.*field topics\[0\]\.topic",
        ),
        (fetch(GOOD, "\ud800"), r"can't be written as UTF-8.*field topics\[0\]\.topic"),
        (MetadataRequest(topics=("ok", "t" * 40000)), r"field topics\[1\]"),
        (MetadataRequest(topics=(None,)), r"None is not text \(field topics\[0\]\)"),  # type: ignore[arg-type]
        (MetadataRequest(topics="t"), r"a str where a tuple must be \(field topics\)"),  # type: ignore[arg-type]
        (
            OffsetCommitRequest(group_id="g", topics=(), generation_id=3),
            r"OffsetCommitRequest v0: version 0 does not have it \(field generation_id\)",
        ),
    ],
    ids=lambda value: "" if isinstance(value, Request) else None,
)
def test_values_that_cannot_be_sent(request_: Request[object], complaint: str) -> None:
    """A value that the bytes can't carry is our error, and names the field."""
    with pytest.raises(LocalProtocolError, match=complaint):
        encode(request_)


def test_wrong_element_type_is_named() -> None:
    """An element of another message class is refused."""
    request = FetchRequest(max_wait_ms=1, min_bytes=1, topics=(GOOD,))  # type: ignore[arg-type]
    with pytest.raises(LocalProtocolError, match=r"a FetchPartition where a FetchTopic.*topics\[0"):
        encode(request)


def test_longest_text() -> None:
    """32767 bytes of text are the longest that go through."""
    request = MetadataRequest(topics=("t" * 32767,))
    assert decode_request(encode(request)).request == request


@pytest.mark.parametrize("version", [-1, 14, 99])
def test_versions_that_do_not_exist(version: int) -> None:
    """Versions that the codec lacks are refused in both directions."""
    with pytest.raises(LocalProtocolError, match=f"FetchRequest: there is no version {version}"):
        encode(fetch(GOOD), version=version)
    with pytest.raises(LocalProtocolError, match=f"FetchResponse: there is no version {version}"):
        encode_response(FETCHED, version=version, correlation_id=1)
    with pytest.raises(LocalProtocolError, match="there is no version"):
        decode_response(FetchRequest, version, b"")


def test_client_id_out_of_bounds() -> None:
    """The header's fields are checked like all others."""
    with pytest.raises(LocalProtocolError, match="field client_id"):
        encode_request(
            MetadataRequest(topics=()), version=0, correlation_id=1, client_id="c" * 32768
        )
    with pytest.raises(LocalProtocolError, match="field correlation_id"):
        encode_request(MetadataRequest(topics=()), version=0, correlation_id=1 << 31, client_id="c")


def test_commit_version_1_carries_what_version_0_lacks() -> None:
    """Generation, consumer and timestamp go into version 1 only."""
    request = OffsetCommitRequest(
        group_id="g",
        generation_id=3,
        member_id="me",
        topics=(
            OffsetCommitTopic(
                topic="t",
                partitions=(OffsetCommitPartition(partition=0, offset=5, timestamp=7),),
            ),
        ),
    )
    assert decode_request(encode(request, version=1)).request == request
    with pytest.raises(LocalProtocolError, match="version 0 does not have it"):
        encode(request, version=0)


def test_record_sets_are_views_into_the_frame() -> None:
    """Nothing of a message set is copied while its response is read."""
    frame = encode_response(FETCHED, version=0, correlation_id=1)[4:]
    _, response = decode_response(FetchRequest, 0, frame)
    for partition in response.topics[0].partitions:
        assert partition.records.obj is frame
        assert partition.records == RECORDS


def test_response_to_a_request_or_to_its_class() -> None:
    """What is answered may be given as the request itself."""
    frame = encode_response(FETCHED, version=0, correlation_id=-5)[4:]
    assert decode_response(fetch(GOOD), 0, memoryview(frame)) == (-5, FETCHED)


def test_null_record_set_is_an_empty_one() -> None:
    """A null message set, as later brokers send with an error, holds nothing."""
    empty = replace(FETCHED.topics[0].partitions[0], records=memoryview(b""))
    response = FetchResponse(topics=(FetchedTopic(topic="t", partitions=(empty,)),))
    frame = encode_response(response, version=0, correlation_id=1)[4:]
    assert frame.endswith(bytes(4))
    assert decode_response(FetchRequest, 0, frame[:-4] + b"\xff" * 4) == (1, response)


HEADER = "00000001"


@pytest.mark.parametrize(
    ("request_type", "version", "body", "field", "position", "reason"),
    [
        (FetchRequest, 0, "", "topics", 4, "end within its length"),
        (FetchRequest, 0, "ffffffff", "topics", 4, "a count of -1"),
        (
            FetchRequest,
            0,
            "7fffffff",
            "topics",
            4,
            r"a count of 2147483647 \(at least 6 bytes each",
        ),
        (FetchRequest, 0, "00000001 ffff 00000000", "topics[0].topic", 8, "a null"),
        (FetchRequest, 0, "00000001 fffe 00000000", "topics[0].topic", 8, "a length of -2"),
        (FetchRequest, 0, "00000001 0009 74000000", "topics[0].topic", 8, "only 4 bytes are left"),
        (FetchRequest, 0, "00000001 0003 74ff78 000000", "topics[0].topic", 11, "not UTF-8"),
        (
            FetchRequest,
            0,
            "00000001 000174 00000001 00000000 0003 0000000000000009 7fffffff",
            "topics[0].partitions[0].records",
            29,
            "a length of 2147483647, but only 0 bytes are left",
        ),
        (
            FetchRequest,
            0,
            "00000001 000174 00000001 00000000 0003 0000000000000009 fffffffe",
            "topics[0].partitions[0].records",
            29,
            "a length of -2",
        ),
        (
            FindCoordinatorRequest,
            0,
            "0000 00000000 0001 61 0000",
            "port",
            13,
            "the bytes end in the middle of it",
        ),
        (ListOffsetsRequest, 0, "00000000 00", "", 8, "1 bytes follow its end"),
        (
            OffsetFetchRequest,
            1,
            "00000001 000174 00000001 00000000 0000000000000005 00027879",
            "topics[0].partitions[0].error_code",
            31,
            "the bytes end in the middle",
        ),
    ],
)
def test_where_a_response_goes_wrong(
    request_type: type[Request[Response]],
    version: int,
    body: str,
    field: str,
    position: int,
    reason: str,
) -> None:
    """A broken response names message, field, byte and reason."""
    with pytest.raises(DecodeError, match=reason) as caught:
        decode_response(request_type, version, bytes.fromhex(HEADER + body))
    assert caught.value.message == f"{request_type.RESPONSE.__name__} v{version}"
    assert (caught.value.field, caught.value.position) == (field, position)


def test_response_without_correlation_id() -> None:
    """A frame that ends in its header is an error as well."""
    with pytest.raises(DecodeError) as caught:
        decode_response(FetchRequest, 0, b"\0\0")
    assert (caught.value.field, caught.value.position) == ("correlation_id", 0)


@pytest.mark.parametrize(
    ("frame", "field", "position"),
    [
        ("0063 0000 00000001 0000", "api_key", 0),
        ("0001 000e 00000001 0000", "api_version", 2),
        ("0008 ffff 00000001 0000", "api_version", 2),
        ("0003 0000 00000001", "client_id", 8),
        ("0003 0000 0000", "correlation_id", 4),
    ],
)
def test_where_a_request_header_goes_wrong(frame: str, field: str, position: int) -> None:
    """APIs and versions that are not known, and cut-off headers, are named."""
    with pytest.raises(DecodeError) as caught:
        decode_request(bytes.fromhex(frame))
    assert caught.value.message == "RequestHeader"
    assert (caught.value.field, caught.value.position) == (field, position)


def test_null_client_id() -> None:
    """A request without client id is read."""
    frame = decode_request(bytes.fromhex("0003 0000 00000007 ffff 00000000"))
    assert (frame.client_id, frame.correlation_id) == (None, 7)
    assert frame.request == MetadataRequest(topics=())


def test_no_coordinator() -> None:
    """The answer that names no coordinator reads as -1, "", -1, also with a null host."""
    expected = FindCoordinatorResponse(error_code=15, coordinator_id=-1, host="", port=-1)
    for host in ("0000", "ffff"):
        body = bytes.fromhex(f"{HEADER} 000f ffffffff {host} ffffffff")
        assert decode_response(FindCoordinatorRequest, 0, body) == (1, expected)
