"""The caller's word in a rebalance.

Source: Kafka 0.9.0 ``ConsumerRebalanceListener`` of ``kafka.javaapi.consumer`` (KAFKA-345,
KAFKA-4521 for what goes wrong without it).
"""

import logging
from collections.abc import Collection, Mapping
from typing import Protocol

from zkconsumer.connector.plan import Ownership
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.observe import ErrorSeen, Observation

log = logging.getLogger(__name__)


class ConsumerRebalanceListener(Protocol):
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


class ListenerCalls:
    """Calls the listener, if there is one, and lets nothing of its errors through."""

    def __init__(self, consumer_id: str, observation: Observation) -> None:
        self._consumer_id = consumer_id
        self._observation = observation
        self.listener: ConsumerRebalanceListener | None = None

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
