"""What to do next on the way to an answer of a group's offset coordinator; pure.

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
from typing import Final, TypeAlias, assert_never

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


class Verdict(Enum):
    """What an answer is worth."""

    DONE = "it stands: asking again changes nothing"
    ASK_AGAIN = "the same coordinator may answer better later"
    LOOK_UP = "another broker may be the coordinator by now"


def judge(codes: Iterable[int]) -> Verdict:
    """The verdict on an answer, from the error codes of all its partitions.

    Whether a code passes is not always what ``ErrorCode.retriable`` says, which is about topics:
    only the coordinator's own troubles count here. Metadata that is too large, a group that is
    used otherwise, and a topic that is gone stay so.
    """
    found = {ErrorCode.of(code) for code in codes}
    if found & _LOOK_UP:
        return Verdict.LOOK_UP
    return Verdict.ASK_AGAIN if found & _ASK_AGAIN else Verdict.DONE


def passes(code: int) -> bool:
    """Whether this error code is one that passes."""
    return judge((code,)) is not Verdict.DONE


# --- What a call does, and what comes of it -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LookUp:
    """Ask the brokers for the coordinator, and connect to it."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the coordinator over the channel."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait so long."""

    delay_ms: int


@dataclass(frozen=True, slots=True)
class Finish:
    """The last answer stands, whatever it says."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No answer is to be had.

    Attributes:
        reason: the last failure.
        too_old: the brokers seem not to know the question.
    """

    reason: str
    too_old: bool = False


Action: TypeAlias = LookUp | Ask | Pause | Finish | GiveUp


@dataclass(frozen=True, slots=True)
class Found:
    """There is a channel to the coordinator now."""


@dataclass(frozen=True, slots=True)
class NotFound:
    """One round of looking was in vain.

    Attributes:
        reason: whom it asked, and what each said.
        all_hung_up: there were brokers, and each closed the connection instead of answering.
    """

    reason: str
    all_hung_up: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """The coordinator answered."""

    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Broke:
    """The channel broke; ``closed`` if the coordinator had closed it, or did."""

    reason: str
    closed: bool


@dataclass(frozen=True, slots=True)
class Paused:
    """The pause is over."""


Event: TypeAlias = Found | NotFound | Answered | Broke | Paused


class CoordinatorCall:
    """One call: feed it what happened, do what it says, until ``Finish`` or ``GiveUp``.

    Args:
        has_channel: whether there is a channel from an earlier call.
        tries: how often to try in all; None: until the time is over.
        backoff_ms: the pause between two tries.
        deadline_ms: when the time is over.
    """

    def __init__(
        self, *, has_channel: bool, tries: int | None, backoff_ms: int, deadline_ms: int
    ) -> None:
        self._has_channel = has_channel
        self._inherited = has_channel
        self._tries_left = tries
        self._backoff_ms = max(backoff_ms, LEAST_PAUSE_MS)
        self._deadline_ms = deadline_ms
        self._rounds_hung_up = 0
        self._too_late: Action = Finish()

    def begin(self) -> Action:
        """The first thing to do."""
        return self._go_on()

    def receive(self, event: Event, now_ms: int) -> Action:
        """The next thing to do."""
        match event:
            case Paused():
                # A pause may take longer than it should.
                return self._go_on() if now_ms < self._deadline_ms else self._too_late
            case Found():
                self._has_channel = True
                self._rounds_hung_up = 0
                return Ask()
            case NotFound(reason, all_hung_up):
                self._rounds_hung_up = self._rounds_hung_up + 1 if all_hung_up else 0
                too_old = self._rounds_hung_up >= TOO_OLD_ROUNDS
                failure = GiveUp(reason, too_old)
                return failure if too_old else self._try_again(now_ms, failure)
            case Broke(reason, closed):
                self._has_channel = False
                if self._inherited and closed:
                    self._inherited = False
                    return LookUp()
                return self._try_again(now_ms, GiveUp(reason))
            case Answered(verdict):
                self._inherited = False
                self._has_channel = verdict is not Verdict.LOOK_UP
                done = verdict is Verdict.DONE
                return Finish() if done else self._try_again(now_ms, Finish())
            case _:
                assert_never(event)

    def _go_on(self) -> Action:
        return Ask() if self._has_channel else LookUp()

    def _try_again(self, now_ms: int, otherwise: Action) -> Action:
        """A pause, or the end if the tries or the time would not last."""
        if self._tries_left is not None:
            self._tries_left -= 1
            if self._tries_left <= 0:
                return otherwise
        if now_ms + self._backoff_ms >= self._deadline_ms:
            return otherwise
        self._too_late = otherwise
        return Pause(self._backoff_ms)
