"""Encoding and decoding of frames: what is refused, and how precisely the error says where."""

import pytest

from tests.support.all_requests import decode_request
from tests.support.altered_messages import altered
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
    """Return a fetch request for one partition, as the second of its topic."""
    first = FetchPartition(partition=0, fetch_offset=0, max_bytes=1)
    return FetchRequest(
        max_wait_ms=1,
        min_bytes=1,
        topics=(FetchTopic(topic=topic, partitions=(first, partition)),),
    )


GOOD = FetchPartition(partition=0, fetch_offset=0, max_bytes=1)


def encode(request: Request[object], *, version: int = 0) -> bytes:
    """Return a frame without its length."""
    return encode_request(request, version=version, correlation_id=1, client_id="c")[4:]


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        (
            fetch(altered(GOOD, partition=1 << 31)),
            r"FetchRequest v0: 2147483648 is not a signed 32-bit integer "
            r"\(field topics\[0\]\.partitions\[1\]\.partition\)",
        ),
        (
            fetch(altered(GOOD, fetch_offset=-(1 << 63) - 1)),
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
def test_values_that_can_not_be_encoded_are_refused(
    request_: Request[object], complaint: str
) -> None:
    """A value that the wire format can't represent is our error, and names the field."""
    with pytest.raises(LocalProtocolError, match=complaint):
        encode(request_)


def test_a_wrong_element_type_is_refused() -> None:
    """An element of another message class is refused with its place."""
    request = FetchRequest(max_wait_ms=1, min_bytes=1, topics=(GOOD,))  # type: ignore[arg-type]
    with pytest.raises(LocalProtocolError, match=r"a FetchPartition where a FetchTopic.*topics\[0"):
        encode(request)


def test_the_longest_text_is_encoded() -> None:
    """A text of 32767 bytes is encoded; longer ones are refused above."""
    request = MetadataRequest(topics=("t" * 32767,))
    assert decode_request(encode(request)).request == request


@pytest.mark.parametrize("version", [-1, 14, 99])
def test_versions_that_do_not_exist_are_refused(version: int) -> None:
    """Versions that the codec lacks are refused in both directions."""
    with pytest.raises(LocalProtocolError, match=f"FetchRequest: there is no version {version}"):
        encode(fetch(GOOD), version=version)
    with pytest.raises(LocalProtocolError, match=f"FetchResponse: there is no version {version}"):
        encode_response(FETCHED, version=version, correlation_id=1)
    with pytest.raises(LocalProtocolError, match="there is no version"):
        decode_response(FetchRequest, version, b"")


def test_header_fields_are_checked() -> None:
    """The header's fields are checked like all others."""
    with pytest.raises(LocalProtocolError, match="field client_id"):
        encode_request(
            MetadataRequest(topics=()), version=0, correlation_id=1, client_id="c" * 32768
        )
    with pytest.raises(LocalProtocolError, match="field correlation_id"):
        encode_request(MetadataRequest(topics=()), version=0, correlation_id=1 << 31, client_id="c")


def test_commit_version_1_has_fields_that_version_0_lacks() -> None:
    """Generation, member and timestamp are encoded in version 1, and refused in version 0."""
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
    """Record sets are decoded as views, without copying them from the frame."""
    frame = encode_response(FETCHED, version=0, correlation_id=1)[4:]
    _, response = decode_response(FetchRequest, 0, frame)
    for partition in response.topics[0].partitions:
        assert partition.records.obj is frame
        assert partition.records == RECORDS


def test_a_response_is_decoded_for_a_request_or_its_class() -> None:
    """A response can be decoded for a request, or for its class."""
    frame = encode_response(FETCHED, version=0, correlation_id=-5)[4:]
    assert decode_response(fetch(GOOD), 0, memoryview(frame)) == (-5, FETCHED)


def test_a_null_record_set_is_an_empty_one() -> None:
    """A null record set, as later brokers send with an error, is decoded as an empty one."""
    empty = altered(FETCHED.topics[0].partitions[0], records=memoryview(b""))
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
def test_a_broken_response_is_an_error_with_the_place(
    request_type: type[Request[Response]],
    version: int,
    body: str,
    field: str,
    position: int,
    reason: str,
) -> None:
    """A broken response is an error with message, field, position and reason."""
    with pytest.raises(DecodeError, match=reason) as caught:
        decode_response(request_type, version, bytes.fromhex(HEADER + body))
    assert caught.value.message == f"{request_type.RESPONSE.__name__} v{version}"
    assert (caught.value.field, caught.value.position) == (field, position)


def test_a_response_without_a_correlation_id_is_an_error() -> None:
    """A frame that ends within its header is an error, too."""
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
def test_a_broken_request_header_is_an_error_with_the_place(
    frame: str, field: str, position: int
) -> None:
    """Unknown APIs and versions, and truncated headers, are errors that name the field."""
    with pytest.raises(DecodeError) as caught:
        decode_request(bytes.fromhex(frame))
    assert caught.value.message == "RequestHeader"
    assert (caught.value.field, caught.value.position) == (field, position)


def test_a_null_client_id_is_decoded() -> None:
    """A request without a client id is decoded."""
    frame = decode_request(bytes.fromhex("0003 0000 00000007 ffff 00000000"))
    assert (frame.client_id, frame.correlation_id) == (None, 7)
    assert frame.request == MetadataRequest(topics=())


def test_a_response_without_a_coordinator_is_decoded() -> None:
    """A response without a coordinator is decoded as -1, "" and -1, also with a null host."""
    expected = FindCoordinatorResponse(error_code=15, coordinator_id=-1, host="", port=-1)
    for host in ("0000", "ffff"):
        body = bytes.fromhex(f"{HEADER} 000f ffffffff {host} ffffffff")
        assert decode_response(FindCoordinatorRequest, 0, body) == (1, expected)
