"""Errors that are kept carry no frames: what they passed on their way is let go of."""

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
    """Something large in a variable of a function."""


def chained(seen: list[weakref.ref[Ballast]]) -> PartitionFailed:
    """Raise and catch an error with a cause, and another one around it; each passes a ballast."""

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


def test_an_error_is_kept_without_what_it_passed() -> None:
    """Its causes stay, with their words; what lay in variables on the way is gone at once."""
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


def test_causes_in_a_circle() -> None:
    """Nobody makes these, and they end."""
    one, other = ValueError(), ValueError()
    one.__cause__, other.__cause__ = other, one
    assert without_frames(one) is one


def test_events() -> None:
    """Observers may keep them."""
    with pytest.raises(ZeroDivisionError) as caught:
        1 / 0  # noqa: B018 - it raises
    event = ErrorSeen("somewhere", caught.value)
    assert event.error.__traceback__ is None


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("decode", [record_sets.decode, batches.decode])
def test_damage_is_told_without_what_it_was_found_in(decode: Callable[..., object]) -> None:
    """A set that unpacks to more than the bound: what was unpacked is gone with the call."""
    bomb = wrapper_around(0, gzip_of_zeros(3))
    error = decode(bomb, 0, 1 << 20).error  # type: ignore[attr-defined]
    assert "decompresses to more than" in str(error)
    while error is not None:
        assert error.__traceback__ is None
        assert error.__context__ is None
        error = error.__cause__
