"""Any bytes are a message, or an error that says where they are wrong."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.all_requests import decode_request
from tests.support.shares import examples
from tests.support.wire_values import REQUEST_VERSIONS, messages, name_of, responses
from zkconsumer.errors import DecodeError
from zkconsumer.wire.api import Request, Response
from zkconsumer.wire.codec import decode_response, encode_request, encode_response

# There are more than a hundred versions, all from one compiler: a few examples of each suffice.
EXAMPLES = settings(max_examples=examples(10), deadline=None)
CASES = pytest.mark.parametrize(("kind", "version"), REQUEST_VERSIONS, ids=name_of)
CORRELATION_IDS = st.integers(-(1 << 31), (1 << 31) - 1)


def decode_all(kind: type[Request[Response]], version: int, frame: bytes) -> None:
    """Decode a frame as a request and as a response; only ``DecodeError`` may be raised."""
    for decode in (lambda: decode_request(frame), lambda: decode_response(kind, version, frame)):
        refused = _refusal(decode)
        assert refused is None or (refused.message and 0 <= refused.position <= len(frame))


def _refusal(decode: Callable[[], object]) -> DecodeError | None:
    try:
        decode()
    except DecodeError as error:
        return error
    return None


@CASES
@EXAMPLES
@given(data=st.data(), correlation_id=CORRELATION_IDS)
def test_request_round_trip(
    kind: type[Request[Response]], version: int, data: st.DataObject, correlation_id: int
) -> None:
    """A request comes back equal, with its header."""
    request = data.draw(messages(kind, version))
    frame = encode_request(request, version=version, correlation_id=correlation_id, client_id="é")
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    read = decode_request(frame[4:])
    assert read.request == request
    assert (read.api_key, read.version) == (kind.API.key, version)
    assert (read.correlation_id, read.client_id) == (correlation_id, "é")


@CASES
@EXAMPLES
@given(data=st.data(), correlation_id=CORRELATION_IDS)
def test_response_round_trip(
    kind: type[Request[Response]], version: int, data: st.DataObject, correlation_id: int
) -> None:
    """A response comes back equal, with its correlation id."""
    response, written_in = data.draw(responses(kind, version))
    frame = encode_response(response, version=written_in, correlation_id=correlation_id)
    assert decode_response(kind, version, frame[4:]) == (correlation_id, response)


@CASES
@settings(max_examples=examples(3), deadline=None)
@given(data=st.data())
def test_truncation_is_an_error_at_every_byte(
    kind: type[Request[Response]], version: int, data: st.DataObject
) -> None:
    """A message truncated anywhere is a DecodeError at a position up to its end."""
    request = data.draw(messages(kind, version))
    response, written_in = data.draw(responses(kind, version))
    requested = encode_request(request, version=version, correlation_id=1, client_id="c")[4:]
    encoded = encode_response(response, version=written_in, correlation_id=1)[4:]
    for cut in range(len(requested)):
        with pytest.raises(DecodeError) as caught:
            decode_request(requested[:cut])
        assert caught.value.position <= cut
    for cut in range(len(encoded)):
        with pytest.raises(DecodeError) as caught:
            decode_response(kind, version, encoded[:cut])
        assert caught.value.position <= cut


@CASES
@EXAMPLES
@given(data=st.data())
def test_flipped_bits(kind: type[Request[Response]], version: int, data: st.DataObject) -> None:
    """A message with flipped bits is another message or a DecodeError."""
    request = data.draw(messages(kind, version))
    response, written_in = data.draw(responses(kind, version))
    for whole in (
        encode_request(request, version=version, correlation_id=1, client_id="c"),
        encode_response(response, version=written_in, correlation_id=1),
    ):
        frame = bytearray(whole[4:])
        for bit in data.draw(st.lists(st.integers(0, 8 * len(frame) - 1), min_size=1, max_size=4)):
            frame[bit // 8] ^= 1 << (bit % 8)
        decode_all(kind, version, bytes(frame))


@CASES
@settings(max_examples=examples(15), deadline=None)
@given(noise=st.binary(max_size=200))
def test_random_bytes(kind: type[Request[Response]], version: int, noise: bytes) -> None:
    """Noise, with or without a plausible header, is a message or a DecodeError."""
    decode_all(kind, version, noise)
    header = kind.API.key.to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(6)
    decode_all(kind, version, header + noise)
