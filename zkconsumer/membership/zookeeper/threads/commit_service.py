"""Commits while a member runs: by a timer, for the caller, or for a stream ahead of a chunk."""

import logging
from collections.abc import Callable
from typing import TypeVar

from zkconsumer.errors import OffsetCommitFailed, ZkConsumerError
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.autocommit import CommitTimer
from zkconsumer.membership.zookeeper.threads.commits import CommitRules, OffsetCommitter
from zkconsumer.membership.zookeeper.threads.environment import MemberSettings, MemberWorld
from zkconsumer.membership.zookeeper.threads.messages import CommitAheadRequest, CommitRequest
from zkconsumer.membership.zookeeper.threads.ownership import OwnedClaims
from zkconsumer.model import OffsetAndMetadata
from zkconsumer.offsets.store import CommittedFurther
from zkconsumer.repeats import Repeats

log = logging.getLogger(__name__)

_ABOUT = "automatic commits"
T = TypeVar("T")


class CommitService:
    """Executes commit requests and automatic commits. Thread: control.

    Args:
        claims: the partitions that this member owns.
        rules: what the commits cover.
    """

    def __init__(
        self,
        settings: MemberSettings,
        world: MemberWorld,
        *,
        claims: OwnedClaims,
        committer: OffsetCommitter,
        rules: CommitRules,
    ) -> None:
        self._world = world
        self._claims = claims
        self._committer = committer
        self._rules = rules
        self._timer = CommitTimer(
            enabled=settings.auto_commit,
            interval_ms=settings.auto_commit_interval_ms,
            now_ms=world.clock.now_ms(),
        )
        self._repeats = Repeats(log, world.clock)

    @property
    def due_ms(self) -> int | None:
        """The time of the next automatic commit; None: never."""
        return self._timer.due_ms

    def tick(self, now_ms: int) -> None:
        """Commit automatically if the timer is due."""
        if not self._timer.take(now_ms) or not self._world.store.connected:
            return
        try:
            self._committer.commit(self._claims.claims(), self._rules.automatic)
        except OffsetCommitFailed as error:
            text = f"auto-commit: {error}; will be retried"
            self._repeats.happened(_ABOUT, text)
            self._request_rebalance()
        else:
            self._repeats.works(_ABOUT)

    def serve(self, request: CommitRequest) -> None:
        """Execute the caller's commit and reply to it."""
        request.reply.complete(lambda: self._checked(lambda: self._commit(request)))

    def serve_ahead(self, request: CommitAheadRequest) -> None:
        """Commit for a stream that hands the chunk over afterwards, and reply to it."""
        claim, offset = request.claim, request.offset
        request.reply.complete(lambda: self._checked(lambda: self._commit_ahead(claim, offset)))

    def _checked(self, commit: Callable[[], T]) -> T:
        """Commit; after a failure request a rebalance, since the partitions may be lost."""
        try:
            return commit()
        except ZkConsumerError:
            self._request_rebalance()
            raise

    def _request_rebalance(self) -> None:
        self._world.trigger(ev.RebalanceCause.COMMIT_FAILED)

    def _commit_ahead(self, claim: PartitionClaim, offset: int) -> bool:
        """Commit ``offset``, unless the caller has explicitly committed a larger one of this log.

        Returns:
            False if the chunk must not be handed over: the claim is no longer ours, or another
            member committed further.
        """
        tp, floor = claim.topic_partition, claim.explicit_floor
        if not claim.active or self._claims.claim_of(tp) is not claim:
            return False
        is_covered = claim.committed_offset == offset or (floor is not None and offset <= floor)
        if is_covered and claim.jumps_back == claim.committed_jumps:
            return True
        ahead = {tp: OffsetAndMetadata(offset)}
        try:
            self._committer.commit_exactly({tp: claim}, ahead, retry=True, rewind=False)
        except OffsetCommitFailed as error:
            # The member that committed further got these messages: they would be delivered twice.
            if isinstance(error.failed.get(tp), CommittedFurther):
                return False
            raise
        return True

    def _commit(self, request: CommitRequest) -> int:
        claims = self._claims.claims()
        if request.offsets is None:
            return self._committer.commit(claims, self._rules.callers, retry=request.retry)
        known = request.claims
        by_partition = {
            claim.topic_partition: claim
            for claim in claims
            if known is None or known.get(claim.topic_partition) is claim
        }
        return self._committer.commit_exactly(by_partition, request.offsets, retry=request.retry)
