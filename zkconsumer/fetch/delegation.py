"""Select the partitions for a native loop, and take them back: pure, like the session.

A partition is delegated while it is *supported*: owned, its offset known, nothing of it held in
Python, its queue a native one. The session keeps the others, with all that it has always handled:
errors, unreadable entries, entries larger than their part of a response, unknown offsets. If
an unsupported chunk waits for a queue, the session keeps the queue: nothing may pass it. Pure.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from zkconsumer.fetch.claim import ChunkSink, PartitionClaim
from zkconsumer.fetch.core.record_set import RecordSet
from zkconsumer.fetch.position import FetchPosition
from zkconsumer.fetch.session import FetchSession, Outcome


@dataclass(frozen=True, slots=True, eq=False)
class Delegation:
    """Describe what a native loop is to fetch.

    Attributes:
        positions: the delegated ones, those of a topic together: in this order they are
            requested and come back.
        part_bytes: size to request of each.
        grown_bytes: the largest size for one that is far behind.
        others_wait: other partitions wait for capacity: the broker must not wait for data.
    """

    positions: list[FetchPosition]
    part_bytes: int
    others_wait: bool
    grown_bytes: int = 0


class Returned(NamedTuple):
    """Hold the state of a delegated partition on its return, as ``_core.Pump.unload`` gives it.

    Attributes:
        fetch_offset: the offset after the last queued record.
        needed_bytes: see ``FetchPosition``.
        grown_bytes: see there.
        turn: number of its last turn; 0: none since it was delegated.
        is_unsupported: whether the session has to unpack what is packed.
        error_code: the broker's error for the request at ``fetch_offset``; 0: none.
        is_left_out: whether a response to that request did not name it.
        packed: received bytes that are not in a queue: the arguments of a ``RecordSet``.
    """

    fetch_offset: int
    needed_bytes: int
    grown_bytes: int = 0
    turn: int = 0
    is_unsupported: bool = False
    error_code: int = 0
    is_left_out: bool = False
    packed: tuple[memoryview, int, int, int, int, bool] | None = None


@dataclass(slots=True, eq=False)
class NativeDelegate:
    """Delegate the partitions of a session.

    Args:
        session: the session; nothing else touches it during a delegation.
        can_fill: whether a native loop can put chunks into a queue.

    Attributes:
        unsupported: claims whose packed sets the session has to unpack.
    """

    session: FetchSession
    can_fill: Callable[[ChunkSink], bool]
    unsupported: set[PartitionClaim] = field(default_factory=set)

    def delegate(self, has_capacity: Callable[[ChunkSink], bool]) -> Delegation | None:
        """Return the partitions to delegate now; None if the session must send requests first.

        Args:
            has_capacity: as of ``FetchSession.fetch_request``.
        """
        positions = [position for position in self.session.positions() if position.claim.active]
        self.unsupported |= {
            position.claim
            for position in positions
            if position.packed and position.packed.misplaced
        }
        if not all(self.can_fill(position.claim.sink) for position in positions):
            return None
        large = self.session.large_sinks()
        if any(has_capacity(sink) for sink in large):
            return None
        kept = {position.claim.sink for position in positions if self._holds_up(position)} | large
        delegated = [
            position
            for position in positions
            if position.claim.sink not in kept and _is_supported(position)
        ]
        if not delegated:
            return None
        others_wait = len(delegated) < sum(
            position.ready or position.is_waiting for position in positions
        )
        shares = self.session.shares()
        part_bytes, grown_bytes = shares.part_bytes, shares.grown_bytes
        return Delegation(_by_topic(delegated), part_bytes, others_wait, grown_bytes)

    def keeps(self, claims: Iterable[PartitionClaim]) -> list[PartitionClaim]:
        """Return the claims whose packed sets the session has to unpack."""
        large = self.session.large_sinks()
        return [claim for claim in claims if claim in self.unsupported or claim.sink in large]

    def take_back(
        self, delegation: Delegation, returned: Iterable[Returned]
    ) -> tuple[Outcome, ...]:
        """Return the positions to the session, as if it had fetched itself."""
        turns: list[tuple[int, FetchPosition]] = []
        refused: list[tuple[FetchPosition, Returned]] = []
        self.unsupported = {claim for claim in self.unsupported if claim.active}
        for position, state in zip(delegation.positions, returned, strict=True):
            if state.fetch_offset != position.fetch_offset:
                position.suspect_offset = None
                position.claim.doubts = 0
            position.fetch_offset = state.fetch_offset
            position.needed_bytes = state.needed_bytes
            position.grown_bytes = state.grown_bytes
            position.packed = None if state.packed is None else RecordSet(*state.packed)
            if state.turn:
                turns.append((state.turn, position))
            if state.is_unsupported:
                self.unsupported.add(position.claim)
                if position.packed is not None and not position.packed.at_byte:
                    self.session.judge_offsets(position)  # they may be out of order
            if state.error_code or state.is_left_out:
                refused.append((position, state))
        for _, position in sorted(turns, key=lambda one: one[0]):
            self.session.end_turn(position.claim)
        outcomes = (
            self.session.take_absence(position)
            if state.is_left_out
            else self.session.take_error(position, state.error_code)
            for position, state in refused
            if position.ready and position.claim.active
        )
        return tuple(outcome for outcome in outcomes if outcome is not None)

    def forget_unpacked(self) -> None:
        """Forget the unsupported sets once the session has unpacked them."""
        if self.unsupported:
            self.unsupported &= set(self.session.packed())

    def _holds_up(self, position: FetchPosition) -> bool:
        """Return whether a chunk that can't be delegated waits for its queue."""
        is_unsupported = position.packed is not None and position.claim in self.unsupported
        return position.pending is not None or is_unsupported


def _is_supported(position: FetchPosition) -> bool:
    return position.fetch_offset is not None and not (
        position.is_doubtful or position.halted or position.pending is not None
    )


def _by_topic(positions: Iterable[FetchPosition]) -> list[FetchPosition]:
    """Group by topic, in the order of the topics' first turns; keep the order in each topic."""
    topics: dict[str, list[FetchPosition]] = {}
    for position in positions:
        topics.setdefault(position.claim.topic_partition.topic, []).append(position)
    return [position for together in topics.values() for position in together]
