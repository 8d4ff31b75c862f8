"""Reads committed offsets in the background, so that a poll does not wait for the coordinator.

A membership's lookup blocks, so it runs in a thread, which is started by the first request.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from zkconsumer.errors import ConsumerClosed, ZkConsumerError, without_frames
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.scope import Mailbox, ThreadScope

Found = Mapping[TopicPartition, OffsetAndMetadata | None]


class CommittedResult(NamedTuple):
    """The committed offsets of some partitions, or the error of the lookup."""

    partitions: frozenset[TopicPartition]
    found: Found | ZkConsumerError


class CommittedLookup:
    """Reads committed offsets in a thread of its own. Thread of its methods: the caller's.

    Args:
        request: reads committed offsets, and blocks meanwhile. Thread: the lookup's.
        wake: called when there is a result. Thread: the lookup's.
    """

    def __init__(
        self,
        request: Callable[[frozenset[TopicPartition]], Found],
        scope: ThreadScope,
        wake: Callable[[], None],
    ) -> None:
        self._request = request
        self._scope = scope
        self._wake = wake
        self._lookups: Mailbox[frozenset[TopicPartition] | None] = Mailbox()
        self._responses: Mailbox[CommittedResult] = Mailbox()
        self._runs = False

    def request(self, partitions: frozenset[TopicPartition]) -> None:
        """Start a lookup of committed offsets; ``responses`` returns the result."""
        if not self._runs:
            self._scope.spawn("committed", self._run, stop=partial(self._lookups.put, None))
            # Only now: an interrupt may leave one thread too many, but never none.
            self._runs = True
        self._lookups.put(partitions)

    def responses(self) -> list[CommittedResult]:
        """Return the results since the last call."""
        return self._responses.drain()

    def _run(self) -> None:
        while (partitions := self._lookups.get()) is not None:
            try:
                response = CommittedResult(partitions, self._request(partitions))
            except ConsumerClosed:
                return
            except ZkConsumerError as error:
                response = CommittedResult(partitions, without_frames(error))
            self._responses.put(response)
            self._wake()
