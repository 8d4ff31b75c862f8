"""Records queued for one partition, and the sets that they are split into. Pure.

Records wait in the form of their arrival: rows, or runs of the native core (``run_sets``), without
an object for each record. ``RowSet`` is the reference; a set of runs of the same records has the
same bytes.
"""

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

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


class OutgoingSet(Protocol):
    """Records for a partition that form one set; immutable."""

    def __len__(self) -> int: ...

    def halves(self) -> "tuple[OutgoingSet, OutgoingSet]":
        """Split it in two; requires more than one record."""
        ...

    def build(
        self, *, version: int, codec: Codec, now_ms: int, sequence: ProducerSequence = NO_SEQUENCE
    ) -> bytes:
        """Return its encoding in a version of Produce; see ``outgoing.build_set``."""
        ...


class OutgoingPart(Protocol):
    """Queued records of one kind; immutable."""

    def __len__(self) -> int: ...

    def cut(self, set_bytes: int) -> "tuple[OutgoingSet, OutgoingPart | None]":
        """Return the first set, at most ``set_bytes`` unless a record is larger, and the rest."""
        ...

    def without(self, count: int) -> "OutgoingPart":
        """Return the records after the first ``count``; requires more than ``count``."""
        ...

    def joined(self, other: "OutgoingPart") -> "OutgoingPart | None":
        """Return these followed by another part's; None if the kinds differ."""
        ...


class RowSet:
    """An ``OutgoingSet`` of rows.

    Args:
        rows: at least one.
    """

    __slots__ = ("_rows",)

    def __init__(self, rows: Sequence[Outgoing]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def halves(self) -> "tuple[RowSet, RowSet]":
        """See ``OutgoingSet``."""
        middle = len(self._rows) // 2
        return RowSet(self._rows[:middle]), RowSet(self._rows[middle:])

    def build(
        self, *, version: int, codec: Codec, now_ms: int, sequence: ProducerSequence = NO_SEQUENCE
    ) -> bytes:
        """See ``OutgoingSet``."""
        return build_set(self._rows, version=version, codec=codec, now_ms=now_ms, sequence=sequence)


class RowPart:
    """An ``OutgoingPart`` of rows.

    Args:
        rows: at least one.
        start: the index of the first queued one.
    """

    __slots__ = ("rows", "start")

    def __init__(self, rows: Sequence[Outgoing], start: int = 0) -> None:
        self.rows = rows
        self.start = start

    def __len__(self) -> int:
        return len(self.rows) - self.start

    def cut(self, set_bytes: int) -> "tuple[RowSet, RowPart | None]":
        """See ``OutgoingPart``."""
        size, stop = 0, self.start
        while stop < len(self.rows):
            size += outgoing_bytes(self.rows[stop])
            if stop > self.start and size > set_bytes:
                break
            stop += 1
        rest = RowPart(self.rows, stop) if stop < len(self.rows) else None
        return RowSet(self.rows[self.start : stop]), rest

    def without(self, count: int) -> "RowPart":
        """See ``OutgoingPart``."""
        return RowPart(self.rows, self.start + count)

    def joined(self, other: OutgoingPart) -> "RowPart | None":
        """See ``OutgoingPart``."""
        if not isinstance(other, RowPart):
            return None
        return RowPart([*self.rows[self.start :], *other.rows[other.start :]])


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
        # A caller with runs has the native core; others may not.
        from zkconsumer.produce.run_sets import RunPart  # noqa: PLC0415

        self._add(RunPart(list(runs), with_headers=with_headers))

    def extend(self, other: "OutgoingRecords") -> None:
        """Append the records of another queue, which keeps them."""
        for part in other._parts:  # noqa: SLF001 - an instance of this class
            self._add(part)

    def copy(self) -> "OutgoingRecords":
        """Return a copy, to be consumed."""
        made = OutgoingRecords()
        made.extend(self)
        return made

    def cut(self, set_bytes: int) -> OutgoingSet:
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
                self._parts[0] = part.without(count)
                return
            count -= len(part)
            self._parts.popleft()

    def _add(self, part: OutgoingPart) -> None:
        self._count += len(part)
        if self._parts and (joined := self._parts[-1].joined(part)) is not None:
            self._parts[-1] = joined
        else:
            self._parts.append(part)
