"""Which partitions came to be while we looked: topics that were made, partitions that were added.

A partition is old where every look at its topic has shown it, from the first on. Whatever lies in
a new one was written since we began to look, so that ``latest`` would pass over what its caller
waits for. Pure.

Source: Spark ``KafkaMicroBatchStream``, which reads new partitions from their beginning; KIP-1327.
"""

from typing import Final

from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import TopicPartition

LEAST_LAPSE_MS: Final = 600_000
"""For so long a partition is new: whoever gets it from another reader, who has committed nothing,
reads it whole. Later he goes by the policy, as in a group that never commits."""

_ABSENT: Final = frozenset(
    {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE},
)
"""What brokers say of a topic without partitions: there is none; or it is just being made."""


class NewPartitions:
    """What each look at the watched topics has shown.

    Args:
        lapse_ms: how long a partition counts as new once it was seen.
    """

    def __init__(self, lapse_ms: int = LEAST_LAPSE_MS) -> None:
        self._lapse_ms = lapse_ms
        self._old: dict[str, frozenset[int]] = {}
        self._seen_ms: dict[TopicPartition, int] = {}
        self._unclear: set[str] = set()
        self._saw_all = False

    def watch(self, topics: frozenset[str] | None) -> None:
        """Forget those that are not watched any more: who comes back to them looks anew."""
        if topics is None:
            return
        self._saw_all = False
        self._old = {topic: ids for topic, ids in self._old.items() if topic in topics}
        self._seen_ms = {tp: ms for tp, ms in self._seen_ms.items() if tp.topic in topics}
        self._unclear &= topics

    def saw(self, view: ClusterView, watched: frozenset[str] | None, now_ms: int) -> None:
        """Take another look.

        Args:
            view: what it shows.
            watched: what was asked about; None: all topics.
            now_ms: when.
        """
        topics = view.partitions.keys() | self._old.keys() if watched is None else watched
        for topic in topics:
            self._saw_topic(topic, view, now_ms)
        self._saw_all = watched is None

    def is_new(self, tp: TopicPartition, now_ms: int) -> bool | None:
        """Whether it came, or is to come, after the first look; None: nobody has looked yet."""
        if tp.topic in self._unclear:
            return False
        old = self._old.get(tp.topic)
        if old is None:
            return True if self._saw_all else None
        if tp.partition in old:
            return False
        seen_ms = self._seen_ms.get(tp)
        return seen_ms is None or now_ms - seen_ms < self._lapse_ms

    def _saw_topic(self, topic: str, view: ClusterView, now_ms: int) -> None:
        ids = frozenset(view.partitions.get(topic, ()))
        if not ids and view.errors.get(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) not in _ABSENT:
            # Not authorised, perhaps: that says nothing of what there is.
            if topic not in self._old:
                self._unclear.add(topic)
            return
        self._unclear.discard(topic)
        # Where all topics were looked at before, one that nobody saw was not there.
        first = frozenset[int]() if self._saw_all else ids
        old = self._old[topic] = self._old.get(topic, first) & ids
        came = {TopicPartition(topic, partition) for partition in ids - old}
        for tp in [tp for tp in self._seen_ms if tp.topic == topic and tp not in came]:
            # It went, and is another one should it come back.
            del self._seen_ms[tp]
        for tp in came:
            self._seen_ms.setdefault(tp, now_ms)
