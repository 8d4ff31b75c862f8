"""Detects partitions that were created while we watched: new topics, and added partitions.

A partition is old if every view of its topic has shown it, from the first on. Everything in a new
partition was written since we began to watch, so ``latest`` would skip records that the caller is
waiting for. Pure.

Source: Spark ``KafkaMicroBatchStream``, which reads new partitions from their beginning; KIP-1327.
"""

from typing import Final

from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import TopicPartition

LEAST_LAPSE_MS: Final = 600_000
"""Minimum time, ms, for which a partition counts as new: a member that takes it over from a
member that committed nothing reads it whole. Later the reset policy applies, as in a group that
never commits.
"""

_ABSENT: Final = frozenset(
    {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE},
)
"""Error codes of a topic without partitions: it does not exist, or is being created."""


class NewPartitions:
    """Tracks the partitions of the watched topics from view to view.

    Args:
        lapse_ms: how long a partition counts as new after it was first seen.
    """

    def __init__(self, lapse_ms: int = LEAST_LAPSE_MS) -> None:
        self._lapse_ms = lapse_ms
        self._old: dict[str, frozenset[int]] = {}
        self._seen_ms: dict[TopicPartition, int] = {}
        self._unclear: set[str] = set()
        self._covered_all = False

    def watch(self, topics: frozenset[str] | None) -> None:
        """Forget topics that are no longer watched: they start over if watched again."""
        if topics is None:
            return
        self._covered_all = False
        self._old = {topic: ids for topic, ids in self._old.items() if topic in topics}
        self._seen_ms = {tp: ms for tp, ms in self._seen_ms.items() if tp.topic in topics}
        self._unclear &= topics

    def record(self, view: ClusterView, watched: frozenset[str] | None, now_ms: int) -> None:
        """Record the next view.

        Args:
            view: the view.
            watched: the topics requested; None: all.
            now_ms: the time of the view.
        """
        topics = view.partitions.keys() | self._old.keys() if watched is None else watched
        for topic in topics:
            self._record_topic(topic, view, now_ms)
        self._covered_all = watched is None

    def is_new(self, tp: TopicPartition, now_ms: int) -> bool | None:
        """Return whether a partition was or will be created after the first view; None: unknown."""
        if tp.topic in self._unclear:
            return False
        old = self._old.get(tp.topic)
        if old is None:
            return True if self._covered_all else None
        if tp.partition in old:
            return False
        seen_ms = self._seen_ms.get(tp)
        return seen_ms is None or now_ms - seen_ms < self._lapse_ms

    def _record_topic(self, topic: str, view: ClusterView, now_ms: int) -> None:
        ids = frozenset(view.partitions.get(topic, ()))
        if not ids and view.errors.get(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) not in _ABSENT:
            # Perhaps we are not authorised: the existing partitions are unknown.
            if topic not in self._old:
                self._unclear.add(topic)
            return
        self._unclear.discard(topic)
        # If all topics were covered before, a topic that was not in a view did not exist.
        first = frozenset[int]() if self._covered_all else ids
        old = self._old[topic] = self._old.get(topic, first) & ids
        came = {TopicPartition(topic, partition) for partition in ids - old}
        for tp in [tp for tp in self._seen_ms if tp.topic == topic and tp not in came]:
            # The partition was deleted: if it comes back, it is a new one.
            del self._seen_ms[tp]
        for tp in came:
            self._seen_ms.setdefault(tp, now_ms)
