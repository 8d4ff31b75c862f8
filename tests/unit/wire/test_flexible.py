"""Flexible versions: compact lengths, tagged fields, and the tagged fields of headers."""

import struct
from typing import Annotated, Any

import pytest

from tests.support.all_requests import decode_request
from zkconsumer.errors import DecodeError, LocalProtocolError
from zkconsumer.wire.codec import decode_response, encode_request, encode_response
from zkconsumer.wire.encoding import FLEXIBLE, read_uvarint, write_uvarint
from zkconsumer.wire.fault import Fault
from zkconsumer.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from zkconsumer.wire.messages.fetch import (
    AbortedTransaction,
    CurrentLeader,
    DivergingEpoch,
    FetchedPartition,
    FetchedTopic,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from zkconsumer.wire.messages.group_members import JoinGroupRequest, LeavingMember, leave_request
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from zkconsumer.wire.messages.metadata import MetadataRequest, all_topics
from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest
from zkconsumer.wire.messages.sasl import SaslAuthenticateRequest
from zkconsumer.wire.reader import reader_of
from zkconsumer.wire.schema import ApiMessage, Int32, NullableBytes, Since, String, Tagged
from zkconsumer.wire.tagged import Pieces
from zkconsumer.wire.writer import writer_of


class Box(ApiMessage):
    """A message with tagged fields, declared out of their order."""

    late: Annotated[Int32, Since(1), Tagged(9)] = -1
    name: String
    early: Annotated[String, Tagged(2)] = ""
    data: NullableBytes = None


def write(message: ApiMessage, version: int = 1) -> bytes:
    """Encode a message without any header."""
    pieces: Pieces = []
    writer_of(type(message), version, FLEXIBLE)(message, pieces)
    return b"".join(pieces)


def read(kind: type[Any], data: bytes, version: int = 1) -> tuple[Any, int]:
    """Decode a message without any header."""
    value, end = reader_of(kind, version, FLEXIBLE)(memoryview(data), 0)
    return value, end


@pytest.mark.parametrize(
    ("number", "hexa"),
    [
        (0, "00"),
        (127, "7f"),
        (128, "8001"),
        (300, "ac02"),
        (16384, "808001"),
        ((1 << 32) - 1, "ffffffff0f"),
    ],
)
def test_varints(number: int, hexa: str) -> None:
    """A varint has seven bits in each byte, the lowest first."""
    assert write_uvarint(number).hex() == hexa
    data = memoryview(bytes.fromhex("aa" + hexa + "aa"))
    assert read_uvarint(data, 1) == (number, len(data) - 1)
    for cut in range(1, len(data) - 1):
        with pytest.raises(struct.error):
            read_uvarint(data[:cut], 1)


@pytest.mark.parametrize("hexa", ["ffffffff10", "ffffffffff01", "8080808080", "ffffffff7f"])
def test_varints_of_too_many_bits_are_refused(hexa: str) -> None:
    """A varint of more than 32 bits is refused."""
    with pytest.raises(Fault, match="more than 32 bits"):
        read_uvarint(memoryview(bytes.fromhex(hexa)), 0)


@pytest.mark.parametrize(
    ("box", "version", "hexa"),
    [
        (Box(name="ab"), 1, "03 6162 00 00"),
        (Box(name="", data=b""), 1, "01 01 00"),
        (Box(name="ab", late=5), 1, "03 6162 00 01 09 04 00000005"),
        (Box(name="ab", late=5, early="x"), 1, "03 6162 00 02 02 02 0278 09 04 00000005"),
        (Box(name="ab", early="x"), 0, "03 6162 00 01 02 02 0278"),
    ],
)
def test_tagged_fields(box: Box, version: int, hexa: str) -> None:
    """Tagged fields follow the others, by ascending tag; those with their default are left out."""
    data = bytes.fromhex(hexa)
    assert write(box, version).hex() == data.hex()
    assert read(Box, data, version) == (box, len(data))


def test_unknown_tags_are_skipped() -> None:
    """Unknown tags, as of later versions, are skipped in any order."""
    data = bytes.fromhex("0261 00  04  09 04 00000005  07 03 aabbcc  02 01 01  63 00")
    assert read(Box, data) == (Box(name="a", late=5), len(data))


@pytest.mark.parametrize(
    ("hexa", "path", "reason"),
    [
        ("0261 00 01 09 05 0000000500", "late", "1 bytes of its tag follow its end"),
        ("0261 00 01 09 03 000000", "late", "its tag ends in the middle of it"),
        ("0261 00 01 02 02 0578", "early", "a length of 4, but only 1 bytes are left"),
        ("0261 00 01 07 05 00", "", "tag 7 has 5 bytes, but only 1 are left"),
        ("0261 00 ffffffff0f", "", "the bytes end within"),
        ("00 00 00", "name", "a null"),
        ("0261 80", "data", "the bytes end within"),
    ],
)
def test_broken_tags_are_refused(hexa: str, path: str, reason: str) -> None:
    """A contradictory tag section is refused, and the error names the field if it is known."""
    with pytest.raises(Fault, match=reason) as caught:
        read(Box, bytes.fromhex(hexa))
    assert caught.value.path == path


def test_tagged_values_that_can_not_be_encoded_are_refused() -> None:
    """A tagged field is checked like any other, also for its version."""
    with pytest.raises(Fault, match="32-bit") as caught:
        write(Box(name="", late=1 << 40))
    assert caught.value.path == "late"
    with pytest.raises(Fault, match="version 0 does not have it") as caught:
        write(Box(name="", late=3), 0)
    assert caught.value.path == "late"


def test_flexible_headers_end_with_tagged_fields() -> None:
    """Headers of flexible versions end with tagged fields, those of others do not."""
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    old = encode_request(beat, version=3, correlation_id=5, client_id="c")
    assert old[4:] == bytes.fromhex("000c 0003 00000005 0001 63  0001 67 00000001 0001 6d ffff")
    new = encode_request(beat, version=4, correlation_id=5, client_id="c")
    assert new[4:] == bytes.fromhex("000c 0004 00000005 0001 63 00  0267 00000001 026d 00 00")
    assert decode_request(new[4:]).request == beat
    response = encode_response(HeartbeatResponse(error_code=27), version=4, correlation_id=5)
    assert response[4:] == bytes.fromhex("00000005 00  00000000 001b 00")
    tagged = bytes.fromhex("00000005 01 03 02 abcd  00000000 001b 00")
    assert decode_response(beat, 4, tagged) == (5, HeartbeatResponse(error_code=27))
    for cut in range(4, 9):
        with pytest.raises(DecodeError):
            decode_response(beat, 4, tagged[:cut])


def test_api_versions_responses_have_the_old_header() -> None:
    """ApiVersions responses have the old header, as they are read before versions are known."""
    response = ApiVersionsResponse(error_code=0, api_versions=(), zk_migration_ready=True)
    frame = encode_response(response, version=3, correlation_id=5)[4:]
    assert frame == bytes.fromhex("00000005  0000 01 00000000 01 03 01 01")
    assert decode_response(ApiVersionsRequest, 3, frame) == (5, response)
    request = ApiVersionsRequest(client_software_name="a", client_software_version="1")
    frame = encode_request(request, version=3, correlation_id=5, client_id="c")[4:]
    assert frame == bytes.fromhex("0012 0003 00000005 0001 63 00  0261 0231 00")


def test_the_newest_fetch_is_encoded_and_decoded() -> None:
    """Sessions, epochs, aborted transactions and tagged fields are encoded and decoded."""
    request = FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        isolation_level=1,
        session_id=9,
        session_epoch=2,
        topics=(
            FetchTopic(
                topic="t",
                partitions=(
                    FetchPartition(
                        partition=0,
                        current_leader_epoch=3,
                        fetch_offset=7,
                        last_fetched_epoch=2,
                        max_bytes=10,
                    ),
                ),
            ),
        ),
    )
    frame = encode_request(request, version=12, correlation_id=1, client_id="c")[4:]
    assert decode_request(frame).request == request
    response = FetchResponse(
        session_id=9,
        topics=(
            FetchedTopic(
                topic="t",
                partitions=(
                    FetchedPartition(
                        partition=0,
                        error_code=0,
                        high_watermark=8,
                        diverging_epoch=DivergingEpoch(epoch=2, end_offset=5),
                        current_leader=CurrentLeader(leader_id=1, leader_epoch=4),
                        aborted_transactions=(AbortedTransaction(producer_id=5, first_offset=6),),
                        records=memoryview(b"xyz"),
                    ),
                ),
            ),
        ),
    )
    frame = encode_response(response, version=12, correlation_id=1)[4:]
    _, found = decode_response(FetchRequest, 12, frame)
    assert found == response
    assert found.topics[0].partitions[0].records.obj is frame


def test_hints_that_a_version_lacks_are_left_out() -> None:
    """Hints that a version lacks are left out; fields that change the meaning are refused."""
    join = JoinGroupRequest(
        group_id="g", session_timeout_ms=1, rebalance_timeout_ms=2, protocols=(), reason="why"
    )
    frame = encode_request(join, version=0, correlation_id=1, client_id="c")[4:]
    found = decode_request(frame).request
    assert isinstance(found, JoinGroupRequest)
    assert (found.rebalance_timeout_ms, found.reason) == (-1, None)
    static = JoinGroupRequest(
        group_id="g", session_timeout_ms=1, group_instance_id="i", protocols=()
    )
    with pytest.raises(LocalProtocolError, match=r"version 4 .*\(field group_instance_id\)"):
        encode_request(static, version=4, correlation_id=1, client_id="c")


def test_all_topics_are_requested_in_every_version() -> None:
    """An empty list of topics requests all of them in version 0, and a null does so later."""
    body = {0: "00000000", 1: "ffffffff", 8: "ffffffff 01 00 00", 9: "00 01 00 00 00"}
    for version, hexa in body.items():
        request = MetadataRequest(topics=all_topics(version))
        frame = encode_request(request, version=version, correlation_id=1, client_id="")[4:]
        assert frame.endswith(bytes.fromhex(hexa)), version
        assert decode_request(frame).request == request
    with pytest.raises(LocalProtocolError, match=r"version 0 has no null.*\(field topics\)"):
        encode_request(MetadataRequest(topics=None), version=0, correlation_id=1, client_id="c")
    with pytest.raises(LocalProtocolError, match=r"version 1 has no null.*\(field topics\)"):
        encode_request(
            OffsetFetchRequest(group_id="g", topics=None), version=1, correlation_id=1, client_id=""
        )


def test_topics_are_requested_by_name_where_they_could_have_ids() -> None:
    """From version 10 on a topic's name is sent with an empty id."""
    request = MetadataRequest(topics=("ab",))
    for version, hexa in ((8, "00000001 00026162"), (9, "02 036162 00"), (10, "02" + "00" * 16)):
        frame = encode_request(request, version=version, correlation_id=1, client_id="")[4:]
        assert bytes.fromhex(hexa) in frame
        assert decode_request(frame).request == request
    with pytest.raises(LocalProtocolError, match=r"\(field topics\[0\]\)"):
        encode_request(
            MetadataRequest(topics=("\ud800",)), version=9, correlation_id=1, client_id=""
        )


def test_a_member_leaves_in_every_version() -> None:
    """LeaveGroup names one member in the format of its version."""
    assert leave_request("g", "m", version=2).member_id == "m"
    late = leave_request("g", "m", version=5, reason="done")
    assert late.members == (LeavingMember(member_id="m", reason="done"),)
    for version in range(6):
        request = leave_request("g", "m", version=version, reason="done" if version > 4 else None)
        frame = encode_request(request, version=version, correlation_id=1, client_id="c")
        assert decode_request(frame[4:]).request == request


def test_small_bytes_are_copies() -> None:
    """Decoded bytes fields are copies, and do not keep the frame alive."""
    found, _ = read(Box, bytes.fromhex("01 03 6869 00"))
    assert (type(found.data), found.data) == (bytes, b"hi")


def test_passwords_are_not_shown() -> None:
    """The bytes of a SASL token are in no ``repr``, as it might be logged."""
    assert "secret" not in repr(SaslAuthenticateRequest(auth_bytes=b"\0user\0secret"))
