"""When a request is hedged, which response counts, and how the pace adapts."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.manual_clock import ManualClock
from zkconsumer.errors import ConnectFailed, ConnectionLost, RequestTimedOut, ZkConsumerError
from zkconsumer.net.hedging import FIRST_HEDGE_DELAY_MS, HedgePace, TimeLimits, first_response
from zkconsumer.net.in_flight import Received

QUIET_MS = 2_000
TIMEOUT_MS = 30_000


@dataclass(eq=False)
class TimedRequest:
    """A request whose response arrives at known times.

    parts_ms: when bytes arrive, by the clock; the last ones complete the response.
        error: raised in place of the last bytes.
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
    """Return the request that gets its response first."""
    return first_response(
        first,
        start_next,
        limits=TimeLimits(QUIET_MS, TIMEOUT_MS, slow_times),
        clock=first.clock,
        whom="fake:9092",
    )


def then(*others: TimedRequest) -> Next:
    """Return the given requests, one per call, unless another has failed."""
    left = list(others)

    def start_next(failure: ZkConsumerError | None) -> TimedRequest | None:
        return left.pop(0) if left and failure is None else None

    return start_next


def no_hedge(_: ZkConsumerError | None) -> None:
    """Fail the test if a second request is sent."""
    pytest.fail("it was sent again")


def test_a_prompt_response_is_not_hedged() -> None:
    """A response within the quiet time is not hedged."""
    first = TimedRequest(ManualClock(0), [QUIET_MS - 1])
    assert race(first, no_hedge) is first
    assert not first.closed


def test_a_silent_request_is_hedged() -> None:
    """The hedge is sent after the quiet time, and the first request is closed."""
    clock = ManualClock(0)
    first, second = TimedRequest(clock), TimedRequest(clock, [QUIET_MS + 30])
    assert race(first, then(second)) is second
    assert (first.closed, second.closed) == (True, False)
    assert QUIET_MS <= clock.now_ms() <= QUIET_MS + 300


def test_a_request_that_is_only_slow_is_not_given_up() -> None:
    """A broker that throttles responds late on both connections: the first response counts."""
    clock = ManualClock(0)
    first, second = TimedRequest(clock, [9_000]), TimedRequest(clock, [11_000])
    assert race(first, then(second)) is first
    assert second.closed


def test_a_response_that_keeps_arriving_is_not_hedged() -> None:
    """A second response would only share the slow link."""
    first = TimedRequest(ManualClock(0), list(range(1_500, 29_000, 1_500)))
    assert race(first, no_hedge) is first


@pytest.mark.parametrize(("slow_times", "took_ms"), [(1, 30_000), (2, 60_000), (9, 89_000)])
def test_a_slow_response_may_take_a_multiple_of_the_timeout(slow_times: int, took_ms: int) -> None:
    """It must keep arriving: here it stops at the 59th second, one time-out before the end."""
    clock = ManualClock(0)
    first = TimedRequest(clock, [*range(1_000, 60_000, 1_000), 600_000])
    with pytest.raises(RequestTimedOut, match="no response in time"):
        race(first, lambda _: None, slow_times)
    assert clock.now_ms() == took_ms


def test_a_slow_response_arrives_whole() -> None:
    """It may take longer than one time-out."""
    first = TimedRequest(ManualClock(0), list(range(1_500, 200_000, 1_500)))
    assert race(first, no_hedge, 10) is first


def test_a_response_that_has_begun_is_waited_for_alone() -> None:
    """The other request is closed, even if its bytes would have come earlier."""
    clock = ManualClock(0)
    first, second = TimedRequest(clock, [2_100, 4_000, 6_000]), TimedRequest(clock, [3_000])
    assert race(first, then(second)) is first
    assert second.closed


def test_a_response_that_stops_in_the_middle_is_hedged() -> None:
    """It counts as silent again, and is hedged."""
    clock = ManualClock(0)
    first, second = (
        TimedRequest(clock, [1_000, 99_000]),
        TimedRequest(clock, [1_000 + QUIET_MS + 10]),
    )
    assert race(first, then(second)) is second
    assert first.closed


def test_without_a_hedge_the_first_request_has_all_its_time() -> None:
    """The second connection may be refused, or there may be none."""

    def refused(_: ZkConsumerError | None) -> TimedRequest | None:
        raise ConnectFailed("nobody listens")

    for start_next in (refused, then()):
        first = TimedRequest(ManualClock(0), [TIMEOUT_MS - 1])
        assert race(first, start_next) is first


def test_all_requests_share_one_timeout() -> None:
    """After a single time-out all of them are closed."""
    clock = ManualClock(0)
    first, second = TimedRequest(clock), TimedRequest(clock)
    with pytest.raises(RequestTimedOut, match="fake:9092: no response in time"):
        race(first, then(second))
    assert first.closed
    assert second.closed
    assert TIMEOUT_MS <= clock.now_ms() <= TIMEOUT_MS + 200


def test_a_failure_is_passed_to_the_function_that_may_send_another() -> None:
    """If it sends none, the failure is raised."""
    lost, reported = ConnectionLost("gone"), list[ZkConsumerError | None]()

    def start_next(failure: ZkConsumerError | None) -> None:
        reported.append(failure)

    first = TimedRequest(ManualClock(0), [10], lost)
    with pytest.raises(ConnectionLost, match="gone"):
        race(first, start_next)
    assert reported == [lost]


def test_one_of_two_requests_may_fail() -> None:
    """The other one is waited for."""
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
def test_a_response_is_never_missed(first_ms: list[int], second_ms: list[int]) -> None:
    """The returned request has its response, the other is closed, and no time is wasted."""
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


@given(
    st.integers(1, 600_000),
    st.lists(st.sampled_from(["on_hedge_won", "on_hedge_lost", "on_response"])),
)
def test_the_quiet_time_grows_with_useless_hedges_and_shrinks_again(
    request_timeout_ms: int, events: list[str]
) -> None:
    """The quiet time never falls below the first one, nor exceeds the request time-out."""
    pace = HedgePace(request_timeout_ms)
    first_ms = pace.hedge_delay_ms
    assert first_ms <= max(50, min(FIRST_HEDGE_DELAY_MS, request_timeout_ms / 10))
    for event in events:
        before_ms = pace.hedge_delay_ms
        getattr(pace, event)()
        assert first_ms <= pace.hedge_delay_ms <= max(first_ms, request_timeout_ms)
        if event == "on_hedge_won":
            assert pace.hedge_delay_ms == first_ms
        assert (pace.hedge_delay_ms > before_ms) <= (event == "on_hedge_lost")
