"""How an iteration goes from record to record, which is where all of its time is spent.

A consumer is its own iterator, so that whoever overrides or wraps ``__next__`` has every record
pass through it. What is called for each record is therefore in C where the native core is there; it
asks the rest of the consumer only when it has come to the end of something.

A signal handler may run behind every call from Python to a built-in function, and what the call
gave is lost where the handler raises. It can't run between an iterator and its ``for``, nor behind
a plain store: so records are taken that way.
"""

from abc import abstractmethod
from collections.abc import Iterator
from operator import length_hint
from typing import TYPE_CHECKING, Self

from zkconsumer.clock import Clock
from zkconsumer.records.consumer_record import ConsumerRecord
from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.streams.lease import Lease


class PureSteps:
    """Records that are handed out one behind the other.

    Args:
        records: all of them.

    Attributes:
        left: gives those that are left; whoever takes one says so in ``last``.
        last: the record that was handed out last; None where none was.
    """

    __slots__ = ("last", "left")

    def __init__(self, records: list[ConsumerRecord]) -> None:
        self.left = iter(records)
        self.last: ConsumerRecord | None = None

    def __length_hint__(self) -> int:
        return length_hint(self.left)

    def take(self, count: int) -> list[ConsumerRecord]:
        """Take so many at most."""
        taken = [record for _, record in zip(range(count), self.left, strict=False)]
        if taken:
            self.last = taken[-1]
        return taken

    def end(self) -> None:
        """Give out nothing more; ``last`` stays."""
        for _ in self.left:
            pass


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
        return self

    def __next__(self) -> ConsumerRecord:
        while True:
            walk = self._walk
            steps, lease = walk.steps, walk.lease
            if steps is not None and lease.now_s() < lease.until_s and walk.steps is steps:
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
if TYPE_CHECKING:
    from zkconsumer.native import _core

    Steps = _core.Steps
    Walk = _core.Walk
    RecordIterator = _core.RecordIterator
elif ENGINE is Engine.NATIVE:
    from zkconsumer.native._core import RecordIterator, Steps, Walk
else:
    Steps, Walk, RecordIterator = PureSteps, PureWalk, PureRecordIterator

__all__ = ["PureRecordIterator", "PureSteps", "PureWalk", "RecordIterator", "Steps", "Walk"]
