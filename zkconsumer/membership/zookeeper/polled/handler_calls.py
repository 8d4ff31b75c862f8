"""Processes the control thread's notices by calling the handler, in the caller's thread."""

import logging
from collections import deque
from collections.abc import Callable

from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.membership.protocol import OwnershipHandler, Partitions, RevocationKind
from zkconsumer.membership.zookeeper.polled.bridge import (
    ClaimsLost,
    Notice,
    PartitionsRequested,
    Started,
)
from zkconsumer.model import TopicPartition

log = logging.getLogger(__name__)


class HandlerCalls:
    """Calls the handler for each notice. Thread: the caller's.

    Args:
        handler: called when partitions come and go.
        notices: the notices of the control thread.
        nudge: makes the control thread check whether a hand-over is done.

    Attributes:
        joined: whether the caller has joined, so that finished rebalances count.
        rounds: how many rebalances have finished.
    """

    def __init__(
        self, handler: OwnershipHandler, notices: deque[Notice], nudge: Callable[[], None]
    ) -> None:
        self._handler = handler
        self._notices = notices
        self._nudge = nudge
        self._taken: dict[TopicPartition, PartitionClaim] = {}
        self._going: dict[TopicPartition, PartitionClaim] = {}
        self.joined = False
        self.rounds = 0

    def active(self) -> Partitions:
        """Return the partitions that were taken over and are ours now."""
        return frozenset(tp for tp, claim in self._taken.items() if claim.active)

    def claims(self) -> dict[TopicPartition, PartitionClaim]:
        """Return the claims that the caller reads, or is handing over now."""
        return self._taken | self._going

    def run(self) -> None:
        """Process the notices; raise the first error at the end.

        Raises:
            Exception: the handler's first error.
        """
        failed: Exception | None = None
        while self._notices:
            try:
                self._call(self._notices.popleft())
            except Exception as error:
                if failed is not None:
                    log.exception("the handler failed again")
                failed = failed or error
        if failed is not None:
            raise failed

    def lose_the_rest(self) -> None:
        """Report the partitions that were not handed over as lost, and drop all notices.

        Raises:
            Exception: the handler's error.
        """
        self.joined = False
        self._notices.clear()
        self._give_up(frozenset(self._taken), RevocationKind.LOST)

    def _call(self, notice: Notice) -> None:
        match notice:
            case PartitionsRequested():
                self._transfer(notice)
            case ClaimsLost(partitions):
                self._give_up(partitions, RevocationKind.LOST)
            case Started(claims) if self.joined:
                added = frozenset(claim.topic_partition for claim in claims) - self._taken.keys()
                self._taken.update((claim.topic_partition, claim) for claim in claims)
                self.rounds += 1
                self._handler.take_over(added, frozenset(self._taken))
            case Started():
                # The caller left before the rebalance finished: the join will be withdrawn.
                pass

    def _transfer(self, notice: PartitionsRequested) -> None:
        in_time = notice.take()
        if in_time:
            self._going = {
                tp: claim for tp, claim in self._taken.items() if tp in notice.partitions
            }
        try:
            self._give_up(
                notice.partitions, RevocationKind.REVOKED if in_time else RevocationKind.LOST
            )
        finally:
            self._going = {}
            notice.done = True
            self._nudge()

    def _give_up(self, partitions: Partitions, why: RevocationKind) -> None:
        ours = partitions & self._taken.keys()
        for tp in ours:
            del self._taken[tp]
        if ours:
            self._handler.give_up(ours, why)
