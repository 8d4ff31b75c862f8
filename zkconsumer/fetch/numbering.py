"""Assign a partition to one of a broker's fetchers by the original's arithmetic.

Source: Kafka 0.8.2.2 ``AbstractFetcherManager.getFetcherId``.
"""

from zkconsumer.assignment.java_order import string_hash
from zkconsumer.model import TopicPartition

_MIN_INT = -(2**31)


def fetcher_number(tp: TopicPartition, fetcher_count: int) -> int:
    """Return the number of this partition's fetcher, from 0 to ``fetcher_count`` - 1."""
    mixed = (31 * string_hash(tp.topic) + tp.partition) & 0xFFFFFFFF
    signed = mixed - 2**32 if mixed >= 2**31 else mixed
    return (0 if signed == _MIN_INT else abs(signed)) % fetcher_count
