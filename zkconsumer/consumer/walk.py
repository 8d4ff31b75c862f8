"""How an iteration goes from record to record, which is where all of its time is spent.

A consumer is its own iterator, so that whoever overrides or wraps ``__next__`` has every record
pass through it. What is called for each record is therefore in C where the native core is there; it
asks the rest of the consumer only when it has come to the end of something.
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
    """Where an iteration is, for its own thread, and what others stop it by.

    Args:
        clock: by which the lease runs.

    Attributes:
        steps: the records that it goes through; None: it has to look around before the next one.
            Any thread may store that.
        lease: until when it need not look around.
    """

    __slots__ = ("lease", "steps")

    def __init__(self, clock: Clock) -> None:
        self.steps: PureSteps | None = None
        self.lease = Lease(clock)


class PureRecordIterator(Iterator[ConsumerRecord]):
    """What a consumer is as an iterator.

    Attributes:
        _walk: where it is.
    """

    _walk: PureWalk

    def __iter__(self) -> Self:
        # Whoever begins a loop looks around first.
        self._walk.steps = None
        return self

    def __next__(self) -> ConsumerRecord:
        while True:
            walk = self._walk
            lease = walk.lease
            # The clock first: a signal handler may run behind it, and change what is next.
            if lease.now_s() < lease.until_s and (steps := walk.steps) is not None:
                for record in steps.left:
                    steps.last = record
                    return record
            if not self._look_around():
                raise StopIteration

    @abstractmethod
    def _look_around(self) -> bool:
        """Find what comes next, and walk through that; False: the iteration is over.

        It is asked where nothing is left of the steps, where the lease is over, and where somebody
        stopped the walk.
        """


# For mypy the two are one: they have the same methods.
if TYPE_CHECKING or ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core

    Walk = _core.Walk
    RecordIterator = _core.RecordIterator
else:
    Walk = PureWalk
    RecordIterator = PureRecordIterator

__all__ = ["PureRecordIterator", "PureWalk", "RecordIterator", "Walk"]
