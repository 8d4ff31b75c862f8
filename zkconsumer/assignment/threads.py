"""Generate the threads of a group in text order, as needed. Pure.

A member may register up to 2,147,483,647 streams: threads are counted, and only the first ones are
generated. More threads than partitions get none anyway.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from zkconsumer.model import ConsumerThreadId, utf16_key


class Threads:
    """All threads that read a topic, sorted as text: thread 10 of a member comes before thread 2.

    Two objects are equal if they have the same threads.

    Attributes:
        counts: the number of threads of each member, by consumer id.
    """

    __slots__ = ("_first", "_rest", "counts")

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = counts
        self._first: list[ConsumerThreadId] = []
        self._rest: Iterator[ConsumerThreadId] | None = None

    @property
    def count(self) -> int:
        """The number of threads."""
        return sum(self.counts.values())

    def first(self, number: int) -> list[ConsumerThreadId]:
        """Return the first ``number`` threads, or all if there are fewer."""
        if self._rest is None:
            self._rest = _in_order({name: (0, count) for name, count in self.counts.items()})
        missing = number - len(self._first)
        if missing > 0:
            self._first.extend(islice(self._rest, missing))
        return self._first[:number]

    def __iter__(self) -> Iterator[ConsumerThreadId]:
        return _in_order({name: (0, count) for name, count in self.counts.items()})

    def __contains__(self, thread: object) -> bool:
        if not isinstance(thread, ConsumerThreadId):
            return False
        return 0 <= thread.thread < self.counts.get(thread.consumer_id, 0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Threads) and self.counts == other.counts

    def __hash__(self) -> int:
        return hash(frozenset(self.counts.items()))

    def __repr__(self) -> str:
        return f"Threads({dict(self.counts)!r})"

    def without(self, other: "Threads") -> tuple[int, Iterator[ConsumerThreadId]]:
        """Return the number of threads that ``other`` lacks, and these threads in text order."""
        spans = {
            name: (other.counts.get(name, 0), count)
            for name, count in self.counts.items()
            if count > other.counts.get(name, 0)
        }
        return sum(high - low for low, high in spans.values()), _in_order(spans)


def union(subscriptions: Iterable[Threads]) -> Threads:
    """Return all threads that read one of several topics."""
    counts: dict[str, int] = {}
    for subscription in subscriptions:
        for name, count in subscription.counts.items():
            counts[name] = max(count, counts.get(name, 0))
    return Threads(counts)


def _in_order(spans: Mapping[str, tuple[int, int]]) -> Iterator[ConsumerThreadId]:
    """Return the threads of several members in text order, a range of numbers of each member."""
    return heapq.merge(
        *(_of_member(name, low, high) for name, (low, high) in spans.items()),
        key=lambda thread: utf16_key(str(thread)),
    )


def _of_member(consumer_id: str, low: int, high: int) -> Iterator[ConsumerThreadId]:
    return (ConsumerThreadId(consumer_id, number) for number in text_order(low, high))


def text_order(low: int, high: int) -> Iterator[int]:
    """Generate the numbers from ``low`` to below ``high``, sorted as text."""
    if low <= 0 < high:
        yield 0
    waiting = list(range(9, 0, -1))
    while waiting:
        number = waiting.pop()
        if not _has_any(number, low, high):
            continue
        if number >= low:
            yield number
        waiting.extend(range(number * 10 + 9, number * 10 - 1, -1))


def _has_any(prefix: int, low: int, high: int) -> bool:
    """Return whether a number in the range begins with these digits."""
    begin, end = prefix, prefix + 1
    while begin < high:
        if end > low:
            return True
        begin, end = begin * 10, end * 10
    return False
