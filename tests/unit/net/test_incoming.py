"""Frames of all sizes arrive whole, in any pieces; memory grows with what has arrived."""

import pytest

from zkconsumer.net.incoming import IncomingFrame

MEGABYTE = 1 << 20


class Pieces:
    """A transport that returns bytes in pieces of one size, the last one shorter."""

    address = "h:9092"

    def __init__(self, data: bytes, piece_bytes: int) -> None:
        self._left = memoryview(data)
        self._piece_bytes = piece_bytes
        self.offered: list[int] = []

    def set_timeout_ms(self, timeout_ms: int) -> None:
        """Do nothing, as nothing here waits."""

    def send(self, data: bytes) -> None:
        """Do nothing, as nobody receives it."""

    def receive_into(self, buffer: memoryview) -> int:
        """Fill part of the buffer; return 0 at the end."""
        self.offered.append(len(buffer))
        piece = self._left[: min(self._piece_bytes, len(buffer))]
        buffer[: len(piece)] = piece
        self._left = self._left[len(piece) :]
        return len(piece)

    def close(self) -> None:
        """Do nothing, as nothing is open."""


@pytest.mark.parametrize("size", [1, 4_096, MEGABYTE // 2 - 1, MEGABYTE // 2, 9 * MEGABYTE])
def test_a_frame_arrives_whole(size: int) -> None:
    """All bytes of the frame are read, and none of the next one."""
    data = bytes(number % 251 for number in range(1_000)) * (size // 1_000 + 1)
    pieces = Pieces(data[:size] + b"next frame", piece_bytes=100_003)
    frame = IncomingFrame(size)
    while not frame.is_whole:
        assert frame.receive(pieces)
    assert bytes(frame.data()) == data[:size]
    assert pieces.receive_into(memoryview(bytearray(99))) == len(b"next frame")


def test_frames_that_exist_at_a_time_do_not_share_memory() -> None:
    """This is so even if the memory of a former frame is reused."""
    for filling in (b"a", b"b"):
        frames = [IncomingFrame(MEGABYTE) for _ in range(3)]
        for number, frame in enumerate(frames):
            pieces = Pieces(filling * (MEGABYTE - 1) + b"%d" % number, MEGABYTE)
            while not frame.is_whole:
                assert frame.receive(pieces)
        kept = [frame.data() for frame in frames]
        del frames, frame
        again = IncomingFrame(MEGABYTE)
        again.receive(Pieces(b"x" * MEGABYTE, MEGABYTE))
        assert [bytes(data[-2:]) for data in kept] == [filling + b"%d" % n for n in range(3)]


def test_an_announced_length_is_not_trusted() -> None:
    """For an announced gigabyte at most eight megabytes are allocated in advance."""
    pieces = Pieces(b"x" * (17 * MEGABYTE), piece_bytes=4 * MEGABYTE)
    frame = IncomingFrame(1 << 30)
    while frame.receive(pieces):
        assert not frame.is_whole
    assert max(pieces.offered) <= 16 * MEGABYTE
