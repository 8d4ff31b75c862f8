"""Defines what the connector's automatic commits guarantee about the messages they cover.

=================  ==========================================  ===================================
mode               a message is consumed                       a crash
=================  ==========================================  ===================================
``at_least_once``  when the next one is requested              repeats some messages, loses none
``scala``          when it is handed over, before the caller   repeats some, may lose the current
                   receives it                                 message of each stream
``at_most_once``   when it is handed over; its offset was      repeats none, may lose the rest of
                   committed before                            one chunk of each partition
=================  ==========================================  ===================================

Source: Kafka 0.8.2.2 ``ConsumerIterator.next`` for ``scala``; the others have no counterpart.
"""

from collections.abc import Callable
from enum import StrEnum

from zkconsumer.fetch.claim import PartitionClaim

CommitAhead = Callable[[PartitionClaim, int], bool]
"""Commits this offset for the claim before any message below it is handed over; may block.

True: committed. False: the claim is no longer ours, or another member committed further. Raises
``ZkConsumerError`` if it failed or the outcome is unknown: the stream raises that, and retries the
commit on the next call. Thread: any."""


class Delivery(StrEnum):
    """The values of ``delivery``."""

    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"
    SCALA = "scala"

    @property
    def consumes_delivered(self) -> bool:
        """Whether the message that the caller has counts as consumed."""
        return self is not Delivery.AT_LEAST_ONCE

    @property
    def commits_ahead(self) -> bool:
        """Whether a chunk's end is committed before its first record is handed over."""
        return self is Delivery.AT_MOST_ONCE
