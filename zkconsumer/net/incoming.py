"""A frame that is being received, in a buffer that grows as bytes arrive."""

from typing import TYPE_CHECKING, Final

from zkconsumer.net.transport import HasDescriptor, Transport

if TYPE_CHECKING:
    from zkconsumer.native import _core

_READ_BYTES: Final = 1 << 23
"""The most memory allocated for an announced length; beyond, the buffer grows as bytes arrive."""

_LARGE_BYTES: Final = 1 << 19
"""From this size on buffers are worth reusing, and bytes come in many pieces."""


class IncomingFrame:
    """Receive a frame whose size is known. Thread: that of its connection's user.

    Args:
        size: its size in bytes.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._buffer = _buffer(size)
        self._filled = 0

    @property
    def is_whole(self) -> bool:
        """Whether the whole frame has arrived."""
        return self._filled >= self._size

    def receive(self, transport: Transport, large: HasDescriptor | None = None) -> int:
        """Receive the next bytes.

        Args:
            transport: the transport.
            large: the same, if native code can use it for large buffers.

        Returns:
            Their number, 0 at the end of the stream.
        """
        if self._filled == len(self._buffer):
            assert isinstance(self._buffer, bytearray)
            self._buffer.extend(bytes(min(self._size - self._filled, len(self._buffer))))
        with memoryview(self._buffer) as view, view[self._filled :] as rest:
            if large is None or len(rest) < _LARGE_BYTES:
                count = transport.receive_into(rest)
            else:
                count = large.receive_expected(rest)
        self._filled += count
        return count

    def data(self) -> memoryview:
        """Return the buffer with the whole frame."""
        return memoryview(self._buffer)


def _buffer(size: int) -> "bytearray | _core.FrameBuffer":
    if not _LARGE_BYTES <= size <= _READ_BYTES:
        return bytearray(min(size, _READ_BYTES))
    from zkconsumer.records.frames import frame_buffer  # noqa: PLC0415 - few frames are large

    return frame_buffer(size)
