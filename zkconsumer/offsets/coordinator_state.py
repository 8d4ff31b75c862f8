"""The next step of a call to a group's offset coordinator. Pure.

A call looks the coordinator up if there is no connection to it, sends its requests, and judges the
responses. Retriable failures are retried after a pause, up to a number of tries (commits) or until
the time is over (fetches). Only one failure is not counted: a connection of an earlier call that
turns out to be closed, as 0.8.2 brokers do with connections idle for ten minutes.

Source: Kafka 0.8.2.2 ``ClientUtils.channelToOffsetManager``, ``ZookeeperConsumerConnector`` with
``offsets.storage=kafka``, which may take for ever.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from zkconsumer.error_codes import ErrorCode

TOO_OLD_ROUNDS: Final = 3
"""Rounds in a row in which every broker hung up, after which they count as too old."""

LEAST_PAUSE_MS: Final = 20
"""Minimum pause, even with ``offsets.channel.backoff.ms=0``, for a broker that needs time."""

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


def judge(codes: Iterable[int]) -> ResponseOutcome:
    """Return the outcome of a response, from the error codes of all its partitions.

    Which codes are retriable differs from ``ErrorCode.retriable``, which is about topics: only
    the coordinator's own troubles count here. Metadata that is too large, a group with members of
    another kind, and a deleted topic stay so.
    """
    found = {ErrorCode.of(code) for code in codes}
    if found & _LOOK_UP:
        return ResponseOutcome.LOOK_UP
    return ResponseOutcome.RETRY if found & _RETRY else ResponseOutcome.DONE


def passes(code: int) -> bool:
    """Return whether this error code is retriable here."""
    return judge((code,)) is not ResponseOutcome.DONE


# --- The result of a try, and the next step -------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """The result of one try: a lookup of the coordinator if needed, and its requests.

    Attributes:
        outcome: the outcome of the coordinator's response; None: there was none.
        reason: why there was none.
        closed: whether the coordinator closed the connection, or could not be connected to.
        all_hung_up: whether it was looked up, there were brokers, and each closed the connection
            instead of responding.
    """

    outcome: ResponseOutcome | None = None
    reason: str = ""
    closed: bool = False
    all_hung_up: bool = False


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait for this time, maybe 0; then see ``CoordinatorCall.after_pause``."""

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
        inherited: whether there is a connection of an earlier call.
        tries: the limit of tries; None: until the time is over.
        backoff_ms: the pause between two tries.
        deadline_ms: when the time is over.
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

    def after(self, tried: Tried, now_ms: int) -> Pause | End:
        """Return the next step after a try."""
        inherited, self._inherited = self._inherited, False
        self._rounds_hung_up = self._rounds_hung_up + 1 if tried.all_hung_up else 0
        if tried.outcome is ResponseOutcome.DONE:
            return Finish()
        if self._rounds_hung_up >= TOO_OLD_ROUNDS:
            return RequestFailed(tried.reason, too_old=True)
        self._too_late = self._end_with(tried, now_ms)
        if inherited and tried.closed:
            return Pause(0)
        if self._tries_left is not None:
            self._tries_left -= 1
            if self._tries_left <= 0:
                return self._too_late
        if now_ms + self._backoff_ms >= self._deadline_ms:
            return self._too_late
        return Pause(self._backoff_ms)

    def _end_with(self, tried: Tried, now_ms: int) -> End:
        """Return the end, should this be the last try.

        The end of the time may cut the last try short, whose silence then says little: the response
        to an earlier try comes first.
        """
        if tried.outcome is not None:
            return Finish()
        earlier = self._too_late
        if now_ms < self._deadline_ms or not isinstance(earlier, RequestFailed):
            return RequestFailed(tried.reason)
        if earlier.reason == tried.reason:
            return earlier
        return RequestFailed(f"{earlier.reason}; then {tried.reason}, as time was over")

    def after_pause(self, now_ms: int) -> End | None:
        """Return the end of the call if the pause took too long; None: try again."""
        return None if now_ms < self._deadline_ms else self._too_late
