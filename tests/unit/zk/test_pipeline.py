"""Batches of requests on their way: order, bounds, time-outs."""

from collections.abc import Callable

import pytest

from tests.support.manual_clock import ManualClock
from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.zk.pipeline import MAX_IN_FLIGHT, PendingResponse, Pipeline
from zkconsumer.zk.session import SessionState
from zkconsumer.zk.session_tracker import SessionTracker


class Wire:
    """Requests on their way: each answered when somebody waits for it, or never."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.sent: list[PromisedResponse] = []
        self.most_in_flight = 0
        self.responses_before_silence = 10**9

    def send(self) -> "PromisedResponse":
        response = PromisedResponse(self, len(self.sent))
        self.sent.append(response)
        in_flight = sum(not promised_answer.is_there for promised_answer in self.sent)
        self.most_in_flight = max(self.most_in_flight, in_flight)
        return response


class PromisedResponse:
    """One answer; the server answers in order, so waiting for it brings all before it."""

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
    """An answer that takes its own time, or never comes."""

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
    """The time."""
    return ManualClock(0)


@pytest.fixture
def wire(clock: ManualClock) -> Wire:
    """Where requests go."""
    return Wire(clock)


@pytest.fixture
def tracker(clock: ManualClock) -> SessionTracker:
    """Session 7, connected."""
    tracker = SessionTracker("zk:2181", clock)
    tracker.report(SessionState.CONNECTED, 7)
    return tracker


@pytest.fixture
def pipeline(tracker: SessionTracker, clock: ManualClock) -> Pipeline:
    """Batches may take two seconds."""
    return Pipeline(tracker, clock, timeout_ms=2_000)


def values(responses: list[PendingResponse]) -> list[object]:
    """What the answers say."""
    return [response.get_nowait() for response in responses]


def test_answers_come_in_the_order_of_the_requests(pipeline: Pipeline, wire: Wire) -> None:
    """All of them, however many."""
    responses = pipeline.run([wire.send] * 3000, fence=7)
    assert values(responses) == list(range(3000))
    assert all(response.ready() for response in responses)


def test_never_too_many_are_on_their_way(pipeline: Pipeline, wire: Wire) -> None:
    """More than the bound would block the sender inside of the session's lock."""
    pipeline.run([wire.send] * 3000, fence=7)
    assert MAX_IN_FLIGHT // 2 < wire.most_in_flight <= MAX_IN_FLIGHT


def test_the_bound_holds_over_batches_that_timed_out(
    pipeline: Pipeline, wire: Wire, clock: ManualClock
) -> None:
    """What a batch left behind unanswered still counts for the next ones."""
    wire.responses_before_silence = 0
    for _ in range(5):
        with pytest.raises(RegistryError, match="did not respond within 2000 ms"):
            pipeline.run([wire.send] * 90, fence=7)
    assert wire.most_in_flight <= MAX_IN_FLIGHT
    assert clock.now_ms() == 10_000


def test_an_answer_that_is_handed_over_late_is_waited_for(
    pipeline: Pipeline, wire: Wire, clock: ManualClock
) -> None:
    """The last one is there already; the batch is not complete without the others."""
    late = LateResponse(clock)
    responses = pipeline.run([wire.send, lambda: late, wire.send], fence=7)
    assert late.waited_ms == 2_000
    assert all(response.ready() for response in responses)


def test_an_answer_that_never_comes_does_not_keep_later_ones_from_counting(
    pipeline: Pipeline, wire: Wire, clock: ManualClock
) -> None:
    """One lost answer fails its own batch only, and the bound holds as before."""
    with pytest.raises(RegistryError, match="did not respond"):
        pipeline.run([lambda: LateResponse(clock, comes=False)], fence=7)
    assert values(pipeline.run([wire.send] * 1000, fence=7)) == list(range(1000))
    assert wire.most_in_flight < MAX_IN_FLIGHT


def test_an_empty_batch_asks_nothing(pipeline: Pipeline, wire: Wire) -> None:
    """No request is sent, and the result is empty."""
    assert pipeline.run([], fence=7) == []
    assert wire.sent == []


def test_the_whole_batch_is_bounded_in_time(
    pipeline: Pipeline, wire: Wire, clock: ManualClock
) -> None:
    """Not each request of it."""
    wire.responses_before_silence = 10
    with pytest.raises(RegistryError, match="did not respond within 2000 ms"):
        pipeline.run([wire.send] * 50, fence=7)
    assert clock.now_ms() == 2_000


def failing_after(count: int, wire: Wire, act: Callable[[], None]) -> Callable[[], PendingResponse]:
    """Sends that do something to the session once ``count`` of them are out."""

    def send() -> PendingResponse:
        if len(wire.sent) == count:
            act()
        return wire.send()

    return send


def test_a_session_that_ends_in_mid_batch_ends_the_batch(
    pipeline: Pipeline, wire: Wire, tracker: SessionTracker
) -> None:
    """No request of the batch goes into the session that follows."""

    def expire() -> None:
        tracker.report(SessionState.LOST)
        tracker.report(SessionState.CONNECTED, 8)

    with pytest.raises(SessionLost):
        pipeline.run([failing_after(10, wire, expire)] * 50, fence=7)
    assert len(wire.sent) == 11


def test_the_turn_is_given_back_after_a_failure(
    pipeline: Pipeline, wire: Wire, tracker: SessionTracker
) -> None:
    """A batch that failed does not keep the next one waiting."""
    tracker.report(SessionState.SUSPENDED)
    with pytest.raises(RegistryError):
        pipeline.run([failing_after(0, wire, lambda: None)], fence=6)
    tracker.report(SessionState.CONNECTED, 7)
    assert values(pipeline.run([wire.send], fence=7)) == [0]
