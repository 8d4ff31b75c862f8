"""Join the slices of several responses: small responses need not be handed out singly. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from zkconsumer.records.fetched import ConsumerRecord, RecordOrigin
from zkconsumer.records.rows import Headers, Row
from zkconsumer.records.slices import RecordSlice

if TYPE_CHECKING:
    from zkconsumer.native import _core


class JoinedSlice:
    """Join consecutive slices of one partition to a ``RecordSlice``.

    Args:
        pieces: at least one; none of them empty.
    """

    __slots__ = ("_pieces",)

    def __init__(self, pieces: Sequence[RecordSlice]) -> None:
        self._pieces = pieces

    def __len__(self) -> int:
        return sum(map(len, self._pieces))

    @property
    def first_offset(self) -> int:
        """See ``RecordSlice``."""
        return self._pieces[0].first_offset

    @property
    def next_offset(self) -> int:
        """See ``RecordSlice``."""
        return self._pieces[-1].next_offset

    @property
    def leader_epoch(self) -> int:
        """See ``RecordSlice``."""
        return self._pieces[-1].leader_epoch

    @property
    def size_bytes(self) -> int:
        """See ``RecordSlice``."""
        return sum(piece.size_bytes for piece in self._pieces)

    def records(self, origin: RecordOrigin) -> list[ConsumerRecord]:
        """See ``RecordSlice``."""
        return list(chain.from_iterable(piece.records(origin) for piece in self._pieces))

    def parts(self) -> "list[_core.Run | Sequence[Row]]":
        """See ``RecordSlice``."""
        return list(chain.from_iterable(piece.parts() for piece in self._pieces))

    def headers(self) -> Mapping[int, Headers]:
        """See ``RecordSlice``."""
        return {
            start + index: found
            for start, piece in self._placed()
            for index, found in piece.headers().items()
        }

    def leader_epochs(self) -> tuple[tuple[int, int], ...]:
        """See ``RecordSlice``."""
        return tuple(
            (start + index, epoch)
            for start, piece in self._placed()
            for index, epoch in piece.leader_epochs()
        )

    def _placed(self) -> Iterator[tuple[int, RecordSlice]]:
        """Iterate over the pieces, each with the index of its first record."""
        start = 0
        for piece in self._pieces:
            yield start, piece
            start += len(piece)

    def __repr__(self) -> str:
        return f"JoinedSlice({len(self)} records up to {self.next_offset})"


def joined(pieces: Sequence[RecordSlice]) -> RecordSlice:
    """Join slices to one."""
    return pieces[0] if len(pieces) == 1 else JoinedSlice(pieces)
