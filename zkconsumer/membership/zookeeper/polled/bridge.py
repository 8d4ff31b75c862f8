"""The control thread's side of the bridge between a member and the caller that polls.

A rebalance that revokes partitions waits here for the caller, which may be processing the last
poll's records. It waits for a limited time only: Scala members of the group give up after some
tries, and would be left without partitions. A caller that polls too late has lost its partitions.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from zkconsumer.clock import Clock
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.membership.protocol import Partitions
from zkconsumer.model import ConsumerThreadId, TopicPartition

log = logging.getLogger(__name__)


class PartitionsRequested:
    """Partitions that others wait for: the caller may finish their records and commit.

    Either the caller begins the hand-over in time, or the notice expires; never both: whichever
    thread calls ``take`` first.

    Attributes:
        partitions: the partitions.
        done: whether the caller is done. Written by its thread.
    """

    def __init__(self, partitions: Partitions) -> None:
        self.partitions = partitions
        self.done = False
        # One item, which only one of the two threads can take: no lock is needed.
        self._token: deque[None] = deque([None])

    def take(self) -> bool:
        """Begin the hand-over, or let it expire; return False if the other thread did first."""
        try:
            self._token.pop()
        except IndexError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class ClaimsLost:
    """Partitions that were lost without a hand-over."""

    partitions: Partitions


@dataclass(frozen=True, slots=True)
class Started:
    """A rebalance has finished; these claims are new."""

    claims: tuple[PartitionClaim, ...]


Notice = PartitionsRequested | ClaimsLost | Started


class Bridge:
    """Turns a member's listener calls and claims into notices for the caller. Thread: control.

    Args:
        signal: called whenever there is a notice; must only notify.
        grace_ms: how long to wait for the caller.
        clock: measures that wait.

    Attributes:
        attend: ``ControlThread.attend``; set once, before the thread runs.
        notices: the notices for the caller's thread, in order.
    """

    attend: Callable[[Callable[[], bool], int], None]

    def __init__(self, signal: Callable[[], None], *, grace_ms: int, clock: Clock) -> None:
        self._signal = signal
        self._grace_ms = grace_ms
        self._clock = clock
        self.notices: deque[Notice] = deque()

    # --- as a rebalance listener ----------------------------------------------------------

    def before_releasing_partitions(self, ownership: Mapping[str, frozenset[int]]) -> None:
        """See ``ConsumerRebalanceListener``."""
        partitions = frozenset(
            TopicPartition(topic, number)
            for topic, numbers in ownership.items()
            for number in numbers
        )
        transfer = PartitionsRequested(partitions)
        self._put(transfer)
        self.attend(lambda: transfer.done, self._clock.now_ms() + self._grace_ms)
        if transfer.take():
            log.warning(
                "no poll within %d ms: handed over without a commit of the records in progress: %s",
                self._grace_ms,
                ", ".join(map(format, sorted(partitions))),
            )
        elif not transfer.done:
            log.warning(
                "a listener takes longer than %d ms: handed over without waiting for it: %s",
                self._grace_ms,
                ", ".join(map(format, sorted(partitions))),
            )

    def before_starting_fetchers(
        self,
        consumer_id: str,
        global_assignment: Mapping[str, Mapping[int, ConsumerThreadId]],
    ) -> None:
        """See ``ConsumerRebalanceListener``: the new claims follow with ``add``."""

    def on_lost(self, partitions: Partitions) -> None:
        """See ``ListenerCalls.on_lost``."""
        self._put(ClaimsLost(partitions))

    # --- as ``Fetching`` ------------------------------------------------------------------

    def add(self, claims: Iterable[tuple[PartitionClaim, int | None]]) -> None:
        """See ``Fetching``."""
        self._put(Started(tuple(claim for claim, _ in claims)))

    def wake(self) -> None:
        """See ``Fetching``: a no-op, since claims are checked before each hand-out."""

    def _put(self, notice: Notice) -> None:
        self.notices.append(notice)
        self._signal()
