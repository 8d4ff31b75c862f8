"""The partitions that this member is reading: the book that the control thread keeps."""

from collections.abc import Iterable

from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import TopicPartition
from zkconsumer.streams.chunk_queue import ChunkQueue


class OwnershipBook:
    """Claims by partition. Written by the control thread; ``fence`` may come from any thread."""

    def __init__(self) -> None:
        self._claims: dict[TopicPartition, tuple[PartitionClaim, ChunkQueue]] = {}
        self._session_id: int | None = None

    def __len__(self) -> int:
        return len(self._claims)

    def open(
        self, tp: TopicPartition, queue: ChunkQueue, committed_offset: int | None, session_id: int
    ) -> PartitionClaim:
        """Start a new claim under this session."""
        claim = PartitionClaim(tp, queue, committed_offset)
        self._session_id = session_id
        self._claims[tp] = (claim, queue)
        return claim

    def revoke(self, partitions: Iterable[TopicPartition]) -> list[PartitionClaim]:
        """Stop delivering these at once; returns their claims, which keep their offsets."""
        revoked: list[PartitionClaim] = []
        queues: set[ChunkQueue] = set()
        for tp in partitions:
            entry = self._claims.pop(tp, None)
            if entry is not None:
                claim, queue = entry
                claim.active = False
                revoked.append(claim)
                queues.add(queue)
        for queue in queues:
            queue.discard_inactive()
        return revoked

    def revoke_all(self) -> list[PartitionClaim]:
        """Stop delivering everything."""
        return self.revoke(tuple(self._claims))

    def fence(self, session_id: int) -> None:
        """Stop delivering what was claimed under this session: it has ended. Thread: any."""
        if session_id == self._session_id:
            for claim, _ in list(self._claims.values()):
                claim.active = False

    def claims(self) -> list[PartitionClaim]:
        """The claims that are being read."""
        return [claim for claim, _ in self._claims.values() if claim.active]
