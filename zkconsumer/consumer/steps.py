"""Hands out the records of an iteration one by one. Pure.

A signal handler may run whenever a built-in function has returned, and the result of that call is
lost if the handler raises. It can't run between an iterator and the loop variable of its ``for``,
nor after a plain store: so records are taken that way.
"""

from operator import length_hint
from typing import TYPE_CHECKING

from zkconsumer.records.consumer_record import ConsumerRecord
from zkconsumer.records.engine import ENGINE, Engine


class PureSteps:
    """Holds records that are handed out one by one. Thread: the caller's.

    Attributes:
        left: iterates over the remaining ones; code that takes a record stores it in ``last``.
        last: the record that was handed out last, or None.
    """

    __slots__ = ("last", "left")

    def __init__(self, records: list[ConsumerRecord]) -> None:
        self.left = iter(records)
        self.last: ConsumerRecord | None = None

    def __length_hint__(self) -> int:
        return length_hint(self.left)

    def take(self, count: int) -> list[ConsumerRecord]:
        """Take at most ``count`` records."""
        taken = [record for _, record in zip(range(count), self.left, strict=False)]
        if taken:
            self.last = taken[-1]
        return taken

    def end(self) -> None:
        """Discard the remaining records; ``last`` stays."""
        for _ in self.left:
            pass


# mypy sees one type: both have the same methods.
if TYPE_CHECKING or ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core

    Steps = _core.Steps
else:
    Steps = PureSteps

__all__ = ["PureSteps", "Steps"]
