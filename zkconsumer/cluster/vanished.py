"""Topics that were there, and are not any more, by the word of one broker. Pure.

A broker that has just started knows of nothing for a moment, and one that lags of less than others:
a group would share out anew, and again, for a topic that was there all the time. So it is believed
when the topic stays away.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import Broker, TopicPartition

BELIEVED_AFTER_MS: Final = 3_000
_UNKNOWN: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class VanishedTopics:
    """Since when topics are away."""

    def __init__(self) -> None:
        self._since_ms: dict[str, int] = {}

    def kept(
        self, before: ClusterView, after: ClusterView, watched: frozenset[str] | None, now_ms: int
    ) -> ClusterView:
        """The later view, with what has vanished, but not for long enough.

        Args:
            before: what this gave before.
            after: what a broker said now.
            watched: the topics that were asked about; None: all.
            now_ms: when.
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
        """Whether some are away, so that it is better to ask again soon."""
        return bool(self._since_ms)


def _with_topics(before: ClusterView, after: ClusterView, topics: Collection[str]) -> ClusterView:
    """A view with these topics as an older one had them."""
    leaders = dict(after.leaders)
    leaderless = dict(after.leaderless)
    for topic in topics:
        for partition in before.partitions[topic]:
            tp = TopicPartition(topic, partition)
            leader = _still_there(before.leaders.get(tp), after.brokers)
            if leader is None:
                leaderless[tp] = ErrorCode.LEADER_NOT_AVAILABLE
            else:
                leaders[tp] = leader
    epochs = {tp: epoch for tp, epoch in before.leader_epochs.items() if tp.topic in topics}
    return replace(
        after,
        leaders=leaders,
        leaderless=leaderless,
        errors={topic: code for topic, code in after.errors.items() if topic not in topics},
        partitions={**after.partitions, **{topic: before.partitions[topic] for topic in topics}},
        leader_epochs={**after.leader_epochs, **epochs},
        internal=after.internal | (before.internal & frozenset(topics)),
        topic_ids={
            **after.topic_ids,
            **{topic: topic_id for topic, topic_id in before.topic_ids.items() if topic in topics},
        },
    )


def _still_there(leader: Broker | None, brokers: Mapping[int, Broker]) -> Broker | None:
    # A broker of 0.8 without topics names no brokers either: that says nothing of them.
    if leader is None or not brokers:
        return leader
    return brokers.get(leader.id)
