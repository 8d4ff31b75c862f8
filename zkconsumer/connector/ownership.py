"""The partitions that this member is reading: the book that the control thread keeps."""

from collections.abc import Callable, Iterable

from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import TopicPartition
from zkconsumer.streams.chunk_queue import ChunkQueue

PositionOf = Callable[[PartitionClaim], int | None]
"""Up to where a claim that ended was read, for a claim of the same member that follows it."""


def consumed_position(claim: PartitionClaim) -> int | None:
    """With automatic commits: the message in hand comes again, since nothing says it is done."""
    return claim.consumed_offset


def delivered_position(claim: PartitionClaim) -> int | None:
    """With the caller's commits: what was handed over was handed over."""
    delivered = claim.delivered_offset
    return claim.consumed_offset if delivered is None else delivered


def committed_position(claim: PartitionClaim) -> int | None:
    """With commits ahead: never again below what is committed."""
    return claim.committed_offset


class OwnershipBook:
    """Claims by partition. Written by the control thread; ``fence`` may come from any thread."""

    def __init__(self, position_of: PositionOf = consumed_position) -> None:
        self._position_of = position_of
        self._claims: dict[TopicPartition, tuple[PartitionClaim, ChunkQueue]] = {}
        self._leaving: dict[TopicPartition, PartitionClaim] = {}
        self._last: dict[TopicPartition, PartitionClaim] = {}
        self._refused: set[TopicPartition] = set()
        self._session_id: int | None = None
        self._fenced_id: int | None = None

    def __len__(self) -> int:
        return len(self._claims)

    def partitions(self) -> tuple[TopicPartition, ...]:
        """What is being read."""
        return tuple(self._claims)

    def open(
        self, tp: TopicPartition, queue: ChunkQueue, committed_offset: int | None, session_id: int
    ) -> PartitionClaim:
        """Start a new claim under this session; its ``consumed_offset`` is where to go on.

        A partition that comes back is read on from where it stood, unless somebody else committed
        for it meanwhile: without automatic commits it would otherwise start over.
        """
        claim = PartitionClaim(tp, queue, committed_offset)
        last = self._last.pop(tp, None)
        if last is not None and last.committed_offset == committed_offset:
            position = self._position_of(last)
            claim.consumed_offset = committed_offset if position is None else position
        self._leaving.pop(tp, None)
        self._refused.discard(tp)
        self._session_id = session_id
        self._claims[tp] = (claim, queue)
        if session_id == self._fenced_id:
            # It ended a moment ago, on the client's thread: the news is on its way here.
            claim.active = False
        return claim

    def refuse(self, tp: TopicPartition) -> None:
        """It is ours, but nobody knows from where to read it."""
        self._refused.add(tp)

    def revoke(self, partitions: Iterable[TopicPartition]) -> list[PartitionClaim]:
        """Stop delivering these at once; returns their claims, which keep their offsets."""
        revoked: list[PartitionClaim] = []
        queues: set[ChunkQueue] = set()
        for tp in partitions:
            self._refused.discard(tp)
            entry = self._claims.pop(tp, None)
            if entry is not None:
                claim, queue = entry
                claim.active = False
                self._last[tp] = claim
                revoked.append(claim)
                queues.add(queue)
        for queue in queues:
            queue.discard_inactive()
        return revoked

    def revoke_all(self) -> list[PartitionClaim]:
        """Stop delivering everything; it is no longer ours to commit."""
        self._leaving.clear()
        self._refused.clear()
        return self.revoke(tuple(self._claims))

    def hand_over(self, partitions: Iterable[TopicPartition]) -> list[PartitionClaim]:
        """The claims of revoked partitions whose nodes are still ours: they can be committed."""
        leaving = {tp: self._last[tp] for tp in partitions if tp in self._last}
        self._leaving |= leaving
        return list(leaving.values())

    def released(self, partitions: Iterable[TopicPartition]) -> None:
        """The nodes are gone: nothing of these is ours to commit any more."""
        for tp in partitions:
            self._leaving.pop(tp, None)

    def fence(self, session_id: int) -> None:
        """Stop delivering what was claimed under this session: it has ended. Thread: any."""
        self._fenced_id = session_id
        if session_id == self._session_id:
            for claim, _ in list(self._claims.values()):
                claim.active = False

    def claims(self) -> list[PartitionClaim]:
        """The claims that may be committed: what is being read, and what is about to be released.

        While the caller's listener runs, it still commits what is about to go.
        """
        reading = [claim for claim, _ in self._claims.values() if claim.active]
        return [*reading, *self._leaving.values()]

    def claim_of(self, tp: TopicPartition) -> PartitionClaim | None:
        """The claim under which a partition is being read."""
        entry = self._claims.get(tp)
        return None if entry is None else entry[0]

    def stopped(self) -> frozenset[TopicPartition]:
        """What stands still: behind a message that can't be read, or for want of a start."""
        halted = {tp for tp, (claim, _) in self._claims.items() if claim.halted}
        return frozenset(halted | self._refused)
