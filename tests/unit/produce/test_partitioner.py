"""Keyed rows by hash, keyless ones in turn."""

import sys

import pytest

from zkconsumer.errors import ConfigError
from zkconsumer.produce.partitioner import DEFAULT_PARTITIONER, PARTITIONERS, Chooser, key_hash


def chooser(partitions: list[int], available: list[int], start: int = 0) -> Chooser:
    """One whose hash is the key's length."""
    return Chooser(partitions, available=available, hash_of=len, start=start)


def test_keyed_rows_go_by_hash_whatever_is_available() -> None:
    """A key keeps its partition while that has no leader: others would break its order."""
    chosen = chooser([0, 1, 2], [0])
    assert [chosen.choose(b"k" * size) for size in range(5)] == [0, 1, 2, 0, 1]


def test_partition_ids_with_gaps() -> None:
    """The hash picks from the ids that are there."""
    assert chooser([0, 4, 9], [0, 4, 9]).choose(b"kk") == 9


def test_keyless_rows_go_round_the_available_ones() -> None:
    """They go round, each task from a place of its own."""
    chosen = chooser([0, 1, 2, 3], [1, 2, 3], start=2)
    assert [chosen.choose(None) for _ in range(4)] == [3, 1, 2, 3]


def test_keyless_rows_when_nothing_is_available() -> None:
    """They go round all: writing will wait for leaders, and say so if none comes."""
    chosen = chooser([0, 1], [])
    assert [chosen.choose(None) for _ in range(3)] == [0, 1, 0]


def test_an_unknown_partitioner_is_refused() -> None:
    """The error names the option and what there is."""
    with pytest.raises(ConfigError, match=r"kafka\.partitioner\.class is 'Mine'.*murmur|Default"):
        key_hash("Mine")


def test_the_default_is_the_scala_producers() -> None:
    """As in the original's own configuration."""
    assert PARTITIONERS[0] == DEFAULT_PARTITIONER == "kafka.producer.DefaultPartitioner"


@pytest.mark.parametrize("partitioner", PARTITIONERS)
def test_long_keys_are_not_kept(partitioner: str) -> None:
    """A worker would keep as many of them as of short ones, and lack the memory for rows."""
    hash_of = key_hash(partitioner)
    key = b"k" * 100_000
    before = sys.getrefcount(key)
    assert hash_of(key) == hash_of(key)
    assert sys.getrefcount(key) == before
