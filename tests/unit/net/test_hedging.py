"""When a request is sent once more, whose answer counts, and how patient that makes us."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.manual_clock import ManualClock
from zkconsumer.errors import ConnectFailed, ConnectionLost, RequestTimedOut, ZkConsumerError
from zkconsumer.net.connection import Received
from zkconsumer.net.hedging import FIRST_QUIET_MS, HedgePace, TimeLimits, first_response

QUIET_MS = 2_000
TIMEOUT_MS = 30_000


@dataclass(eq=False)
class TimedRequest:
    """A request whose answer comes at known times.

    Attributes:
        parts_ms: when bytes come, by the clock; the last ones end the answer.
        error: what comes in place of the last ones.
    """

    clock: ManualClock
    parts_ms: list[int] = field(default_factory=list)
    error: ZkConsumerError | None = None
    closed: bool = False

    def receive(self, timeout_ms: int) -> Received:
        """See ``PendingRequest``."""
        assert timeout_ms > 0
        assert not self.closed
        now_ms = self.clock.now_ms()
        if not self.parts_ms or self.parts_ms[0] > now_ms + timeout_ms:
            self.clock.advance(timeout_ms)
            return Received.NOTHING
        self.clock.advance(max(0, self.parts_ms.pop(0) - now_ms))
        if self.parts_ms:
            return Received.PART
        if self.error is not None:
            raise self.error
        return Received.ALL

    def close(self) -> None:
        """See ``PendingRequest``."""
        self.closed = True


Next = Callable[[ZkConsumerError | None], TimedRequest | None]


def race(first: TimedRequest, start_next: Next, slow_times: int = 1) -> TimedRequest:
    """Let them race."""
    return first_response(
        first,
        start_next,
        limits=TimeLimits(QUIET_MS, TIMEOUT_MS, slow_times),
        clock=first.clock,
        whom="fake:9092",
    )


def then(*others: TimedRequest) -> Next:
    """Give these, one after the other, while something else is under way."""
    left = list(others)

    def start_next(failure: ZkConsumerError | None) -> TimedRequest | None:
        return left.pop(0) if left and failure is None else None

    return start_next


def nobody(_: ZkConsumerError | None) -> None:
    """Fail where a second request is sent."""
    pytest.fail("it was sent again")


def test_a_prompt_answer_is_asked_for_once() -> None:
    """In less than the time of silence."""
    first = TimedRequest(ManualClock(0), [QUIET_MS - 1])
    assert race(first, nobody) is first
    assert not first.closed


def test_silence_is_ended_by_another_request() -> None:
    """After its time, and the first one is closed."""
    clock = ManualClock(0)
    first, second = TimedRequest(clock), TimedRequest(clock, [QUIET_MS + 30])
    assert race(first, then(second)) is second
    assert (first.closed, second.closed) == (True, False)
    assert QUIET_MS <= clock.now_ms() <= QUIET_MS + 300


def test_who_was_only_slow_is_not_given_up() -> None:
    """A broker that throttles answers after seconds, on both connections: the first one counts."""
    clock = ManualClock(0)
    first, second = TimedRequest(clock, [9_000]), TimedRequest(clock, [11_000])
    assert race(first, then(second)) is first
    assert second.closed


def test_bytes_that_keep_coming_are_life() -> None:
    """However long the whole takes: a second answer would only share the way with it."""
    first = TimedRequest(ManualClock(0), list(range(1_500, 29_000, 1_500)))
    assert race(first, nobody) is first


@pytest.mark.parametrize(("slow_times", "took_ms"), [(1, 30_000), (2, 60_000), (9, 89_000)])
def test_a_slow_answer_may_take_a_multiple_of_the_time(slow_times: int, took_ms: int) -> None:
    """As long as it keeps coming: here until the 59th second, a time-out before its end."""
    clock = ManualClock(0)
    first = TimedRequest(clock, [*range(1_000, 60_000, 1_000), 600_000])
    with pytest.raises(RequestTimedOut, match="no response in time"):
        race(first, lambda _: None, slow_times)
    assert clock.now_ms() == took_ms


def test_a_slow_answer_is_whole_in_the_end() -> None:
    """After more than the time of one."""
    first = TimedRequest(ManualClock(0), list(range(1_500, 200_000, 1_500)))
    assert race(first, nobody, 10) is first


def test_who_begins_to_answer_is_left_alone_with_it() -> None:
    """The other one is closed before its bytes come, too."""
    clock = ManualClock(0)
    first, second = TimedRequest(clock, [2_100, 4_000, 6_000]), TimedRequest(clock, [3_000])
    assert race(first, then(second)) is first
    assert second.closed


def test_an_answer_that_stops_in_the_middle_is_silent_again() -> None:
    """And is asked for once more."""
    clock = ManualClock(0)
    first, second = (
        TimedRequest(clock, [1_000, 99_000]),
        TimedRequest(clock, [1_000 + QUIET_MS + 10]),
    )
    assert race(first, then(second)) is second
    assert first.closed


def test_where_no_other_can_be_sent_the_first_has_all_its_time() -> None:
    """It may be refused now, and there may be none."""

    def refused(_: ZkConsumerError | None) -> TimedRequest | None:
        raise ConnectFailed("nobody listens")

    for start_next in (refused, then()):
        first = TimedRequest(ManualClock(0), [TIMEOUT_MS - 1])
        assert race(first, start_next) is first


def test_all_of_them_together_have_the_time_of_one() -> None:
    """Then all are closed."""
    clock = ManualClock(0)
    first, second = TimedRequest(clock), TimedRequest(clock)
    with pytest.raises(RequestTimedOut, match="fake:9092: no response in time"):
        race(first, then(second))
    assert first.closed
    assert second.closed
    assert TIMEOUT_MS <= clock.now_ms() <= TIMEOUT_MS + 200


def test_a_failure_is_told_to_who_may_send_another() -> None:
    """Where there is none, it is the answer."""
    lost, reported = ConnectionLost("gone"), list[ZkConsumerError | None]()

    def start_next(failure: ZkConsumerError | None) -> None:
        reported.append(failure)

    first = TimedRequest(ManualClock(0), [10], lost)
    with pytest.raises(ConnectionLost, match="gone"):
        race(first, start_next)
    assert reported == [lost]


def test_one_of_two_may_fail() -> None:
    """The other is waited for."""
    clock = ManualClock(0)
    first, second = (
        TimedRequest(clock, [2_500], ConnectionLost("gone")),
        TimedRequest(clock, [8_000]),
    )
    assert race(first, then(second)) is second
    clock = ManualClock(0)
    first, second = (
        TimedRequest(clock, [8_000]),
        TimedRequest(clock, [2_500], ConnectionLost("gone")),
    )
    assert race(first, then(second)) is first


@given(
    st.lists(st.integers(0, 40_000), max_size=6).map(sorted),
    st.lists(st.integers(0, 40_000), max_size=6).map(sorted),
)
def test_no_silence_is_waited_for_where_there_is_an_answer(
    first_ms: list[int], second_ms: list[int]
) -> None:
    """Who is returned has answered, nobody else is left open, and it takes only its time."""
    clock = ManualClock(0)
    first, second = TimedRequest(clock, list(first_ms)), TimedRequest(clock, list(second_ms))
    try:
        responder = race(first, then(second))
    except RequestTimedOut:
        assert clock.now_ms() >= TIMEOUT_MS
    else:
        assert not responder.closed
        assert not responder.parts_ms
    assert clock.now_ms() <= TIMEOUT_MS + 200
    alone = first_ms and all(
        b - a < QUIET_MS for a, b in zip([0, *first_ms], first_ms, strict=False)
    )
    if alone and first_ms[-1] < TIMEOUT_MS:
        assert not first.closed


@given(st.integers(1, 600_000), st.lists(st.sampled_from(["won", "lost", "on_response"])))
def test_patience_grows_with_hedges_in_vain_and_comes_back(
    request_timeout_ms: int, events: list[str]
) -> None:
    """Never less than at first, nor more than a request may take."""
    pace = HedgePace(request_timeout_ms)
    first_ms = pace.quiet_ms
    assert first_ms <= max(50, min(FIRST_QUIET_MS, request_timeout_ms / 10))
    for event in events:
        before_ms = pace.quiet_ms
        getattr(pace, event)()
        assert first_ms <= pace.quiet_ms <= max(first_ms, request_timeout_ms)
        if event == "won":
            assert pace.quiet_ms == first_ms
        assert (pace.quiet_ms > before_ms) <= (event == "lost")
