"""Commits while a member works: by the timer, by the caller, by a stream ahead of a chunk."""

import logging
from collections.abc import Callable
from typing import TypeVar

from zkconsumer.connector.autocommit import CommitTimer
from zkconsumer.connector.commits import CommitRules, OffsetCommitter
from zkconsumer.connector.messages import CommitAheadRequest, CommitRequest
from zkconsumer.connector.ownership import OwnedClaims
from zkconsumer.connector.reply import Reply
from zkconsumer.errors import OffsetCommitFailed, ZkConsumerError, without_frames
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import OffsetAndMetadata
from zkconsumer.offsets.store import CommittedFurther
from zkconsumer.repeats import Repeats
from zkconsumer.zk.store import ZkStore

log = logging.getLogger(__name__)

_ABOUT = "automatic commits"
T = TypeVar("T")


class CommitService:
    """Serves requests to commit. Thread: control.

    Args:
        claims: the claims.
        committer: writes.
        timer: when the next automatic commit is due.
        rules: what the commits cover.
        look_again: called when a commit failed: the partitions may not be ours any more.
        store: while ZooKeeper is away an automatic commit waits for the next time.
    """

    def __init__(
        self,
        *,
        claims: OwnedClaims,
        committer: OffsetCommitter,
        timer: CommitTimer,
        rules: CommitRules,
        look_again: Callable[[], None],
        store: ZkStore,
    ) -> None:
        self._claims = claims
        self._committer = committer
        self._timer = timer
        self._rules = rules
        self._look_again = look_again
        self._repeats = Repeats(log)
        self._store = store

    @property
    def due_ms(self) -> int | None:
        """When the timer wants a commit; None: never."""
        return self._timer.due_ms

    def tick(self, now_ms: int) -> None:
        """Commit automatically if it is time."""
        if not self._timer.take(now_ms) or not self._store.connected:
            return
        try:
            self._committer.commit(self._claims.claims(), self._rules.automatic)
        except OffsetCommitFailed as error:
            text = f"auto-commit: {error}; will be tried again"
            self._repeats.happened(_ABOUT, text)
            self._look_again()
        else:
            self._repeats.works(_ABOUT)

    def serve(self, request: CommitRequest) -> None:
        """Commit for the caller."""
        self._respond(request.reply, lambda: self._commit(request))

    def serve_ahead(self, request: CommitAheadRequest) -> None:
        """Commit for a stream, which then hands the chunk over."""
        self._respond(request.reply, lambda: self._commit_ahead(request.claim, request.offset))

    def _respond(self, reply: Reply[T], work: Callable[[], T]) -> None:
        """Do the work for somebody who waits for it without a time-out."""
        try:
            reply.give(work())
        except ZkConsumerError as error:
            self._look_again()
            reply.fail(without_frames(error))
        except BaseException as error:
            # The end of this thread, but its caller must not wait for ever.
            reply.fail(error)
            raise

    def _commit_ahead(self, claim: PartitionClaim, offset: int) -> bool:
        """Commit, unless the caller named an offset beyond.

        Returns:
            False where the chunk is not to be handed over: the claim is not ours any more, or
            others went further.
        """
        tp, floor = claim.topic_partition, claim.explicit_floor
        if not claim.active or self._claims.claim_of(tp) is not claim:
            return False
        if claim.committed_offset == offset or (floor is not None and offset <= floor):
            return True
        ahead = {tp: OffsetAndMetadata(offset)}
        try:
            self._committer.commit_exactly({tp: claim}, ahead, retry=True, rewind=False)
        except OffsetCommitFailed as error:
            # Whoever committed further was handed these messages: here they would come again.
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
