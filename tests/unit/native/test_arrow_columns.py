"""Buffers of Arrow columns, filled from runs."""

import pytest

from tests.support.record_sets import records
from tests.unit.native.test_runs import runs_of
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set

core = pytest.importorskip("zkconsumer.native._core", exc_type=ImportError)


def test_no_runs_give_no_rows() -> None:
    """Each column still has its first offset."""
    rows, keys, values, *numbers = core.arrow_columns([])
    assert (rows, keys, values) == (0, (None, bytes(4), b""), (None, bytes(4), b""))
    assert numbers == [b"", b"", b""]


def test_only_columns_with_nulls_have_a_bitmap() -> None:
    """The bitmap has a bit for each row, rounded up to whole bytes."""
    some = [Record(at, None if at % 3 else b"k", b"v") for at in range(9)]
    data = build_message_set(some)
    runs = runs_of(data)
    _, keys, values, *_ = core.arrow_columns(runs)
    bits, ends, key_data = keys
    assert (bits, values[0]) == (bytes([0b01001001, 0]), None)
    assert (len(ends), key_data) == (40, b"kkk")


@pytest.mark.parametrize("at", [8, 18, 25])
def test_bytes_that_change_meanwhile_are_noticed(at: int) -> None:
    """Sizes of the entry, its key or its value may grow: no more is copied than was allocated."""
    data = bytearray(build_message_set(records(0, 1, 2)))
    runs = runs_of(memoryview(data).toreadonly())
    data[at : at + 4] = (20).to_bytes(4, "big")
    with pytest.raises(BufferError):
        core.arrow_columns(runs)


NAMES = ("keys", "values", "offsets", "timestamps", "timestamp_types")


@pytest.mark.parametrize("wanted", [(), ("keys",), ("values", "offsets"), ("timestamp_types",)])
def test_columns_that_are_not_wanted_are_not_built(wanted: tuple[str, ...]) -> None:
    """The other columns are the same as without a selection."""
    some = [Record(at, None if at % 3 else b"k", b"v", 5) for at in range(9)]
    data = build_message_set(some)
    runs = runs_of(data)
    every = core.arrow_columns(runs)
    found = core.arrow_columns(runs, **{name: name in wanted for name in NAMES})
    expected = [
        column if name in wanted else None for name, column in zip(NAMES, every[1:], strict=True)
    ]
    assert list(found) == [9, *expected]


def test_only_runs_are_accepted() -> None:
    """Anything else raises, instead of crashing."""
    with pytest.raises(TypeError):
        core.arrow_columns([None])
    with pytest.raises(TypeError):
        core.arrow_columns([b"run"])


def test_shared_columns_are_read_only() -> None:
    """This includes columns in reused memory, which begins at half a megabyte."""
    arrow_columns = pytest.importorskip("zkconsumer.streams.arrow_columns", exc_type=ImportError)
    for value_bytes in (10, 1 << 20):
        runs = runs_of(build_message_set([Record(0, b"k", bytes(value_bytes))]), fetch_offset=0)
        arrays = arrow_columns.columns_of_runs(runs).arrays
        for array in arrays.values():
            assert not any(buffer.is_mutable for buffer in array.buffers() if buffer is not None)
        assert arrays["value"][0].as_py() == bytes(value_bytes)
