"""Stored errors hold no frames, so they keep no local variables alive."""

import gc
import weakref
from collections.abc import Callable

import pytest

from tests.support import batches, record_sets
from tests.support.engines import each_engine
from tests.support.record_sets import gzip_of_zeros, wrapper_around
from zkconsumer.errors import CorruptRecord, PartitionFailed, without_frames
from zkconsumer.observe import ErrorSeen

__all__ = ["each_engine"]


class Ballast:
    """Something large in a local variable."""


def chained(seen: list[weakref.ref[Ballast]]) -> PartitionFailed:
    """Return an error with a cause, each raised past a ballast in a local variable."""

    def raising(error: Exception) -> None:
        ballast = Ballast()
        seen.append(weakref.ref(ballast))
        raise error

    try:
        try:
            raising(ValueError("the library's"))
        except ValueError as cause:
            corrupt = CorruptRecord("bad", offset=1, position=0, next_offset=None)
            try:
                raise corrupt from cause
            except CorruptRecord as error:
                failed = PartitionFailed(("t", 0), 1, "bad")  # type: ignore[arg-type]
                failed.__cause__ = error
                raising(failed)
    except PartitionFailed as error:
        return error
    raise AssertionError


def test_a_stored_error_keeps_no_local_variables_alive() -> None:
    """The causes and their messages stay; the local variables on the way are freed at once."""
    seen: list[weakref.ref[Ballast]] = []
    gc.disable()
    try:
        kept = chained(seen)
        assert [reference() is not None for reference in seen] == [True, True]
        assert without_frames(kept) is kept
        assert [reference() for reference in seen] == [None, None]
    finally:
        gc.enable()
    assert isinstance(kept.__cause__, CorruptRecord)
    assert str(kept.__cause__.__cause__) == "the library's"
    assert kept.__context__ is None


def test_causes_in_a_circle_are_handled() -> None:
    """A cycle of causes, which nobody creates, does not loop for ever."""
    first, second = ValueError(), ValueError()
    first.__cause__, second.__cause__ = second, first
    assert without_frames(first) is first


def test_events() -> None:
    """Observers may store events, so the errors in them hold no frames."""
    with pytest.raises(ZeroDivisionError) as caught:
        1 / 0  # noqa: B018 - it raises
    event = ErrorSeen("somewhere", caught.value)
    assert event.error.__traceback__ is None


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("decode", [record_sets.decode, batches.decode])
def test_an_error_about_damage_does_not_keep_the_data_alive(decode: Callable[..., object]) -> None:
    """A set that exceeds the decompression limit is freed with the call that decoded it."""
    bomb = wrapper_around(0, gzip_of_zeros(3))
    error = decode(bomb, 0, 1 << 20).error  # type: ignore[attr-defined]
    assert "decompresses to more than" in str(error)
    while error is not None:
        assert error.__traceback__ is None
        assert error.__context__ is None
        error = error.__cause__
