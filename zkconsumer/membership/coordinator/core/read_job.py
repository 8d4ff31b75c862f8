"""One read of committed offsets in progress: its results, and the partitions left. Pure.

Source: Kafka ``ConsumerCoordinator.OffsetFetchResponseHandler``.
"""

from collections.abc import Callable, Collection

from zkconsumer.backoff import Backoff
from zkconsumer.error_codes import ErrorCode, explained
from zkconsumer.errors import (
    GroupFailed,
    RequestTimedOut,
    TopicAuthorizationFailed,
    ZkConsumerError,
)
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.coordinator_requests import Positions
from zkconsumer.offsets.coordinator_state import is_retriable


class ReadJob:
    """The job of one call to ``committed``.

    Attributes:
        left: the partitions without a result.
        found: the results.
        error: the final error; None: none so far.
        due_ms: when to send the next request.
        on_end: called when the job has ended.
    """

    def __init__(
        self,
        group_id: str,
        partitions: Collection[TopicPartition],
        *,
        on_end: Callable[[], None],
    ) -> None:
        self._group_id = group_id
        self._tries = 0
        self._reason = "no request was sent in time"
        self.left = frozenset(partitions)
        self.found: dict[TopicPartition, OffsetAndMetadata | None] = {}
        self.error: ZkConsumerError | None = None
        self.due_ms = 0
        self.on_end = on_end

    @property
    def ended(self) -> bool:
        """Whether no request is left to send."""
        return self.error is not None or not self.left

    def on_response(self, positions: Positions) -> int | None:
        """Process a response; return a retriable error code, or None."""
        codes = dict(positions.codes)
        if positions.code != ErrorCode.NONE:
            codes = dict.fromkeys(self.left, positions.code)
        # A broker that has just started may not know all topics: "no offset" would be wrong.
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        final = {
            tp: code for tp, code in codes.items() if not (is_retriable(code) or code == unknown)
        }
        if final:
            self.error = self._outcome(final)
            return None
        for tp, position in positions.found.items():
            if tp in self.left and tp not in codes:
                self.found[tp] = position
        self.left -= self.found.keys()
        for code in codes.values():
            self._reason = explained(code)
            return code
        if self.left:
            self._reason = "the response lacks partitions"
            return int(ErrorCode.UNKNOWN)
        return None

    def end(self, error: ZkConsumerError) -> None:
        """End the job with an error, unless it already has one."""
        self.error = self.error or error
        self.on_end()

    def failed(self, reason: str) -> None:
        """Record why no response came."""
        self._reason = reason

    def postpone(self, now_ms: int, backoff: Backoff) -> None:
        """Schedule the next request."""
        self.due_ms = now_ms + backoff.delay_ms(self._tries, 0.0)
        self._tries += 1

    def timed_out(self) -> RequestTimedOut:
        """Return the error for a time-out."""
        return RequestTimedOut(
            f"group {self._group_id}: its committed offsets could not be read in time: "
            f"{self._reason}"
        )

    def _outcome(self, codes: dict[TopicPartition, int]) -> ZkConsumerError:
        if all(code == ErrorCode.TOPIC_AUTHORIZATION_FAILED for code in codes.values()):
            return TopicAuthorizationFailed({tp.topic for tp in codes})
        code = next(code for code in codes.values() if code != ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        why = f"OffsetFetch was refused with {explained(code)}"
        return GroupFailed(self._group_id, why, code=code)
