"""Batches of requests in flight: their order, bounds and time-outs."""

from collections.abc import Callable

import pytest

from tests.support.manual_clock import ManualClock
from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.zk.pipeline import MAX_IN_FLIGHT, PendingResponse, Pipeline
from zkconsumer.zk.session import SessionState
from zkconsumer.zk.session_tracker import SessionTracker


class Wire:
    """Requests in flight, each answered when its response is waited for, or never."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.sent: list[PromisedResponse] = []
        self.most_in_flight = 0
        self.responses_before_silence = 10**9

    def send(self) -> "PromisedResponse":
        response = PromisedResponse(self, len(self.sent))
        self.sent.append(response)
        in_flight = sum(not promised_response.is_there for promised_response in self.sent)
        self.most_in_flight = max(self.most_in_flight, in_flight)
        return response


class PromisedResponse:
    """A response; the server responds in order, so waiting for it brings all before it."""

    def __init__(self, wire: Wire, number: int) -> None:
        self._wire = wire
        self.number = number
        self.is_there = False

    def ready(self) -> bool:
        return self.is_there

    def wait(self, timeout: float) -> bool:
        for response in self._wire.sent[: self.number + 1]:
            if response.number >= self._wire.responses_before_silence:
                self._wire.clock.advance(round(timeout * 1000))
                return False
            response.is_there = True
        return True

    def get_nowait(self) -> int:
        return self.number


class LateResponse:
    """A response that takes its own time, or never arrives."""

    def __init__(self, clock: ManualClock, *, comes: bool = True) -> None:
        self._clock = clock
        self._comes = comes
        self._is_there = False
        self.waited_ms = 0

    def ready(self) -> bool:
        return self._is_there

    def wait(self, timeout: float) -> bool:
        self.waited_ms = round(timeout * 1000)
        self._clock.advance(0 if self._comes else self.waited_ms)
        self._is_there = self._comes
        return self._is_there

    def get_nowait(self) -> None:
        return None


@pytest.fixture
def clock() -> ManualClock:
    """Create a clock."""
    return ManualClock(0)


@pytest.fixture
def wire(clock: ManualClock) -> Wire:
    """Create a wire."""
    return Wire(clock)


@pytest.fixture
def tracker(clock: ManualClock) -> SessionTracker:
    """Create a tracker that is connected in session 7."""
    tracker = SessionTracker("zk:2181", clock)
    tracker.report(SessionState.CONNECTED, 7)
    return tracker


@pytest.fixture
def pipeline(tracker: SessionTracker, clock: ManualClock) -> Pipeline:
    """Create a pipeline whose batches may take two seconds."""
    return Pipeline(tracker, clock, timeout_ms=2_000)


def values(responses: list[PendingResponse]) -> list[object]:
    """Return the values of responses."""
    return [response.get_nowait() for response in responses]


def test_responses_are_in_the_order_of_the_requests(pipeline: Pipeline, wire: Wire) -> None:
    """Responses are in the order of the requests, however many there are."""
    responses = pipeline.run([wire.send] * 3000, fence=7)
    assert values(responses) == list(range(3000))
    assert all(response.ready() for response in responses)


def test_requests_in_flight_are_bounded(pipeline: Pipeline, wire: Wire) -> None:
    """The number of requests in flight is bounded: more would block the sender under its lock."""
    pipeline.run([wire.send] * 3000, fence=7)
    assert MAX_IN_FLIGHT // 2 < wire.most_in_flight <= MAX_IN_FLIGHT


def test_the_bound_holds_over_batches_that_timed_out(
    pipeline: Pipeline, wire: Wire, clock: ManualClock
) -> None:
    """Requests of a batch that timed out still count as in flight."""
    wire.responses_before_silence = 0
    for _ in range(5):
        with pytest.raises(RegistryError, match="did not respond within 2000 ms"):
            pipeline.run([wire.send] * 90, fence=7)
    assert wire.most_in_flight <= MAX_IN_FLIGHT
    assert clock.now_ms() == 10_000


def test_a_late_response_is_waited_for(pipeline: Pipeline, wire: Wire, clock: ManualClock) -> None:
    """A batch waits for each of its responses, even if the last one has arrived."""
    late = LateResponse(clock)
    responses = pipeline.run([wire.send, lambda: late, wire.send], fence=7)
    assert late.waited_ms == 2_000
    assert all(response.ready() for response in responses)


def test_a_lost_response_does_not_count_as_in_flight_for_ever(
    pipeline: Pipeline, wire: Wire, clock: ManualClock
) -> None:
    """A response that never arrives fails its own batch only, and does not count for ever."""
    with pytest.raises(RegistryError, match="did not respond"):
        pipeline.run([lambda: LateResponse(clock, comes=False)], fence=7)
    assert values(pipeline.run([wire.send] * 1000, fence=7)) == list(range(1000))
    assert wire.most_in_flight < MAX_IN_FLIGHT


def test_an_empty_batch_sends_nothing(pipeline: Pipeline, wire: Wire) -> None:
    """An empty batch sends no request."""
    assert pipeline.run([], fence=7) == []
    assert wire.sent == []


def test_the_whole_batch_is_bounded_in_time(
    pipeline: Pipeline, wire: Wire, clock: ManualClock
) -> None:
    """The time-out is that of the whole batch, not of each request."""
    wire.responses_before_silence = 10
    with pytest.raises(RegistryError, match="did not respond within 2000 ms"):
        pipeline.run([wire.send] * 50, fence=7)
    assert clock.now_ms() == 2_000


def failing_after(count: int, wire: Wire, act: Callable[[], None]) -> Callable[[], PendingResponse]:
    """Return a send that acts on the session once ``count`` requests are sent."""

    def send() -> PendingResponse:
        if len(wire.sent) == count:
            act()
        return wire.send()

    return send


def test_a_session_that_ends_in_mid_batch_ends_the_batch(
    pipeline: Pipeline, wire: Wire, tracker: SessionTracker
) -> None:
    """No request of the batch is sent in the session that follows."""

    def expire() -> None:
        tracker.report(SessionState.LOST)
        tracker.report(SessionState.CONNECTED, 8)

    with pytest.raises(SessionLost):
        pipeline.run([failing_after(10, wire, expire)] * 50, fence=7)
    assert len(wire.sent) == 11


def test_the_lock_is_released_after_a_failure(
    pipeline: Pipeline, wire: Wire, tracker: SessionTracker
) -> None:
    """A batch that failed does not block the next one."""
    tracker.report(SessionState.SUSPENDED)
    with pytest.raises(RegistryError):
        pipeline.run([failing_after(0, wire, lambda: None)], fence=6)
    tracker.report(SessionState.CONNECTED, 7)
    assert values(pipeline.run([wire.send], fence=7)) == [0]
