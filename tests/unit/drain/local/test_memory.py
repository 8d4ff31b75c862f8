"""How a drain's memory is divided among its threads."""

import pytest

from zkconsumer.drain.choosing import DEFAULT_MEMORY_MB, LEAST_MEMORY_MB
from zkconsumer.drain.local.memory import TABLE_MB, Shares

MB = 1 << 20


@pytest.mark.parametrize("memory_mb", [1, LEAST_MEMORY_MB, DEFAULT_MEMORY_MB, 1024, 64 * 1024])
@pytest.mark.parametrize("cores", [1, 2, 16, 96])
@pytest.mark.parametrize("held_bytes", [0, 5 * MB])
def test_shares_do_not_exceed_the_memory(memory_mb: int, cores: int, held_bytes: int) -> None:
    """All threads together stay below the limit, if it suffices for one at all."""
    shares = Shares.of(memory_mb, cores, held_bytes=held_bytes)
    assert 1 <= shares.threads <= cores
    a_thread = 2 * shares.fetch_bytes + 2 * shares.part_bytes + 2 * shares.group_bytes
    a_thread += (shares.open_files + 2) * held_bytes
    assert shares.part_bytes >= MB
    assert shares.open_files >= 1
    if memory_mb >= LEAST_MEMORY_MB:
        assert shares.threads * a_thread <= memory_mb * MB


def test_little_memory_means_fewer_threads_then_smaller_parts() -> None:
    """More memory does not enlarge fetches beyond their normal size."""
    few, many = Shares.of(LEAST_MEMORY_MB, 96), Shares.of(8192, 96)
    assert few.threads < many.threads == 96
    assert Shares.of(1 << 20, 1).fetch_bytes == 4 * MB
    assert Shares.of(1 << 20, 1).part_bytes == 16 * MB


def test_open_files_are_limited_by_the_memory_that_they_hold() -> None:
    """Files that hold memory may take half of it, up to the usual number."""
    assert Shares.of(LEAST_MEMORY_MB, 1).open_files == 32
    assert Shares.of(DEFAULT_MEMORY_MB, 2, held_bytes=5 * MB).open_files == 3
    assert Shares.of(8192, 2, held_bytes=5 * MB).open_files == 32


def test_memory_of_libraries_is_subtracted_from_all_threads() -> None:
    """The minimum memory is still enough for one thread."""
    bare, table = (Shares.of(DEFAULT_MEMORY_MB, 2, libraries_mb=taken) for taken in (0, TABLE_MB))
    a_share = bare.threads * bare.part_bytes - table.threads * table.part_bytes
    assert 8 * a_share == TABLE_MB * MB
    assert Shares.of(LEAST_MEMORY_MB, 2, libraries_mb=TABLE_MB).threads == 1
