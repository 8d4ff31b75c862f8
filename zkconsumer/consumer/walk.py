"""Steps an iteration from record to record, where it spends all of its time.

A consumer is its own iterator, so that code which overrides or wraps ``__next__`` gets every
record. Therefore the code for each record is in C with the native core; it calls the rest of the
consumer only at the end of a partition's records or of its lease.
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
    """The state of an iteration: used by its own thread, and stopped by others.

    Attributes:
        steps: the records to iterate over; None: ``_look_around`` is due before the next one. Any
            thread may store that.
        lease: the time until which ``_look_around`` is not due.
    """

    __slots__ = ("lease", "steps")

    def __init__(self, clock: Clock) -> None:
        self.steps: PureSteps | None = None
        self.lease = Lease(clock)


class PureRecordIterator(Iterator[ConsumerRecord]):
    """The iterator part of a consumer.

    Attributes:
        _walk: its state.
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
            # The clock first: a signal handler may run after it, and change the next record.
            if lease.now_s() < lease.until_s and (steps := walk.steps) is not None:
                for record in steps.left:
                    steps.last = record
                    return record
            if not self._look_around():
                raise StopIteration

    @abstractmethod
    def _look_around(self) -> bool:
        """Find the next records; return False if the iteration is over.

        Called when the steps are used up, when the lease has expired, and when another thread
        stopped the walk.
        """


# One type for mypy: both have the same methods.
if TYPE_CHECKING or ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core

    Walk = _core.Walk
    RecordIterator = _core.RecordIterator
else:
    Walk = PureWalk
    RecordIterator = PureRecordIterator

__all__ = ["PureRecordIterator", "PureWalk", "RecordIterator", "Walk"]
