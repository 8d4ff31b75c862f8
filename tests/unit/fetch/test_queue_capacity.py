"""Early requests are only for queues that took the last responses at once."""

from tests.support.chunks import ListSink
from zkconsumer.fetch.claim import ChunkSink
from zkconsumer.fetch.stream_partition import QueueBounds, QueueCapacity


class Turns:
    """The turns of a fetcher whose responses have a set for each of its queues."""

    def __init__(self, *sinks: ListSink) -> None:
        self.capacity = QueueCapacity(lambda: None)
        self._sinks = sinks

    def turn(self, *busy: ChunkSink) -> list[bool]:
        """Take a turn with these queues full before it; return which ones get early requests."""
        self.capacity.begin_turn(busy)
        bounds = [QueueBounds(self.capacity, sink) for sink in self._sinks]
        for bound in bounds:
            bound.expect_set()
        return [bound.size_at(0) > 0 for bound in bounds]


def test_a_queue_that_takes_responses_at_once_is_requested_early_for() -> None:
    """One response that has to wait starts the count again, for this queue alone."""
    one, other = ListSink(), ListSink()
    turns = Turns(one, other)
    assert [turns.turn() for _ in range(5)] == [[False] * 2] * 4 + [[True] * 2]
    assert turns.turn(one) == [False, True]
    # The set that came in that turn counts again.
    assert [turns.turn() for _ in range(4)] == [[False, True]] * 3 + [[True, True]]


def test_nothing_is_requested_early_for_a_full_queue() -> None:
    """It has taken everything so far, and will not take the next set."""
    sink = ListSink()
    turns = Turns(sink)
    for _ in range(5):
        turns.turn()
    sink.room = 0
    assert turns.turn() == [False]


def test_a_queue_without_a_set_is_requested_for_as_ever() -> None:
    """No set of it can stay packed."""
    capacity = QueueCapacity(lambda: None)
    sink = ListSink()
    assert QueueBounds(capacity, sink).size_at(0) > 0
    capacity.begin_turn([sink])
    assert QueueBounds(capacity, sink).size_at(0) == 0
