"""Steps from record to record, where an iteration spends nearly all of its time.

A consumer is its own iterator, so that code which overrides or wraps ``__next__`` gets every
record. So the code for each record must be fast: in the native core it is C, and calls the rest of
the consumer only when the records are used up or the lease has expired.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

from zkconsumer.clock import Clock
from zkconsumer.consumer.steps import PureSteps
from zkconsumer.records.consumer_record import ConsumerRecord
from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.streams.lease import Lease


class PureWalk:
    """Holds the state of an iteration. Its own thread uses it; any thread may stop it.

    Attributes:
        steps: the records to iterate over; None, which any thread may store, makes ``_find_next``
            run before the next record.
        lease: the time until which ``_find_next`` is not due.
    """

    __slots__ = ("lease", "steps")

    def __init__(self, clock: Clock) -> None:
        self.steps: PureSteps | None = None
        self.lease = Lease(clock)


class PureRecordIterator(Iterator[ConsumerRecord]):
    """Implements the iterator of a consumer. Thread: the caller's.

    Attributes:
        _walk: the state of the iteration.
    """

    _walk: PureWalk

    def __iter__(self) -> Self:
        # Every loop begins with a check.
        self._walk.steps = None
        return self

    def __next__(self) -> ConsumerRecord:
        while True:
            walk = self._walk
            lease = walk.lease
            # The clock first: a signal handler may run after this call, and change ``steps``.
            if lease.now_s() < lease.until_s and (steps := walk.steps) is not None:
                for record in steps.left:
                    steps.last = record
                    return record
            if not self._find_next():
                raise StopIteration

    @abstractmethod
    def _find_next(self) -> bool:
        """Find the next records; return False if the iteration has ended.

        Called when the records are used up, when the lease has expired, and after another thread
        stopped the walk.
        """


# mypy sees one type: both have the same methods.
if TYPE_CHECKING or ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core

    Walk = _core.Walk
    RecordIterator = _core.RecordIterator
else:
    Walk = PureWalk
    RecordIterator = PureRecordIterator

__all__ = ["PureRecordIterator", "PureWalk", "RecordIterator", "Walk"]
