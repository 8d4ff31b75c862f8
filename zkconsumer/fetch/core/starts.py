"""Start position of a partition: an offset that the caller names, or a policy. Pure."""

from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

from zkconsumer.wire.absent import NO_EPOCH
from zkconsumer.wire.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from zkconsumer.wire.offsets import is_offset


class LogEdge(IntEnum):
    """A reset policy: an end of the log; the value is its timestamp in ListOffsets."""

    EARLIEST = EARLIEST_TIMESTAMP
    LATEST = LATEST_TIMESTAMP


EARLIEST: Final = LogEdge.EARLIEST
LATEST: Final = LogEdge.LATEST

_MOST_DOUBTS: Final = 3


class PositionView(NamedTuple):
    """Hold a position.

    Attributes:
        offset: the next record to read, or to hand out.
        leader_epoch: epoch of the leader that wrote the record before; -1 if not known. It serves
            to detect that the log was truncated below the offset (KIP-320).
    """

    offset: int
    leader_epoch: int = NO_EPOCH


Start: TypeAlias = PositionView | LogEdge
"""Where to start; with a policy the position is unknown until the broker responds."""


def is_outside(offset: int, start: int, end: int, doubts: int) -> bool:
    """Return whether to believe a leader that reports an offset as out of range.

    A leader that is out of date does that, too: if its own log has the offset, the leader is
    doubted, but not for ever.

    Args:
        offset: the offset.
        start: the start offset of the leader's log, as the leader reports it.
        end: its end offset, likewise.
        doubts: how often in a row the leader has been doubted already.
    """
    return doubts >= _MOST_DOUBTS or not start <= offset <= end


def are_ends(start: int, end: int) -> bool:
    """Return whether these can be the ends of one log."""
    return is_offset(start) and start <= end
