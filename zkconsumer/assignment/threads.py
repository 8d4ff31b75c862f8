"""The threads of a group in text order, as many of them as anyone needs. Pure.

How many streams a member has is what it registered, up to 2,147,483,647: threads are counted, and
only those that come first are made. More of them than partitions never get any.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from zkconsumer.model import ConsumerThreadId, utf16_key


class Threads:
    """All threads that read a topic, sorted as text: thread 10 of a member comes before thread 2.

    Two are equal if they hold the same threads.

    Attributes:
        counts: how many each member has, by consumer id.
    """

    __slots__ = ("_first", "_rest", "counts")

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = counts
        self._first: list[ConsumerThreadId] = []
        self._rest: Iterator[ConsumerThreadId] | None = None

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(self.counts.values())

    def first(self, number: int) -> list[ConsumerThreadId]:
        """Those that come first: so many, or all where there are fewer."""
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
        """How many of these are not among the others, and they themselves, in text order."""
        spans = {
            name: (other.counts.get(name, 0), count)
            for name, count in self.counts.items()
            if count > other.counts.get(name, 0)
        }
        return sum(high - low for low, high in spans.values()), _in_order(spans)


def union(many: Iterable[Threads]) -> Threads:
    """All threads that read one of several topics."""
    counts: dict[str, int] = {}
    for subscription in many:
        for name, count in subscription.counts.items():
            counts[name] = max(count, counts.get(name, 0))
    return Threads(counts)


def _in_order(spans: Mapping[str, tuple[int, int]]) -> Iterator[ConsumerThreadId]:
    """The threads of several members in text order; of each a span of numbers."""
    return heapq.merge(
        *(_of_member(name, low, high) for name, (low, high) in spans.items()),
        key=lambda thread: utf16_key(str(thread)),
    )


def _of_member(consumer_id: str, low: int, high: int) -> Iterator[ConsumerThreadId]:
    return (ConsumerThreadId(consumer_id, number) for number in text_order(low, high))


def text_order(low: int, high: int) -> Iterator[int]:
    """The numbers from ``low`` to below ``high``, sorted as text; nothing else is gone through."""
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
    """Return whether one of the numbers begins with these digits."""
    begin, end = prefix, prefix + 1
    while begin < high:
        if end > low:
            return True
        begin, end = begin * 10, end * 10
    return False
