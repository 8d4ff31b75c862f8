"""Frames are read as they were sent, however the network splits them."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.frame_reader import FrameReader
from tests.support.shares import examples
from zkconsumer.errors import DecodeError


@settings(max_examples=examples(100), deadline=None)
@given(
    bodies=st.lists(st.binary(min_size=4, max_size=50), max_size=5),
    cuts=st.lists(st.integers(0, 300), max_size=10),
)
def test_frames_survive_any_splitting(bodies: list[bytes], cuts: list[int]) -> None:
    """The same frames come out, whatever the sizes of the pieces that arrive."""
    stream = b"".join(len(body).to_bytes(4, "big") + body for body in bodies)
    reader = FrameReader(50)
    frames: list[bytes] = []
    edges = sorted({0, len(stream), *(min(cut, len(stream)) for cut in cuts)})
    for start, end in itertools.pairwise(edges):
        reader.receive(stream[start:end])
        while (frame := reader.next_frame()) is not None:
            frames.append(bytes(frame))
    assert frames == bodies
    assert reader.is_empty


@settings(max_examples=examples(100), deadline=None)
@given(noise=st.binary(max_size=60))
def test_noise_gives_frames_or_one_error(noise: bytes) -> None:
    """Noise gives frames within the limits, waits for more bytes, or is a DecodeError."""
    reader = FrameReader(20)
    reader.receive(noise)
    refused = ""
    try:
        while (frame := reader.next_frame()) is not None:
            assert 4 <= len(frame) <= 20
    except DecodeError as error:
        refused = error.field
    assert refused == "length" or reader.missing_bytes > 0
