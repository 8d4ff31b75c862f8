"""The subscription of a consumer: topics, a pattern of topics, or assigned partitions. Pure.

A consumer has only one kind at a time: to change the kind, the caller unsubscribes first.

Source: Kafka ``SubscriptionState``.
"""

from collections.abc import Callable, Iterable
from enum import Enum

from zkconsumer.cluster.view import ClusterView
from zkconsumer.consumer.arguments import partitions_of, topic_matcher_of, topics_of
from zkconsumer.errors import IllegalArgumentError, IllegalState
from zkconsumer.model import TopicPartition

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state"})
"""The internal topics: brokers before 0.10 don't mark them."""


class Mode(Enum):
    """How the partitions to read are chosen."""

    NONE = "nothing"
    TOPICS = "topics"
    PATTERN = "a pattern"
    ASSIGNED = "partitions"


class Subscription:
    """Holds the caller's subscription or assignment. Thread: the caller's.

    Attributes:
        mode: how partitions are chosen.
        topics: the topics subscribed, or known to match the pattern.
        assigned: the partitions given to ``assign``.
    """

    def __init__(self, *, exclude_internal: bool = True) -> None:
        self._exclude_internal = exclude_internal
        self._matches: Callable[[str], bool] | None = None
        self.mode = Mode.NONE
        self.topics: frozenset[str] = frozenset()
        self.assigned: frozenset[TopicPartition] = frozenset()

    @property
    def is_group_managed(self) -> bool:
        """Whether the group decides which partitions are read."""
        return self.mode in (Mode.TOPICS, Mode.PATTERN)

    def subscribe(self, topics: object, pattern: object) -> None:
        """Subscribe to topics or a pattern, in place of the earlier subscription.

        Raises:
            ConfigError: neither was given, or it is invalid.
            IllegalState: both were given, or partitions are assigned.
        """
        if pattern is not None and topics:
            raise IllegalState("subscribe to topics or to a pattern, not to both")
        if pattern is not None:
            matches = topic_matcher_of(pattern)
            self._enter(Mode.PATTERN)
            self._matches, self.topics = matches, frozenset()
            return
        names = topics_of(topics)
        if not names:
            raise IllegalArgumentError(
                "nothing to subscribe to: give topics or a pattern, or call unsubscribe()"
            )
        self._enter(Mode.TOPICS)
        self._matches, self.topics = None, names

    def assign(self, partitions: Iterable[object]) -> None:
        """Assign one or more partitions, in place of the earlier ones.

        Raises:
            ConfigError: an item is no partition.
            IllegalState: topics are subscribed.
        """
        chosen = partitions_of(partitions)
        self._enter(Mode.ASSIGNED)
        self.assigned = frozenset(chosen)

    def clear(self) -> None:
        """Clear the subscription or assignment."""
        self.mode = Mode.NONE
        self._matches = None
        self.topics = frozenset()
        self.assigned = frozenset()

    def refresh_matches(self, view: ClusterView) -> bool:
        """Update the topics that match the pattern; return whether they changed."""
        matches = self._matches
        if matches is None:
            return False
        hidden = INTERNAL_TOPICS | view.internal if self._exclude_internal else frozenset()
        topics = frozenset(filter(matches, view.partitions.keys() - hidden))
        changed, self.topics = topics != self.topics, topics
        return changed

    def watched(self) -> frozenset[str] | None:
        """Return the topics whose metadata is needed; None: all topics."""
        if self.mode is Mode.PATTERN:
            return None
        return self.topics | {tp.topic for tp in self.assigned}

    def _enter(self, mode: Mode) -> None:
        if self.mode not in (Mode.NONE, mode):
            raise IllegalState(
                f"this consumer already reads {self.mode.value}: topics, a pattern and partitions "
                "can't be mixed; call unsubscribe() first"
            )
        self.mode = mode
