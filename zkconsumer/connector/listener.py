"""The caller's word in a rebalance.

Source: Kafka 0.9.0 ``ConsumerRebalanceListener`` of ``kafka.javaapi.consumer`` (KAFKA-345,
KAFKA-4521 for what goes wrong without it).
"""

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from zkconsumer.connector.plan import Ownership
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.observe import ErrorSeen, Observation

log = logging.getLogger(__name__)


class ReleaseListener(Protocol):
    """Called by the connector's own thread, in the middle of a rebalance that waits for it.

    It may call ``commit_offsets`` and ``shutdown`` of its connector. It must not wait for another
    thread that is inside of ``commit_offsets``, or (with ``delivery=at_most_once``) asks a stream
    for its next message: those wait for the connector's thread. What it raises is logged and
    reported to the observers; the rebalance goes on.
    """

    def before_releasing_partitions(self, ownership: Mapping[str, frozenset[int]]) -> None:
        """Before partitions are handed over: nothing of them is delivered any more.

        Finish what you have of them and commit it: afterwards others read them from what is
        committed. If it raises, these partitions are not committed automatically, so that what
        was not finished comes again. Not called in a shutdown while ZooKeeper is out of reach:
        nothing could be committed or released then.

        Args:
            ownership: the partitions to be released, by topic. Those that stay are not among them.
        """
        ...

    def before_starting_fetchers(
        self,
        consumer_id: str,
        global_assignment: Mapping[str, Mapping[int, ConsumerThreadId]],
    ) -> None:
        """After the claim, before messages come; also where only other members' shares changed.

        Args:
            consumer_id: this member.
            global_assignment: who reads what in the whole group, by topic and partition.
        """
        ...


class ConsumerRebalanceListener:
    """What to derive a listener from, for either consumer; methods that you don't need do nothing.

    ``KafkaConsumer`` calls those that begin with ``on``, out of ``poll``, ``unsubscribe`` and
    ``close``, in the caller's thread; they may commit, seek, pause and ask for positions, and may
    not poll or close. ``ZookeeperConsumerConnector`` calls the other two, in a thread of its own
    (see ``ReleaseListener``).

    Source: Kafka ``ConsumerRebalanceListener`` (KIP-429), and that of ``kafka.javaapi.consumer``.
    """

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Before partitions go to others: they are ours still, and commits are accepted.

        What was handed out of them is committed already with ``enable_auto_commit``.

        Args:
            revoked: which; not those that stay.
        """

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """After partitions came, before anything of them is handed out: the place to ``seek``.

        Args:
            assigned: which; not those that we had. May be empty.
        """

    def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        """Partitions went without our doing, and others may have them: commits are refused.

        By default as ``on_partitions_revoked``.

        Args:
            lost: which.
        """
        self.on_partitions_revoked(lost)

    def before_releasing_partitions(self, ownership: Mapping[str, frozenset[int]]) -> None:
        """See ``ReleaseListener``."""

    def before_starting_fetchers(
        self,
        consumer_id: str,
        global_assignment: Mapping[str, Mapping[int, ConsumerThreadId]],
    ) -> None:
        """See ``ReleaseListener``."""


class ListenerCalls:
    """Calls the listener, if there is one, and lets nothing of its errors through.

    Attributes:
        listener: the caller's.
        on_lost: hears of partitions that went without a hand-over, which a listener of this API
            does not; it raises nothing.
    """

    def __init__(self, consumer_id: str, observation: Observation) -> None:
        self._consumer_id = consumer_id
        self._observation = observation
        self.listener: ReleaseListener | None = None
        self.on_lost: Callable[[frozenset[TopicPartition]], None] | None = None

    def releasing(self, owned: Collection[TopicPartition]) -> bool:
        """Before the release; False where the listener failed."""
        if self.listener is None or not owned:
            return True
        by_topic: dict[str, set[int]] = {}
        for topic, partition in owned:
            by_topic.setdefault(topic, set()).add(partition)
        try:
            self.listener.before_releasing_partitions(
                {topic: frozenset(numbers) for topic, numbers in by_topic.items()}
            )
        except Exception as error:  # the caller's code
            log.exception("%s: the listener failed before a release", self._consumer_id)
            self._observation.report(ErrorSeen("listener before a release", error))
            return False
        return True

    def losing(self, partitions: Collection[TopicPartition]) -> None:
        """Partitions are not ours any more, and nobody could be asked before."""
        if self.on_lost is not None and partitions:
            self.on_lost(frozenset(partitions))

    def starting(self, assignment: Ownership) -> None:
        """Before the start."""
        if self.listener is None:
            return
        by_topic: dict[str, dict[int, ConsumerThreadId]] = {}
        for (topic, partition), thread in sorted(assignment.items()):
            by_topic.setdefault(topic, {})[partition] = thread
        try:
            self.listener.before_starting_fetchers(self._consumer_id, by_topic)
        except Exception as error:  # the caller's code
            log.exception("%s: the listener failed before a start", self._consumer_id)
            self._observation.report(ErrorSeen("listener before a start", error))
