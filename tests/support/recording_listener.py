"""A rebalance listener that records its calls, and calls back a test."""

from collections.abc import Callable, Mapping

from zkconsumer.model import ConsumerThreadId

Share = Mapping[str, frozenset[int]]
Assignment = Mapping[str, Mapping[int, ConsumerThreadId]]


def _nothing(_reported: object) -> None:
    pass


class RecordingListener:
    """A ``ConsumerRebalanceListener`` that records its calls.

    Args:
        on_release: called with the partitions to release, after they were recorded.
        on_start: called with the assignment, after it was recorded.

    Attributes:
        released: the partitions of each release.
        assigned: each assignment of the whole group.
        consumer_ids: the consumer ids it was called with.
    """

    def __init__(
        self,
        on_release: Callable[[Share], object] = _nothing,
        on_start: Callable[[Assignment], object] = _nothing,
    ) -> None:
        self.released: list[Share] = []
        self.assigned: list[Assignment] = []
        self.consumer_ids: set[str] = set()
        self._on_release = on_release
        self._on_start = on_start

    def before_releasing_partitions(self, ownership: Share) -> None:
        """See ``ConsumerRebalanceListener``."""
        self.released.append(ownership)
        self._on_release(ownership)

    def before_starting_fetchers(self, consumer_id: str, global_assignment: Assignment) -> None:
        """See ``ConsumerRebalanceListener``."""
        self.consumer_ids.add(consumer_id)
        self.assigned.append(global_assignment)
        self._on_start(global_assignment)


def plainly(assignment: Assignment) -> dict[str, dict[int, str]]:
    """Return an assignment with thread ids as text."""
    return {
        topic: {number: str(thread) for number, thread in of_topic.items()}
        for topic, of_topic in assignment.items()
    }
