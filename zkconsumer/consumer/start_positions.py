"""Where to read partitions from that came new: where the group stands, or else by the policy.

The policy ``latest`` is for what was there when we began to look. A partition that came later is
read from its beginning where ``auto.offset.reset.new.partitions`` says so: all that is in it was
written since.

What the caller seeks itself meanwhile stays. An answer about a partition that went away in between,
and perhaps came back, says nothing of it any more: others may have committed since.

Source: Kafka ``ConsumerCoordinator.initWithCommittedOffsetsIfNeeded``, KAFKA-4790.
"""

import logging
from collections import deque
from collections.abc import Iterable
from typing import Protocol

from zkconsumer.consumer.committed_lookup import CommittedResult
from zkconsumer.errors import (
    NoOffsetForPartition,
    RequestTimedOut,
    TransportError,
    ZkConsumerError,
)
from zkconsumer.fetch.core.starts import EARLIEST, LATEST, AtOffset, Reset, ResetPolicy, Start
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.repeats import Repeats

log = logging.getLogger(__name__)

_ABOUT = "asking for committed offsets"


class Seekable(Protocol):
    """What this needs of the engine."""

    def seek(self, tp: TopicPartition, start: Start) -> None:
        """Read on from there."""
        ...


class Lookup(Protocol):
    """What this needs of the group; see ``CommittedLookup``."""

    def request(self, partitions: frozenset[TopicPartition]) -> None:
        """Look these up."""
        ...

    def responses(self) -> list[CommittedResult]:
        """What was found since."""
        ...


class KnownTopics(Protocol):
    """What this needs of the metadata; see ``MetadataManager``."""

    def is_new(self, tp: TopicPartition) -> bool | None:
        """Return whether it came to be since its topic is watched; None: not known yet."""
        ...


class StartPositions:
    """Thread: the caller's.

    Args:
        engine: gets the positions.
        lookup: knows what is committed; None where there is no group.
        policy: where nothing is committed; None: that is the caller's problem.
        topics: knows which partitions are new, where these are to be read from their beginning
            in spite of a policy ``LATEST``; None: they are not.
    """

    def __init__(
        self,
        engine: Seekable,
        lookup: Lookup | None,
        policy: ResetPolicy | None,
        topics: KnownTopics | None = None,
    ) -> None:
        self._engine = engine
        self._lookup = lookup
        self._policy = policy
        self._topics = topics if policy is LATEST else None
        self._unresolved: set[TopicPartition] = set()
        self._requested: dict[TopicPartition, frozenset[TopicPartition]] = {}
        self._missing: set[TopicPartition] = set()
        self._to_judge: set[TopicPartition] = set()
        self._received: deque[CommittedResult] = deque()
        self._repeats = Repeats(log)

    @property
    def is_settled(self) -> bool:
        """Whether no partition waits for an answer, or for the caller."""
        return not (self._unresolved or self._requested or self._missing or self._to_judge)

    def came(self, partitions: Iterable[TopicPartition]) -> None:
        """These are new, and without a position."""
        self._unresolved.update(partitions)

    def settle(self, partitions: Iterable[TopicPartition]) -> None:
        """These went away, or have a position from elsewhere."""
        for tp in partitions:
            self._unresolved.discard(tp)
            self._requested.pop(tp, None)
            self._missing.discard(tp)
            self._to_judge.discard(tp)

    def advance(self) -> None:
        """Ask what is to be asked, and use what was found.

        Raises:
            NoOffsetForPartition: nothing is committed and there is no policy; each time, until
                the caller seeks.
            ZkConsumerError: the group does not say; the next call asks again.
        """
        if self.is_settled:
            return
        failure: ZkConsumerError | None = None
        self._on_notice()
        while self._received:
            # What a signal handler's exception interrupts is done again, before anything is read.
            failure = self._take(self._received[0]) or failure
            self._received.popleft()
        for tp in list(self._to_judge):
            self._fall_back(tp)
        if self._unresolved and failure is None:
            self._request()
        if failure is not None:
            raise failure
        if self._missing:
            raise NoOffsetForPartition(self._missing)

    def _on_notice(self) -> None:
        if self._lookup is None:
            return
        try:
            self._received.extend(self._lookup.responses())
        except BaseException:
            # An answer may be lost with it.
            self._unresolved.update(self._requested)
            raise

    def _request(self) -> None:
        # One object for each question: an answer counts for whom it was asked for last.
        lookup = frozenset(self._unresolved)
        if self._lookup is None:
            for tp in lookup:
                self._fall_back(tp)
        else:
            self._requested.update(dict.fromkeys(lookup, lookup))
            self._lookup.request(lookup)
        # Last: what an interrupt leaves to be asked is asked again.
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
                text = f"committed offsets not known yet, asking again: {response.found}"
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
            log.info("%s: read on from the committed offset %d", f"{tp}", committed.offset)
            self._engine.seek(tp, AtOffset(committed.offset, committed.leader_epoch))

    def _fall_back(self, tp: TopicPartition) -> None:
        is_new = False if self._topics is None else self._topics.is_new(tp)
        if self._policy is None:
            self._missing.add(tp)
        elif is_new is None:
            self._to_judge.add(tp)
            return
        elif is_new:
            log.info("%s: read from its beginning, as it came to be after the first look", f"{tp}")
            self._engine.seek(tp, Reset(EARLIEST))
        else:
            self._engine.seek(tp, Reset(self._policy))
        self._to_judge.discard(tp)
