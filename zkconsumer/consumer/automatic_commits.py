"""Commits the offsets of delivered records automatically, and reports the outcome."""

import logging

from zkconsumer.clock import Clock
from zkconsumer.consumer.autocommit import AutoCommit
from zkconsumer.consumer.settings.objects import CommitCallback
from zkconsumer.errors import CommitFailed, ZkConsumerError, without_frames
from zkconsumer.membership.protocol import Membership, Offsets

log = logging.getLogger(__name__)


class AutomaticCommits:
    """Runs the commits of ``enable_auto_commit``. Thread: the caller's.

    Args:
        clock: the time.
        revoke_commit_ms: the time limit of a commit that is waited for, as before a rebalance.
        callback: called with the outcome of each commit; None: nobody is.

    Attributes:
        timer: decides when a commit is due.
        membership: sends the commits; set by ``PollSession.join``.
    """

    membership: Membership

    def __init__(
        self,
        timer: AutoCommit,
        clock: Clock,
        *,
        revoke_commit_ms: int,
        callback: CommitCallback | None,
    ) -> None:
        self.timer = timer
        self._clock = clock
        self._revoke_commit_ms = revoke_commit_ms
        self._callback = callback
        self._last_failure: Exception | None = None

    def begin(self, offsets: Offsets) -> None:
        """Commit offsets without waiting for the outcome."""
        if not offsets:
            self.timer.postpone(self._clock.now_ms())
            return
        self.timer.on_begun(self._clock.now_ms())
        self.membership.commit_async(offsets, self._ended)

    def commit(self, offsets: Offsets, *, timeout_ms: int | None = None) -> None:
        """Commit offsets, and wait for the outcome; a failure is logged.

        Args:
            offsets: the offsets; if empty, nothing is done.
            timeout_ms: limits the wait, besides ``revoke_commit_ms``; None: no further limit.
        """
        if not offsets:
            return
        error: Exception | None = None
        limit_ms = self._revoke_commit_ms
        if timeout_ms is not None:
            limit_ms = min(limit_ms, timeout_ms)
        try:
            self.membership.commit(offsets, timeout_ms=limit_ms)
        except ZkConsumerError as failure:
            error = without_frames(failure)
        self._report(offsets, error)

    def _ended(self, offsets: Offsets, error: Exception | None) -> None:
        self.timer.on_ended(self._clock.now_ms(), failed=error is not None)
        self._report(offsets, error)

    def _report(self, offsets: Offsets, error: Exception | None) -> None:
        # Warn once of the same failure, not at each attempt.
        level = logging.DEBUG if str(error) == str(self._last_failure) else logging.WARNING
        self._last_failure = error
        if isinstance(error, CommitFailed):
            log.log(level, "automatic commit refused, its records may be read again: %s", error)
        elif error is not None:
            log.log(level, "automatic commit failed: %s", error)
        if self._callback is not None:
            try:
                self._callback(offsets, error)
            except Exception:  # the caller's code; there is no call to raise it from
                log.exception("default_offset_commit_callback failed")
