"""Which of a broker's fetchers reads a partition."""

import pytest

from zkconsumer.assignment.java_order import string_hash
from zkconsumer.fetch.leader_finder import fetcher_number
from zkconsumer.model import TopicPartition


@pytest.mark.parametrize(("topic", "numbers"), [("big", [0, 1, 2, 3]), ("topic", [3, 2, 1, 0])])
def test_fetcher_numbers_equal_the_original_s(topic: str, numbers: list[int]) -> None:
    """With four fetchers, for partitions 0 to 3: what Kafka 0.8.2.2 computed."""
    assert [fetcher_number(TopicPartition(topic, p), 4) for p in range(4)] == numbers


def test_one_fetcher_reads_everything() -> None:
    """With the default of one fetcher per broker its number is 0."""
    assert {fetcher_number(TopicPartition(f"t{n}", n), 1) for n in range(50)} == {0}


def test_numbers_are_in_range_for_any_hash() -> None:
    """Negative and overflowing hashes give a number from 0 to count - 1."""
    topics = [f"topic-{n}" for n in range(200)]
    assert any(31 * string_hash(topic) > 2**31 for topic in topics)
    assert any(string_hash(topic) < 0 for topic in topics)
    numbers = {fetcher_number(TopicPartition(topic, 7), 3) for topic in topics}
    assert numbers == {0, 1, 2}


def test_the_smallest_int_counts_as_zero() -> None:
    """Java's ``abs`` of it is negative, and the original uses 0."""
    # "polygenelubricants" is a known text whose String.hashCode is the smallest int.
    assert string_hash("polygenelubricants") == -(2**31)
    # 31 times the smallest int wraps around to the smallest int again.
    assert fetcher_number(TopicPartition("polygenelubricants", 0), 7) == 0
    assert fetcher_number(TopicPartition("polygenelubricants", 1), 7) == (2**31 - 1) % 7
