"""Calls the caller's listener in a rebalance.

Source: Kafka 0.9.0 ``ConsumerRebalanceListener`` of ``kafka.javaapi.consumer`` (KAFKA-345,
KAFKA-4521 for what goes wrong without it).
"""

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from zkconsumer.membership.zookeeper.core.plan import Ownership
from zkconsumer.model import ConsumerThreadId, TopicPartition, numbers_by_topic
from zkconsumer.observe import ErrorSeen, Observation

log = logging.getLogger(__name__)


class ReleaseListener(Protocol):
    """The listener that the control thread calls in a rebalance, which waits for it.

    It may call ``commit_offsets`` and ``shutdown`` of its connector. It must not wait for another
    thread that is inside ``commit_offsets``, or (with ``delivery=at_most_once``) one that takes the
    next message of a stream: those wait for the control thread. What it raises is logged and
    reported to the observers; the rebalance goes on.
    """

    def before_releasing_partitions(self, ownership: Mapping[str, frozenset[int]]) -> None:
        """Prepare for handing partitions over; their delivery has stopped.

        Finish their messages and commit them: the next owner starts at what is committed. If this
        raises, these partitions are not committed automatically, so that unfinished messages come
        again. Not called in a shutdown while ZooKeeper is out of reach: nothing could be committed
        or released then.

        Args:
            ownership: the partitions to be released, by topic, without those that stay.
        """
        ...

    def before_starting_fetchers(
        self,
        consumer_id: str,
        global_assignment: Mapping[str, Mapping[int, ConsumerThreadId]],
    ) -> None:
        """Prepare for messages after a claim; also called if only other members' shares changed.

        Args:
            consumer_id: this member.
            global_assignment: the owner of each partition in the group, by topic and partition.
        """
        ...


class ListenerCalls:
    """Calls the listener, if there is one; logs and reports its errors.

    Attributes:
        listener: the caller's; None: none.
        on_lost: called with partitions that were lost without a hand-over, of which a
            ``ReleaseListener`` is not notified; it must not raise.
    """

    def __init__(self, consumer_id: str, observation: Observation) -> None:
        self._consumer_id = consumer_id
        self._observation = observation
        self.listener: ReleaseListener | None = None
        self.on_lost: Callable[[frozenset[TopicPartition]], None] | None = None

    def releasing(self, owned: Collection[TopicPartition]) -> bool:
        """Call the listener before a release; return False if it failed."""
        if self.listener is None or not owned:
            return True
        by_topic = numbers_by_topic(owned)
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
        """Report partitions that were lost, after the fact."""
        if self.on_lost is not None and partitions:
            self.on_lost(frozenset(partitions))

    def starting(self, assignment: Ownership) -> None:
        """Call the listener before a start."""
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
