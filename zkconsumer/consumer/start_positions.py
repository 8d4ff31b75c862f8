"""Determines start positions of new partitions: committed offsets, or the reset policy.

The policy ``latest`` applies to partitions that existed when the topic was first seen. A later
partition is read from its beginning if ``auto.offset.reset.new.partitions`` says so, since all its
records were written after that.

A position that the caller sets meanwhile takes precedence. The result for a partition that was
revoked, and perhaps assigned again, is discarded: other members may have committed since.

Source: Kafka ``ConsumerCoordinator.initWithCommittedOffsetsIfNeeded``, KAFKA-4790.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable

from zkconsumer.consumer.committed_lookup import CommittedLookup, CommittedResult
from zkconsumer.errors import (
    NoOffsetForPartition,
    RequestTimedOut,
    TransportError,
    ZkConsumerError,
)
from zkconsumer.fetch.core.starts import EARLIEST, LATEST, LogEdge, PositionView, Start
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.repeats import Repeats

log = logging.getLogger(__name__)

_ABOUT = "looking up committed offsets"


class StartPositions:
    """Determines the positions of new partitions. Thread: the caller's.

    Args:
        seek: continues reading a partition at a start.
        lookup: reads committed offsets; None without a group.
        policy: the reset policy without a committed offset; None: raise to the caller.
        is_new: returns whether a partition was created after its topic was watched (None: unknown),
            to be read from its beginning despite a policy of ``LATEST``; None: the policy applies
            to it, too.
    """

    def __init__(
        self,
        seek: Callable[[TopicPartition, Start], None],
        lookup: CommittedLookup | None,
        policy: LogEdge | None,
        is_new: Callable[[TopicPartition], bool | None] | None = None,
    ) -> None:
        self._seek = seek
        self._lookup = lookup
        self._policy = policy
        self._is_new = is_new if policy is LATEST else None
        self._unresolved: set[TopicPartition] = set()
        self._requested: dict[TopicPartition, frozenset[TopicPartition]] = {}
        self._missing: set[TopicPartition] = set()
        self._undecided: set[TopicPartition] = set()
        self._received: deque[CommittedResult] = deque()
        self._repeats = Repeats(log)

    @property
    def is_settled(self) -> bool:
        """Whether no partition waits for a result, or for a ``seek`` of the caller."""
        return not (self._unresolved or self._requested or self._missing or self._undecided)

    def came(self, partitions: Iterable[TopicPartition]) -> None:
        """Add partitions whose positions are to be determined."""
        self._unresolved.update(partitions)

    def settle(self, partitions: Iterable[TopicPartition]) -> None:
        """Remove partitions that were revoked, or whose positions the caller has set."""
        for tp in partitions:
            self._unresolved.discard(tp)
            self._requested.pop(tp, None)
            self._missing.discard(tp)
            self._undecided.discard(tp)

    def advance(self) -> None:
        """Start the lookups that are due, and apply the results of earlier ones.

        Raises:
            NoOffsetForPartition: no offset is committed and there is no policy; raised by each call
                until the caller seeks.
            ZkConsumerError: the lookup failed; the next call repeats it.
        """
        if self.is_settled:
            return
        failure: ZkConsumerError | None = None
        self._take_responses()
        while self._received:
            # Removed last: work that a signal handler interrupts is repeated by the next call.
            failure = self._take(self._received[0]) or failure
            self._received.popleft()
        for tp in list(self._undecided):
            self._fall_back(tp)
        if self._unresolved and failure is None:
            self._request()
        if failure is not None:
            raise failure
        if self._missing:
            raise NoOffsetForPartition(self._missing)

    def _take_responses(self) -> None:
        if self._lookup is None:
            return
        try:
            self._received.extend(self._lookup.responses())
        except BaseException:
            # The exception may have lost a result, so repeat all lookups.
            self._unresolved.update(self._requested)
            raise

    def _request(self) -> None:
        # Each lookup is a new object: only the result of a partition's last lookup counts.
        lookup = frozenset(self._unresolved)
        if self._lookup is None:
            for tp in lookup:
                self._fall_back(tp)
        else:
            self._requested.update(dict.fromkeys(lookup, lookup))
            self._lookup.request(lookup)
        # Last: partitions that an interrupt leaves unresolved are looked up again.
        self._unresolved -= lookup

    def _take(self, response: CommittedResult) -> ZkConsumerError | None:
        current = [
            tp for tp in response.partitions if self._requested.get(tp) is response.partitions
        ]
        failure: ZkConsumerError | None = None
        if isinstance(response.found, ZkConsumerError):
            self._unresolved.update(current)
            for tp in current:
                self._requested.pop(tp, None)
            if isinstance(response.found, TransportError | RequestTimedOut):
                text = f"could not read committed offsets, retrying: {response.found}"
                self._repeats.happened(_ABOUT, text)
            else:
                failure = response.found if current else None
        else:
            self._repeats.works(_ABOUT)
            for tp in current:
                self._start(tp, response.found.get(tp))
                self._unresolved.discard(tp)
                self._requested.pop(tp, None)
        return failure

    def _start(self, tp: TopicPartition, committed: OffsetAndMetadata | None) -> None:
        if committed is None:
            self._fall_back(tp)
        else:
            log.info("%s: reading from the committed offset %d", f"{tp}", committed.offset)
            self._seek(tp, PositionView(committed.offset, committed.leader_epoch))

    def _fall_back(self, tp: TopicPartition) -> None:
        is_new = False if self._is_new is None else self._is_new(tp)
        if self._policy is None:
            self._missing.add(tp)
        elif is_new is None:
            self._undecided.add(tp)
            return
        elif is_new:
            log.info(
                "%s: reading from its beginning, as it was created after the first metadata",
                f"{tp}",
            )
            self._seek(tp, EARLIEST)
        else:
            self._seek(tp, self._policy)
        self._undecided.discard(tp)
