"""What a consumer reads: topics, a pattern of topics, or partitions of its own choice. Pure.

Only one of them at a time: whoever wants another unsubscribes first.

Source: Kafka ``SubscriptionState``.
"""

from collections.abc import Callable, Iterable
from enum import Enum

from zkconsumer.cluster.view import ClusterView
from zkconsumer.consumer.arguments import partitions_of, topic_matcher_of, topics_of
from zkconsumer.errors import IllegalArgumentError, IllegalState
from zkconsumer.model import TopicPartition

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state"})
"""For brokers before 0.10, which don't say which topics are internal."""


class Mode(Enum):
    """How partitions are chosen."""

    NONE = "nothing"
    TOPICS = "topics"
    PATTERN = "a pattern"
    ASSIGNED = "partitions"


class Subscription:
    """What the caller asked for last.

    Args:
        exclude_internal: whether patterns leave out the cluster's own topics.

    Attributes:
        mode: how partitions are chosen.
        topics: the topics subscribed; those that match so far, with a pattern.
        assigned: the partitions that were chosen by ``assign``.
    """

    def __init__(self, *, exclude_internal: bool = True) -> None:
        self._exclude_internal = exclude_internal
        self._matches: Callable[[str], bool] | None = None
        self.mode = Mode.NONE
        self.topics: frozenset[str] = frozenset()
        self.assigned: frozenset[TopicPartition] = frozenset()

    @property
    def is_group_managed(self) -> bool:
        """Whether others decide which partitions are ours."""
        return self.mode in (Mode.TOPICS, Mode.PATTERN)

    def subscribe(self, topics: object, pattern: object) -> None:
        """To topics or to a pattern, in place of what was subscribed before.

        Raises:
            ConfigError: neither was given, or one that can't be.
            IllegalState: both were given, or something else is chosen in another way.
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
                "subscribe to what? Give topics or a pattern; or unsubscribe()"
            )
        self._enter(Mode.TOPICS)
        self._matches, self.topics = None, names

    def assign(self, partitions: Iterable[object]) -> None:
        """These partitions, in place of those before; at least one.

        Raises:
            ConfigError: one of them is none.
            IllegalState: topics are subscribed.
        """
        chosen = partitions_of(partitions)
        self._enter(Mode.ASSIGNED)
        self.assigned = frozenset(chosen)

    def clear(self) -> None:
        """Nothing any more."""
        self.mode = Mode.NONE
        self._matches = None
        self.topics = frozenset()
        self.assigned = frozenset()

    def saw(self, view: ClusterView) -> bool:
        """Take what a pattern matches now from a view of all topics; whether that changed it."""
        matches = self._matches
        if matches is None:
            return False
        hidden = INTERNAL_TOPICS | view.internal if self._exclude_internal else frozenset()
        topics = frozenset(filter(matches, view.partitions.keys() - hidden))
        changed, self.topics = topics != self.topics, topics
        return changed

    def watched(self) -> frozenset[str] | None:
        """The topics to know about; None for all that there are."""
        if self.mode is Mode.PATTERN:
            return None
        return self.topics | {tp.topic for tp in self.assigned}

    def _enter(self, mode: Mode) -> None:
        if self.mode not in (Mode.NONE, mode):
            raise IllegalState(
                f"this consumer reads {self.mode.value} already: topics, a pattern and partitions "
                "can't be mixed; call unsubscribe() before"
            )
        self.mode = mode
