"""Snapshots of topics that are created, grow and vanish: a partition is new if one lacked it."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.cluster.new_partitions import NewPartitions
from zkconsumer.cluster.view import NOTHING_KNOWN
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import TopicPartition

TOPICS = ("a", "b", "c")
LAPSE_MS = 5
Sizes = dict[str, int]

sizes = st.fixed_dictionaries(dict.fromkeys(TOPICS, st.integers(0, 3)))
"""The number of partitions of each topic; 0: the topic does not exist."""


@given(snapshots=st.lists(sizes, min_size=1, max_size=8), by_name=st.booleans())
def test_a_partition_is_new_if_a_snapshot_lacked_it(snapshots: list[Sizes], by_name: bool) -> None:
    """Only partitions that exist at the end count, until too much time has passed."""
    watched = frozenset(TOPICS) if by_name else None
    new = NewPartitions(LAPSE_MS)
    new.watch(watched)
    for now_ms, snapshot in enumerate(snapshots):
        partitions = {topic: tuple(range(count)) for topic, count in snapshot.items() if count}
        errors = {
            topic: int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            for topic, count in snapshot.items()
            if by_name and not count
        }
        new.record(replace(NOTHING_KNOWN, partitions=partitions, errors=errors), watched, now_ms)
        there = [TopicPartition(topic, n) for topic, ids in partitions.items() for n in ids]
        for tp in there:
            shown = [tp.partition < counts[tp.topic] for counts in snapshots[: now_ms + 1]]
            came_ms = max((at for at, is_shown in enumerate(shown) if not is_shown), default=-1) + 1
            expected = not all(shown) and now_ms - came_ms < LAPSE_MS
            assert new.is_new(tp, now_ms) is expected, (tp, now_ms, snapshots)
