"""What to do next on the way to an answer of a group's offset coordinator; pure. Pure.

A call looks for the coordinator if there is no channel to it, asks, and judges the answer. What
fails for a reason that passes is tried again after a pause, up to a number of tries (commits) or
until the time is over (fetches). Only one failure is not counted: a channel from an earlier call
that turns out to be closed, as 0.8.2 brokers do with connections idle for ten minutes.

Source: Kafka 0.8.2.2 ``ClientUtils.channelToOffsetManager``, ``ZookeeperConsumerConnector`` with
``offsets.storage=kafka``. Unlike there, nothing goes on for ever.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from zkconsumer.error_codes import ErrorCode

TOO_OLD_ROUNDS: Final = 3
"""So many rounds in a row in which every broker hung up at the question: none of them knows it."""

LEAST_PAUSE_MS: Final = 20
"""Also with ``offsets.channel.backoff.ms=0``: a broker that says "later" is not to be hammered."""

_ASK_AGAIN: Final = frozenset(
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
"""Codes in place of a coordinator that stay, whoever is asked."""


class ResponseOutcome(Enum):
    """What an answer is worth."""

    DONE = "it stands: asking again changes nothing"
    ASK_AGAIN = "the same coordinator may answer better later"
    LOOK_UP = "another broker may be the coordinator by now"


def judge(codes: Iterable[int]) -> ResponseOutcome:
    """The verdict on an answer, from the error codes of all its partitions.

    Whether a code passes is not always what ``ErrorCode.retriable`` says, which is about topics:
    only the coordinator's own troubles count here. Metadata that is too large, a group that is
    used otherwise, and a topic that is gone stay so.
    """
    found = {ErrorCode.of(code) for code in codes}
    if found & _LOOK_UP:
        return ResponseOutcome.LOOK_UP
    return ResponseOutcome.ASK_AGAIN if found & _ASK_AGAIN else ResponseOutcome.DONE


def passes(code: int) -> bool:
    """Return whether this error code is one that passes."""
    return judge((code,)) is not ResponseOutcome.DONE


# --- What a try comes to, and what to do then -----------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came of one try: a look for the coordinator where it is not known, and a question to it.

    Attributes:
        outcome: on the coordinator's answer; None: there was none.
        reason: why there was none.
        closed: the coordinator closed the connection, or had, or could not be connected to.
        all_hung_up: it was looked for, there were brokers, and each closed the connection instead
            of answering.
    """

    outcome: ResponseOutcome | None = None
    reason: str = ""
    closed: bool = False
    all_hung_up: bool = False


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait so long, maybe not at all; then see ``CoordinatorCall.after_pause``."""

    delay_ms: int


@dataclass(frozen=True, slots=True)
class Finish:
    """The last answer stands, whatever it says."""


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """No answer is to be had.

    Attributes:
        reason: the last failure.
        too_old: the brokers seem not to know the question.
    """

    reason: str
    too_old: bool = False


End: TypeAlias = Finish | RequestFailed


class CoordinatorCall:
    """One call: tell it what each try came to, and do what it says, until it ends.

    Args:
        inherited: whether there is a connection from an earlier call.
        tries: how often to try in all; None: until the time is over.
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
        """Say what to do after a try."""
        inherited, self._inherited = self._inherited, False
        self._rounds_hung_up = self._rounds_hung_up + 1 if tried.all_hung_up else 0
        if tried.outcome is ResponseOutcome.DONE:
            return Finish()
        if self._rounds_hung_up >= TOO_OLD_ROUNDS:
            return RequestFailed(tried.reason, too_old=True)
        self._too_late = Finish() if tried.outcome is not None else RequestFailed(tried.reason)
        if inherited and tried.closed:
            return Pause(0)
        if self._tries_left is not None:
            self._tries_left -= 1
            if self._tries_left <= 0:
                return self._too_late
        if now_ms + self._backoff_ms >= self._deadline_ms:
            return self._too_late
        return Pause(self._backoff_ms)

    def after_pause(self, now_ms: int) -> End | None:
        """Say how the call ends where the pause took longer than it should; None: try again."""
        return None if now_ms < self._deadline_ms else self._too_late
