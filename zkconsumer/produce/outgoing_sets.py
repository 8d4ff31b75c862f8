"""Records on their way to one partition, and the sets that they are cut into. Pure.

Records wait as whatever they came as: rows, or runs of the native core (``run_sets``), of which no
object is made for any record. ``RowSet`` is the definition; a set of runs of the same records has
the same bytes.
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
    """Records that go to a partition as one set; it does not change."""

    def __len__(self) -> int: ...

    def halves(self) -> "tuple[OutgoingSet, OutgoingSet]":
        """Cut it in two; only of more than one record."""
        ...

    def build(
        self, *, version: int, codec: Codec, now_ms: int, sequence: ProducerSequence = NO_SEQUENCE
    ) -> bytes:
        """Build what a partition gets in a request of that version; see ``outgoing.build_set``."""
        ...


class OutgoingPart(Protocol):
    """Records of one kind that wait; it does not change."""

    def __len__(self) -> int: ...

    def cut(self, set_bytes: int) -> "tuple[OutgoingSet, OutgoingPart | None]":
        """Return the first set, no larger than this unless one record is, and what is left."""
        ...

    def without(self, count: int) -> "OutgoingPart":
        """Return the records after the first ``count``, of which there are more."""
        ...

    def joined(self, other: "OutgoingPart") -> "OutgoingPart | None":
        """Return these and those of another part behind them; None where the kinds differ."""
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
        start: the index of the first one that waits.
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
    """Records on their way to one partition, in their order.

    Args:
        rows: those that are there already.
    """

    __slots__ = ("_count", "_parts")

    def __init__(self, rows: Sequence[Outgoing] = ()) -> None:
        self._count = 0
        self._parts: deque[OutgoingPart] = deque()
        if rows:
            self._add(RowPart(rows))

    def __len__(self) -> int:
        return self._count

    def add_rows(self, rows: Sequence[Outgoing]) -> None:
        """Add rows, of which there is at least one, at the end."""
        self._add(RowPart(rows))

    def add_runs(self, runs: "Sequence[_core.Run]", *, with_headers: bool = True) -> None:
        """Add the records of runs, of which there is at least one, at the end."""
        # Whoever has runs has the core; others may not.
        from zkconsumer.produce.run_sets import RunPart  # noqa: PLC0415

        self._add(RunPart(list(runs), with_headers=with_headers))

    def extend(self, other: "OutgoingRecords") -> None:
        """Add the records of another one, which keeps them, at the end."""
        for part in other._parts:  # noqa: SLF001 - of this class
            self._add(part)

    def copy(self) -> "OutgoingRecords":
        """Return the same records, to be taken apart."""
        made = OutgoingRecords()
        made.extend(self)
        return made

    def cut(self, set_bytes: int) -> OutgoingSet:
        """Take the next set off the front: no larger than this before it is compressed.

        A larger record goes by itself. There is at least one record.
        """
        found, rest = self._parts[0].cut(set_bytes)
        if rest is None:
            self._parts.popleft()
        else:
            self._parts[0] = rest
        self._count -= len(found)
        return found

    def drop(self, count: int) -> None:
        """Take ``count`` records off the front, of those that are there."""
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
