"""Buffers of large frames: memory is reused, but never while a view of it exists."""

from importlib import import_module

import pytest

from tests.support.engines import needs_native

pytestmark = needs_native

MEGABYTE = 1 << 20


def test_a_buffer_is_writable_and_has_the_requested_size() -> None:
    """This includes an empty buffer."""
    core = import_module("zkconsumer.native._core")
    for size in (0, 1, MEGABYTE):
        buffer = core.FrameBuffer(size)
        with memoryview(buffer) as view:
            assert (len(buffer), view.nbytes, view.readonly) == (size, size, False)
            view[:] = b"z" * size
        assert bytes(buffer) == b"z" * size


def test_a_view_keeps_the_memory() -> None:
    """The memory of a dropped buffer is not reused while views of it exist."""
    core = import_module("zkconsumer.native._core")
    view = memoryview(core.FrameBuffer(MEGABYTE))[MEGABYTE - 4 :]
    view[:] = b"kept"
    others = [core.FrameBuffer(MEGABYTE) for _ in range(8)]
    for other in others:
        memoryview(other)[:] = b"x" * MEGABYTE
    assert bytes(view) == b"kept"


def test_an_impossible_size_is_an_error() -> None:
    """Sizes come from the network, and are limited there."""
    core = import_module("zkconsumer.native._core")
    with pytest.raises(MemoryError):
        core.FrameBuffer((1 << 63) - 1)
    with pytest.raises(ValueError, match="not negative"):
        core.FrameBuffer(-1)
    with pytest.raises(OverflowError):
        core.FrameBuffer(1 << 63)
