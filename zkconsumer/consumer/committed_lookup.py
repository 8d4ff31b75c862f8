"""Reads committed offsets in the background, so that a poll does not wait for the coordinator.

A thread runs from the first request on, since a membership's lookup blocks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from zkconsumer.errors import ConsumerClosed, ZkConsumerError, without_frames
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.scope import Mailbox, ThreadScope

Found = Mapping[TopicPartition, OffsetAndMetadata | None]


class CommittedFetch(Protocol):
    """``Membership.committed``."""

    def __call__(self, partitions: frozenset[TopicPartition], /, *, timeout_ms: int) -> Found:
        """See ``Membership.committed``."""
        ...


@dataclass(frozen=True, slots=True)
class CommittedResult:
    """The committed offsets of some partitions, or the error."""

    partitions: frozenset[TopicPartition]
    found: Found | ZkConsumerError


class CommittedLookup:
    """Reads committed offsets in a thread of its own. Thread: the caller's.

    Args:
        request: reads committed offsets, and blocks meanwhile. Thread: its own.
        wake: called when there is a result. Thread: its own.
        timeout_ms: the time limit of one request.
    """

    def __init__(
        self,
        request: CommittedFetch,
        scope: ThreadScope,
        wake: Callable[[], None],
        *,
        timeout_ms: int,
    ) -> None:
        self._request = request
        self._scope = scope
        self._wake = wake
        self._timeout_ms = timeout_ms
        self._lookups: Mailbox[frozenset[TopicPartition] | None] = Mailbox()
        self._responses: Mailbox[CommittedResult] = Mailbox()
        self._runs = False

    def request(self, partitions: frozenset[TopicPartition]) -> None:
        """Start reading the committed offsets of partitions; see ``responses``."""
        if not self._runs:
            self._scope.spawn("committed", self._run, stop=partial(self._lookups.put, None))
            # Only now: an interrupt may start one thread too many, but not one too few.
            self._runs = True
        self._lookups.put(partitions)

    def responses(self) -> list[CommittedResult]:
        """Return the results since the last call."""
        return self._responses.drain()

    def _run(self) -> None:
        while (partitions := self._lookups.get()) is not None:
            try:
                response = CommittedResult(
                    partitions, self._request(partitions, timeout_ms=self._timeout_ms)
                )
            except ConsumerClosed:
                return
            except ZkConsumerError as error:
                response = CommittedResult(partitions, without_frames(error))
            self._responses.put(response)
            self._wake()
