"""The question for committed positions on its way: what is answered, and what is asked again. Pure.

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
from zkconsumer.offsets.coordinator_state import passes


class ReadJob:
    """One call of ``committed``.

    Attributes:
        left: what has no answer yet.
        found: the answers.
        error: why there will be no more; None: all is well so far.
        due_ms: when to ask.
        on_end: to be told when there is nothing more to ask.
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
        self._reason = "nobody was asked in time"
        self.left = frozenset(partitions)
        self.found: dict[TopicPartition, OffsetAndMetadata | None] = {}
        self.error: ZkConsumerError | None = None
        self.due_ms = 0
        self.on_end = on_end

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to ask."""
        return self.error is not None or not self.left

    def on_response(self, positions: Positions) -> int | None:
        """An answer; gives a code that passes, if there is one."""
        codes = dict(positions.codes)
        if positions.code != ErrorCode.NONE:
            codes = dict.fromkeys(self.left, positions.code)
        # A broker that has just started may not have heard of all topics: "nothing" would be a lie.
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        final = {tp: code for tp, code in codes.items() if not (passes(code) or code == unknown)}
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
            self._reason = "the answer left partitions out"
            return int(ErrorCode.UNKNOWN)
        return None

    def end(self, error: ZkConsumerError) -> None:
        """There will be no more answers."""
        self.error = self.error or error
        self.on_end()

    def failed(self, reason: str) -> None:
        """Nobody answered."""
        self._reason = reason

    def postpone(self, now_ms: int, backoff: Backoff) -> None:
        """Ask again later."""
        self.due_ms = now_ms + backoff.delay_ms(self._tries, 0.0)
        self._tries += 1

    def timed_out(self) -> RequestTimedOut:
        """The time is over."""
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
