"""The claims of the partitions that this member is reading."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from zkconsumer.fetch.claim import ChunkSink, PartitionClaim
from zkconsumer.membership.zookeeper.threads.commits import consumed_offset, handed_over_offset
from zkconsumer.model import TopicPartition


@dataclass(frozen=True, slots=True)
class PositionRule:
    """Where a new claim starts if it follows an earlier one of the same member.

    Attributes:
        position_of: returns the position of the ended claim.
        after_release: whether that also holds if the partition was released meanwhile. Then only
            what the caller has finished may be skipped: it may have dropped the rest, since the
            next owner would read on from the committed offset.
    """

    position_of: Callable[[PartitionClaim], int | None]
    after_release: bool


CONSUMED = PositionRule(consumed_offset, after_release=True)
"""With automatic commits: the offset that a commit would write now, neither below nor beyond what
the caller committed itself. The current message is redelivered unless the caller committed it."""

DELIVERED = PositionRule(handed_over_offset, after_release=False)
"""With commits by the caller: the offset after the last message handed over."""

COMMITTED = PositionRule(lambda claim: claim.committed_offset, after_release=True)
"""With commits ahead: the committed offset, so that nothing below it is delivered again."""


class OwnedClaims:
    """The member's claims by partition. Thread: control; ``fence`` and ``reading``: any."""

    def __init__(self, rule: PositionRule = CONSUMED) -> None:
        self._rule = rule
        self._claims: dict[TopicPartition, PartitionClaim] = {}
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
        sink: ChunkSink,
        committed_offset: int | None,
        session_id: int,
        topic_czxid: int | None = None,
    ) -> PartitionClaim:
        """Start a new claim in this session; reading starts at its ``consumed_offset``.

        A partition that comes back is read on from its old position (see ``PositionRule``), unless
        another member has committed for it, or its topic was created again.
        """
        claim = PartitionClaim(tp, sink, committed_offset)
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
        self._claims[tp] = claim
        if session_id in self._fenced_ids:
            # The session ended a moment ago, on the client's thread: its event is in the mailbox.
            claim.active = False
        return claim

    def refuse(self, tp: TopicPartition) -> None:
        """Record that a partition is ours but has no known position to read from."""
        self._refused.add(tp)
        # Nothing of an earlier claim may be committed when this one is released.
        self.forget([tp])

    def revoke(self, partitions: Iterable[TopicPartition]) -> list[PartitionClaim]:
        """Stop delivering these partitions; return their claims, which keep their offsets."""
        revoked: list[PartitionClaim] = []
        for tp in partitions:
            self._refused.discard(tp)
            claim = self._claims.pop(tp, None)
            if claim is not None:
                claim.active = False
                self._last[tp] = claim
                revoked.append(claim)
        for sink in {claim.sink for claim in revoked}:
            sink.discard_inactive()
        return revoked

    def revoke_all(self) -> list[PartitionClaim]:
        """Stop delivering everything; none of it may be committed."""
        self._leaving.clear()
        self._refused.clear()
        return self.revoke(tuple(self._claims))

    def transfer(self, partitions: Iterable[TopicPartition]) -> list[PartitionClaim]:
        """Return the claims of revoked partitions that we still own: they can be committed."""
        leaving = {tp: self._last[tp] for tp in partitions if tp in self._last}
        self._leaving |= leaving
        return list(leaving.values())

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Drop the claims of partitions that the caller did not finish: nothing is committed.

        If they come back they are read from the committed offset.
        """
        for tp in partitions:
            self._last.pop(tp, None)
            self._leaving.pop(tp, None)

    def released(self, partitions: Iterable[TopicPartition]) -> None:
        """Drop the claims of released partitions: they are no longer ours to commit."""
        for tp in partitions:
            self._leaving.pop(tp, None)

    def fence(self, session_id: int) -> None:
        """Stop delivering what was claimed in this session, which has ended. Thread: any."""
        self._fenced_ids.add(session_id)
        if session_id == self._session_id:
            for claim in list(self._claims.values()):
                claim.active = False

    def claims(self) -> list[PartitionClaim]:
        """Return the claims that may be committed: those being read, and those being released.

        While the caller's listener runs, it may still commit what is being released.
        """
        return [*self.reading(), *self._leaving.values()]

    def reading(self) -> list[PartitionClaim]:
        """Return the claims that are being read. Thread: any."""
        return [claim for claim in list(self._claims.values()) if claim.active]

    def claim_of(self, tp: TopicPartition) -> PartitionClaim | None:
        """Return the claim under which a partition is being read, or None."""
        return self._claims.get(tp)

    def read_of_former_topic(self, tp: TopicPartition, topic_czxid: int | None) -> int | None:
        """Return the offset up to which a former topic's partition was read here, or None.

        Args:
            tp: a partition that is about to be started.
            topic_czxid: the transaction that created the node of its topic.
        """
        last = self._last.get(tp)
        if last is None or None in {topic_czxid, last.topic_czxid}:
            return None
        return None if last.topic_czxid == topic_czxid else handed_over_offset(last)

    def of_former_topics(self, czxids: Mapping[str, int]) -> frozenset[TopicPartition]:
        """Return the partitions being read whose topics were deleted and created again.

        Args:
            czxids: the creating transaction of each topic node.
        """
        return frozenset(
            tp
            for tp, claim in self._claims.items()
            if claim.topic_czxid is not None
            and czxids.get(tp.topic, claim.topic_czxid) != claim.topic_czxid
        )

    def stopped(self) -> frozenset[TopicPartition]:
        """Return the partitions stopped by an unreadable message, or without a position."""
        halted = {tp for tp, claim in self._claims.items() if claim.halted}
        return frozenset(halted | self._refused)
