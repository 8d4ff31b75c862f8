"""Keeps topics for a while after they vanish from one broker's metadata. Pure.

A broker that has just started knows no topics for a moment, and one that lags knows fewer than
others: a group would rebalance twice for a topic that existed all the time. So a topic counts
as deleted only once it has been missing for ``BELIEVED_AFTER_MS``.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from zkconsumer.cluster.view import ClusterView, limited_to
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import Broker, TopicPartition

BELIEVED_AFTER_MS: Final = 3_000
_UNKNOWN: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class VanishedTopics:
    """Tracks which topics are missing, and since when."""

    def __init__(self) -> None:
        self._since_ms: dict[str, int] = {}

    def kept(
        self, before: ClusterView, after: ClusterView, watched: frozenset[str] | None, now_ms: int
    ) -> ClusterView:
        """Return the later view, plus the topics that have not been missing for long enough.

        Args:
            before: the view returned before.
            after: a broker's latest view.
            watched: the topics requested; None: all.
            now_ms: the time.
        """
        away = {
            topic
            for topic in before.partitions
            if topic not in after.partitions
            and after.errors.get(topic, _UNKNOWN) == _UNKNOWN
            and (watched is None or topic in watched)
        }
        self._since_ms = {topic: self._since_ms.get(topic, now_ms) for topic in away}
        kept = {
            topic
            for topic, since_ms in self._since_ms.items()
            if now_ms - since_ms < BELIEVED_AFTER_MS
        }
        return _with_topics(before, after, kept) if kept else after

    @property
    def some(self) -> bool:
        """Whether any topics are missing, so that metadata should be requested again soon."""
        return bool(self._since_ms)


def _with_topics(before: ClusterView, after: ClusterView, topics: Collection[str]) -> ClusterView:
    """Return a view with these topics as in an older one."""
    kept = limited_to(before, topics)
    leaders = dict(after.leaders)
    leaderless = dict(after.leaderless)
    for topic, numbers in kept.partitions.items():
        for partition in numbers:
            tp = TopicPartition(topic, partition)
            leader = _still_there(before.leaders.get(tp), after.brokers)
            if leader is None:
                leaderless[tp] = ErrorCode.LEADER_NOT_AVAILABLE
            else:
                leaders[tp] = leader
    return replace(
        after,
        leaders=leaders,
        leaderless=leaderless,
        errors={topic: code for topic, code in after.errors.items() if topic not in topics},
        partitions={**after.partitions, **kept.partitions},
        leader_epochs={**after.leader_epochs, **kept.leader_epochs},
        internal=after.internal | kept.internal,
        topic_ids={**after.topic_ids, **kept.topic_ids},
    )


def _still_there(leader: Broker | None, brokers: Mapping[int, Broker]) -> Broker | None:
    # A broker of 0.8 without topics lists no brokers either: that does not mean they are gone.
    if leader is None or not brokers:
        return leader
    return brokers.get(leader.id)
