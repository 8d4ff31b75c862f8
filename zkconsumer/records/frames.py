"""Provides buffers for large frames: the native core's, which reuses their memory, or bytearrays.

A large block of new memory costs a page fault for every 4 KiB, which takes longer than checking the
records in it.
"""

from typing import TYPE_CHECKING

from zkconsumer.records.engine import ENGINE, Engine

if TYPE_CHECKING:
    from zkconsumer.native import _core


def frame_buffer(size: int) -> "bytearray | _core.FrameBuffer":
    """Return a writable buffer of this size in bytes; its content is undefined. Thread: any."""
    if ENGINE is Engine.PURE:
        return bytearray(size)
    from zkconsumer.native import _core  # noqa: PLC0415 - it is loaded

    return _core.FrameBuffer(size)
