"""Decides the next step of a call to a group's offset coordinator. Pure.

A call looks up the coordinator if it is not known, sends its requests, and judges the responses.
Retriable failures are retried after a pause, up to a number of tries (commits) or until the time is
up (fetches). Only one failure is not counted: a connection of an earlier call turns out to be
closed, as brokers of 0.8.2 close connections that are idle for ten minutes.

Source: Kafka 0.8.2.2 ``ClientUtils.channelToOffsetManager``, ``ZookeeperConsumerConnector`` with
``offsets.storage=kafka``, which may retry for ever.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from zkconsumer.error_codes import ErrorCode

TOO_OLD_ROUNDS: Final = 3
"""Brokers that all close the connection in so many consecutive rounds count as too old."""

LEAST_PAUSE_MS: Final = 20
"""Minimum pause, even with ``offsets.channel.backoff.ms=0``, to give a broker time to recover."""

_RETRY: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
    }
)
_LOOK_UP: Final = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})

FINAL_AT_LOOK_UP: Final = frozenset(
    {ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.INVALID_GROUP_ID}
)
"""Error codes of a lookup that are the same from every broker."""


class ResponseOutcome(Enum):
    """What a response means for the call."""

    DONE = "it is final: another request changes nothing"
    RETRY = "the same coordinator may respond better later"
    LOOK_UP = "another broker may be the coordinator by now"


def outcome_of(codes: Iterable[int]) -> ResponseOutcome:
    """Return the outcome of a response, from the error codes of all its partitions.

    The retriable codes differ from those of ``ErrorCode.retriable``, which is about topics: here
    they are only those about the state of the coordinator. Metadata that is too large, a group with
    members of another kind, or a deleted topic would fail again.
    """
    found = {ErrorCode.of(code) for code in codes}
    if found & _LOOK_UP:
        return ResponseOutcome.LOOK_UP
    return ResponseOutcome.RETRY if found & _RETRY else ResponseOutcome.DONE


def is_retriable(code: int) -> bool:
    """Return whether this error code is retriable here."""
    return outcome_of((code,)) is not ResponseOutcome.DONE


# --- The result of a try, and the next step -------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """The result of one attempt: a lookup of the coordinator if needed, and its requests.

    Attributes:
        outcome: the outcome of the coordinator's response; None: there was no response.
        reason: why there was no response.
        closed: whether the coordinator closed the connection, or could not be connected to.
        all_hung_up: whether this was a lookup in which every broker closed the connection instead
            of responding.
    """

    outcome: ResponseOutcome | None = None
    reason: str = ""
    closed: bool = False
    all_hung_up: bool = False


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait for this time, which may be 0; then call ``CoordinatorCall.after_pause``."""

    delay_ms: int


@dataclass(frozen=True, slots=True)
class Finish:
    """End the call with the last response."""


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """End the call without a response.

    Attributes:
        reason: the last failure.
        too_old: whether the brokers seem not to support the request.
    """

    reason: str
    too_old: bool = False


End: TypeAlias = Finish | RequestFailed


class CoordinatorCall:
    """The state of one call: takes the result of each try, and returns the next step.

    Args:
        inherited: whether the coordinator is known from an earlier call.
        tries: the limit of tries; None: until the time is up.
        backoff_ms: the pause between two tries.
        deadline_ms: when the time is up.
    """

    def __init__(
        self, *, inherited: bool, tries: int | None, backoff_ms: int, deadline_ms: int
    ) -> None:
        self._inherited = inherited
        self._tries_left = tries
        self._backoff_ms = max(backoff_ms, LEAST_PAUSE_MS)
        self._deadline_ms = deadline_ms
        self._rounds_hung_up = 0
        self._too_late: End = Finish()

    def after(self, result: AttemptResult, now_ms: int) -> Pause | End:
        """Return the next step after a try."""
        inherited, self._inherited = self._inherited, False
        self._rounds_hung_up = self._rounds_hung_up + 1 if result.all_hung_up else 0
        if result.outcome is ResponseOutcome.DONE:
            return Finish()
        if self._rounds_hung_up >= TOO_OLD_ROUNDS:
            return RequestFailed(result.reason, too_old=True)
        self._too_late = self._end_with(result, now_ms)
        if inherited and result.closed:
            return Pause(0)
        if self._tries_left is not None:
            self._tries_left -= 1
            if self._tries_left <= 0:
                return self._too_late
        if now_ms + self._backoff_ms >= self._deadline_ms:
            return self._too_late
        return Pause(self._backoff_ms)

    def _end_with(self, result: AttemptResult, now_ms: int) -> End:
        """Return the end of the call if this is the last try.

        The deadline may have cut the last try short, so that its lack of a response says little:
        the result of an earlier try takes precedence.
        """
        if result.outcome is not None:
            return Finish()
        earlier = self._too_late
        if now_ms < self._deadline_ms or not isinstance(earlier, RequestFailed):
            return RequestFailed(result.reason)
        if earlier.reason == result.reason:
            return earlier
        return RequestFailed(f"{earlier.reason}; then {result.reason}, as time was over")

    def after_pause(self, now_ms: int) -> End | None:
        """Return the end of the call if the time is up after a pause; None: try again."""
        return None if now_ms < self._deadline_ms else self._too_late
