"""The partitions that this member is reading: the book that the control thread keeps."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from zkconsumer.connector.commits import consumed_offset, handed_over_offset
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import TopicPartition
from zkconsumer.streams.queues import StreamQueue


@dataclass(frozen=True, slots=True)
class PositionRule:
    """From where a claim goes on that follows another one of the same member.

    Attributes:
        position_of: up to where the ended claim was read.
        after_release: whether that also holds where the partition was out of our hands meanwhile.
            Only what the caller is done with for good may be passed over then: it may have dropped
            the rest, since others would read it from what is committed.
    """

    position_of: Callable[[PartitionClaim], int | None]
    after_release: bool


CONSUMED = PositionRule(consumed_offset, after_release=True)
"""With automatic commits: what one would write by now, which is not below, nor beyond, what the
caller committed itself. The message in hand comes again, unless the caller said that it is done."""

DELIVERED = PositionRule(handed_over_offset, after_release=False)
"""With the caller's commits: what was handed over was handed over."""

COMMITTED = PositionRule(lambda claim: claim.committed_offset, after_release=True)
"""With commits ahead: never again below what is committed."""


class OwnedClaims:
    """Claims by partition. Written by the control thread; ``fence`` may come from any thread."""

    def __init__(self, rule: PositionRule = CONSUMED) -> None:
        self._rule = rule
        self._claims: dict[TopicPartition, tuple[PartitionClaim, StreamQueue]] = {}
        self._leaving: dict[TopicPartition, PartitionClaim] = {}
        self._last: dict[TopicPartition, PartitionClaim] = {}
        self._refused: set[TopicPartition] = set()
        self._session_id: int | None = None
        self._fenced_ids: set[int] = set()

    def __len__(self) -> int:
        return len(self._claims)

    def open(
        self,
        tp: TopicPartition,
        queue: StreamQueue,
        committed_offset: int | None,
        session_id: int,
        topic_czxid: int | None = None,
    ) -> PartitionClaim:
        """Start a new claim under this session; its ``consumed_offset`` is where to go on.

        A partition that comes back is read on from where it stood (see ``PositionRule``), unless
        somebody else committed for it meanwhile, or its topic is not the one that it was.
        """
        claim = PartitionClaim(tp, queue, committed_offset)
        claim.topic_czxid = topic_czxid
        leaving, last = self._leaving.pop(tp, None), self._last.pop(tp, None)
        before = last if self._rule.after_release else leaving
        if (
            before is not None
            and before.committed_offset == committed_offset
            and before.topic_czxid == claim.topic_czxid
        ):
            position = self._rule.position_of(before)
            claim.consumed_offset = committed_offset if position is None else position
        self._refused.discard(tp)
        self._session_id = session_id
        self._claims[tp] = (claim, queue)
        if session_id in self._fenced_ids:
            # It ended a moment ago, on the client's thread: the news is on its way here.
            claim.active = False
        return claim

    def refuse(self, tp: TopicPartition) -> None:
        """It is ours, but nobody knows from where to read it."""
        self._refused.add(tp)
        # Nothing of an earlier claim may be committed when this one is handed over.
        self.forget([tp])

    def revoke(self, partitions: Iterable[TopicPartition]) -> list[PartitionClaim]:
        """Stop delivering these at once; returns their claims, which keep their offsets."""
        revoked: list[PartitionClaim] = []
        queues: set[StreamQueue] = set()
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

    def transfer(self, partitions: Iterable[TopicPartition]) -> list[PartitionClaim]:
        """The claims of revoked partitions whose nodes are still ours: they can be committed."""
        leaving = {tp: self._last[tp] for tp in partitions if tp in self._last}
        self._leaving |= leaving
        return list(leaving.values())

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Commit nothing of these any more: the caller did not finish them.

        If they come back they are read from what is committed.
        """
        for tp in partitions:
            self._last.pop(tp, None)
            self._leaving.pop(tp, None)

    def released(self, partitions: Iterable[TopicPartition]) -> None:
        """The nodes are gone: nothing of these is ours to commit any more."""
        for tp in partitions:
            self._leaving.pop(tp, None)

    def fence(self, session_id: int) -> None:
        """Stop delivering what was claimed under this session: it has ended. Thread: any."""
        self._fenced_ids.add(session_id)
        if session_id == self._session_id:
            for claim, _ in list(self._claims.values()):
                claim.active = False

    def claims(self) -> list[PartitionClaim]:
        """The claims that may be committed: what is being read, and what is about to be released.

        While the caller's listener runs, it still commits what is about to go.
        """
        reading = [claim for claim, _ in self._claims.values() if claim.active]
        return [*reading, *self._leaving.values()]

    def reading(self) -> list[PartitionClaim]:
        """The claims of what is being read. Thread: any."""
        return [claim for claim, _ in list(self._claims.values()) if claim.active]

    def claim_of(self, tp: TopicPartition) -> PartitionClaim | None:
        """The claim under which a partition is being read."""
        entry = self._claims.get(tp)
        return None if entry is None else entry[0]

    def read_of_former_topic(self, tp: TopicPartition, topic_czxid: int | None) -> int | None:
        """Up to where this member read the partition of a former topic; None where it did not.

        Args:
            tp: a partition that is about to be started again.
            topic_czxid: the transaction that created the node of its topic.
        """
        last = self._last.get(tp)
        if last is None or None in {topic_czxid, last.topic_czxid}:
            return None
        return None if last.topic_czxid == topic_czxid else handed_over_offset(last)

    def of_former_topics(self, czxids: Mapping[str, int]) -> frozenset[TopicPartition]:
        """What is being read of topics whose nodes were created by other transactions since.

        Args:
            czxids: the transaction of each topic that has a node.
        """
        return frozenset(
            tp
            for tp, (claim, _) in self._claims.items()
            if claim.topic_czxid is not None
            and czxids.get(tp.topic, claim.topic_czxid) != claim.topic_czxid
        )

    def stopped(self) -> frozenset[TopicPartition]:
        """What stands still: behind a message that can't be read, or for want of a start."""
        halted = {tp for tp, (claim, _) in self._claims.items() if claim.halted}
        return frozenset(halted | self._refused)
