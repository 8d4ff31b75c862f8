"""What a commit that the connector makes by itself promises about the messages it covers.

=================  ==========================================  ===================================
mode               a message is consumed                       a crash
=================  ==========================================  ===================================
``at_least_once``  when the next one is asked for              repeats some messages, loses none
``scala``          when it is handed over, before the caller   repeats some, may lose the one in
                   has it                                      hand of each stream
``at_most_once``   when it is handed over; its offset was      repeats none, may lose the rest of
                   committed before                            one chunk of each partition
=================  ==========================================  ===================================

Source: Kafka 0.8.2.2 ``ConsumerIterator.next`` for ``scala``; the others have no counterpart.
"""

from collections.abc import Callable
from enum import StrEnum

from zkconsumer.fetch.claim import PartitionClaim

CommitAhead = Callable[[PartitionClaim, int], bool]
"""Commits this offset for the claim before anything below it is handed over; may block.

True: it is committed. False: the claim is not ours any more. Raises ``ZkConsumerError`` where
nobody knows, or it failed: the stream raises that, and tries the same again when it is asked again.
Thread: any."""


class Delivery(StrEnum):
    """The values of ``delivery``."""

    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"
    SCALA = "scala"

    @property
    def consumes_in_hand(self) -> bool:
        """Whether the message in hand counts as consumed."""
        return self is not Delivery.AT_LEAST_ONCE

    @property
    def commits_ahead(self) -> bool:
        """Whether a chunk's end is committed before its first record is handed over."""
        return self is Delivery.AT_MOST_ONCE
