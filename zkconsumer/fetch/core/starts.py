"""Where reading of a partition begins: at an offset that the caller names, or by a policy. Pure."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from zkconsumer.wire.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP

NO_EPOCH: Final = -1
"""A leader epoch that is not known."""


class LogEdge(IntEnum):
    """An end of the log; the value is ListOffsets' time."""

    EARLIEST = EARLIEST_TIMESTAMP
    LATEST = LATEST_TIMESTAMP


@dataclass(frozen=True, slots=True)
class ByTime:
    """The first record that is not older than a time; the end of the log where all are.

    Attributes:
        timestamp_ms: since the epoch.
    """

    timestamp_ms: int


ResetPolicy: TypeAlias = LogEdge | ByTime

EARLIEST: Final = LogEdge.EARLIEST
LATEST: Final = LogEdge.LATEST


@dataclass(frozen=True, slots=True)
class AtOffset:
    """At an offset.

    Attributes:
        offset: the next one to read.
        leader_epoch: of the record in front of it, -1 if not known. With it a log that was
            truncated below the offset is found out (KIP-320).
    """

    offset: int
    leader_epoch: int = NO_EPOCH


@dataclass(frozen=True, slots=True)
class Reset:
    """Where the policy says; the position is not known until the broker has answered."""

    policy: ResetPolicy


Start: TypeAlias = AtOffset | Reset


@dataclass(frozen=True, slots=True)
class PositionView:
    """Where a caller stands.

    Attributes:
        offset: the next record to hand out.
        leader_epoch: of the leader that wrote what lies in front of it; -1 if not known.
    """

    offset: int
    leader_epoch: int = NO_EPOCH


def timestamp_of(policy: ResetPolicy) -> int:
    """What ListOffsets is asked for."""
    return policy.timestamp_ms if isinstance(policy, ByTime) else int(policy)
