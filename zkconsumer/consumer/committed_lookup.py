"""Reads committed positions beside the caller: a poll does not wait for the coordinator.

It runs a thread of its own from the first question on, since a membership answers when it knows.
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
        """See there."""
        ...


@dataclass(frozen=True, slots=True)
class CommittedResult:
    """What was found for a question, or why nothing was."""

    partitions: frozenset[TopicPartition]
    found: Found | ZkConsumerError


class CommittedLookup:
    """Thread: the caller's, but for its own.

    Args:
        request: blocks until it knows.
        scope: owns the thread.
        wake: called when there is an answer.
        timeout_ms: for one question.
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
        """Look these up; ``responses`` will have them."""
        if not self._runs:
            self._scope.spawn("committed", self._run, stop=partial(self._lookups.put, None))
            # Now only: an interrupt may cost a thread too many, but not one too few.
            self._runs = True
        self._lookups.put(partitions)

    def responses(self) -> list[CommittedResult]:
        """Those that came since the last call."""
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
