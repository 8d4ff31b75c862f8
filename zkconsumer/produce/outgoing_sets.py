"""Records queued for one partition, and the sets that they are split into. Pure.

Records are queued in the form in which they arrive: rows, or runs of the native core
(``run_sets``), without an object for each record. ``RowPart`` is the reference; a set built from
runs of the same records has the same bytes.
"""

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from zkconsumer.produce.outgoing import (
    NO_SEQUENCE,
    Outgoing,
    ProducerSequence,
    build_set,
    outgoing_bytes,
)
from zkconsumer.records.codecs import Codec

if TYPE_CHECKING:
    from zkconsumer.native import _core
    from zkconsumer.produce.run_sets import RunPart


OutgoingPart: TypeAlias = "RowPart | RunPart"
"""Consecutive records of one kind, for one set or more; immutable."""


class RowPart:
    """Consecutive rows: the reference for every ``OutgoingPart``.

    Args:
        rows: rows that include those of this part.
        start: the index of this part's first row.
        stop: the index after its last row; None for all.
    """

    __slots__ = ("_rows", "_start", "_stop")

    def __init__(self, rows: Sequence[Outgoing], start: int = 0, stop: int | None = None) -> None:
        self._rows = rows
        self._start = start
        self._stop = len(rows) if stop is None else stop

    def __len__(self) -> int:
        return self._stop - self._start

    def build(
        self, *, version: int, codec: Codec, now_ms: int, sequence: ProducerSequence = NO_SEQUENCE
    ) -> bytes:
        """Return the records as one set, in a version of Produce; see ``outgoing.build_set``."""
        rows = self._own()
        return build_set(rows, version=version, codec=codec, now_ms=now_ms, sequence=sequence)

    def cut(self, set_bytes: int) -> "tuple[RowPart, RowPart | None]":
        """Return the first set, at most ``set_bytes`` unless a record is larger, and the rest."""
        size = 0
        for at in range(self._start, self._stop):
            size += outgoing_bytes(self._rows[at])
            if at > self._start and size > set_bytes:
                return self.split(at - self._start)
        return self, None

    def split(self, count: int) -> "tuple[RowPart, RowPart]":
        """Return the first ``count`` records, and the others; neither may be empty."""
        at = self._start + count
        return RowPart(self._rows, self._start, at), RowPart(self._rows, at, self._stop)

    def joined(self, other: OutgoingPart) -> "RowPart | None":
        """Return this part followed by another one; None if their kinds differ."""
        if not isinstance(other, RowPart):
            return None
        return RowPart([*self._own(), *other._own()])  # noqa: SLF001 - an instance of this class

    def _own(self) -> Sequence[Outgoing]:
        return self._rows[self._start : self._stop]


class OutgoingRecords:
    """The queued records of one partition, in order."""

    __slots__ = ("_count", "_parts")

    def __init__(self, rows: Sequence[Outgoing] = ()) -> None:
        self._count = 0
        self._parts: deque[OutgoingPart] = deque()
        if rows:
            self._add(RowPart(rows))

    def __len__(self) -> int:
        return self._count

    def add_rows(self, rows: Sequence[Outgoing]) -> None:
        """Append rows, at least one."""
        self._add(RowPart(rows))

    def add_runs(self, runs: "Sequence[_core.Run]", *, with_headers: bool = True) -> None:
        """Append the records of runs, at least one."""
        # Callers with runs have the native core; others may not.
        from zkconsumer.produce.run_sets import RunPart  # noqa: PLC0415

        self._add(RunPart(list(runs), with_headers=with_headers))

    def extend(self, other: "OutgoingRecords") -> None:
        """Append the records of another queue, which keeps them."""
        for part in other._parts:  # noqa: SLF001 - an instance of this class
            self._add(part)

    def copy(self) -> "OutgoingRecords":
        """Return a copy that can be consumed independently."""
        made = OutgoingRecords()
        made.extend(self)
        return made

    def cut(self, set_bytes: int) -> OutgoingPart:
        """Remove the next set from the front: at most ``set_bytes`` before compression.

        A larger record is a set of its own. Requires at least one record.
        """
        found, rest = self._parts[0].cut(set_bytes)
        if rest is None:
            self._parts.popleft()
        else:
            self._parts[0] = rest
        self._count -= len(found)
        return found

    def drop(self, count: int) -> None:
        """Remove ``count`` records from the front; requires that many."""
        self._count -= count
        while count:
            part = self._parts[0]
            if len(part) > count:
                self._parts[0] = part.split(count)[1]
                return
            count -= len(part)
            self._parts.popleft()

    def _add(self, part: OutgoingPart) -> None:
        self._count += len(part)
        if self._parts and (joined := self._parts[-1].joined(part)) is not None:
            self._parts[-1] = joined
        else:
            self._parts.append(part)
