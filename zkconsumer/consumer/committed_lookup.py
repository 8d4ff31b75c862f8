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
        ask: blocks until it knows.
        scope: owns the thread.
        wake: called when there is an answer.
        timeout_ms: for one question.
    """

    def __init__(
        self, ask: CommittedFetch, scope: ThreadScope, wake: Callable[[], None], *, timeout_ms: int
    ) -> None:
        self._ask = ask
        self._scope = scope
        self._wake = wake
        self._timeout_ms = timeout_ms
        self._questions: Mailbox[frozenset[TopicPartition] | None] = Mailbox()
        self._answers: Mailbox[CommittedResult] = Mailbox()
        self._runs = False

    def ask(self, partitions: frozenset[TopicPartition]) -> None:
        """Look these up; ``answers`` will have them."""
        if not self._runs:
            self._scope.spawn("committed", self._run, stop=partial(self._questions.put, None))
            # Now only: an interrupt may cost a thread too many, but not one too few.
            self._runs = True
        self._questions.put(partitions)

    def answers(self) -> list[CommittedResult]:
        """Those that came since the last call."""
        return self._answers.drain()

    def _run(self) -> None:
        while (partitions := self._questions.get()) is not None:
            try:
                answer = CommittedResult(
                    partitions, self._ask(partitions, timeout_ms=self._timeout_ms)
                )
            except ConsumerClosed:
                return
            except ZkConsumerError as error:
                answer = CommittedResult(partitions, without_frames(error))
            self._answers.put(answer)
            self._wake()
