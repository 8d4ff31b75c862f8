"""Records with keys are assigned by hash, those without keys round-robin."""

import sys

import pytest

from zkconsumer.errors import ConfigError
from zkconsumer.produce.partitioner import DEFAULT_PARTITIONER, PARTITIONERS, Chooser, key_hash


def chooser(partitions: list[int], available: list[int], start: int = 0) -> Chooser:
    """Return a chooser whose hash is the key's length."""
    return Chooser(partitions, available=available, hash_of=len, start=start)


def test_keyed_records_are_assigned_by_hash_whatever_is_available() -> None:
    """A key keeps its partition while that has no leader, or its order would break."""
    chosen = chooser([0, 1, 2], [0])
    assert [chosen.choose(b"k" * size) for size in range(5)] == [0, 1, 2, 0, 1]


def test_partition_ids_may_have_gaps() -> None:
    """The hash selects from the existing ids."""
    assert chooser([0, 4, 9], [0, 4, 9]).choose(b"kk") == 9


def test_keyless_records_are_spread_over_available_partitions() -> None:
    """Each task begins at another partition."""
    chosen = chooser([0, 1, 2, 3], [1, 2, 3], start=2)
    assert [chosen.choose(None) for _ in range(4)] == [3, 1, 2, 3]


def test_keyless_records_are_spread_over_all_partitions_if_none_is_available() -> None:
    """They are spread over all: the write waits for leaders, and fails if none comes."""
    chosen = chooser([0, 1], [])
    assert [chosen.choose(None) for _ in range(3)] == [0, 1, 0]


def test_an_unknown_partitioner_is_refused() -> None:
    """The error names the option and its values."""
    with pytest.raises(ConfigError, match=r"kafka\.partitioner\.class is 'Mine'.*murmur|Default"):
        key_hash("Mine")


def test_the_default_is_the_scala_producers() -> None:
    """It is that of the original's own configuration."""
    assert PARTITIONERS[0] == DEFAULT_PARTITIONER == "kafka.producer.DefaultPartitioner"


@pytest.mark.parametrize("partitioner", PARTITIONERS)
def test_long_keys_are_not_cached(partitioner: str) -> None:
    """A worker would cache as many long keys as short ones, and run out of memory."""
    hash_of = key_hash(partitioner)
    key = b"k" * 100_000
    before = sys.getrefcount(key)
    assert hash_of(key) == hash_of(key)
    assert sys.getrefcount(key) == before
