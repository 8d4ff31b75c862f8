"""The engine with its threads, over a network in memory; and one line of it, turn by turn."""

import logging
from typing import Any, cast

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.polled import BROKER, TP, TP1, batch, part, view
from tests.support.queues import needs_native_engine
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import (
    AuthenticationFailed,
    ConnectionLost,
    ZkConsumerError,
)
from zkconsumer.fetch.core import fetch_connection
from zkconsumer.fetch.core.completed import unpack
from zkconsumer.fetch.core.effects import Effects
from zkconsumer.fetch.core.fetch_connection import AT_ONCE, FetchConnection, Rest
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.shared_state import SharedFetchState
from zkconsumer.fetch.core.starts import AtOffset, PositionView
from zkconsumer.fetch.polled.collecting import collect
from zkconsumer.net.connection import InFlight, Received
from zkconsumer.wire.messages.fetch import FetchedTopic, FetchRequest, FetchResponse

QUICK = CoreFetchSettings(max_wait_ms=50, retry_backoff_ms=10, retry_backoff_max_ms=50, reset=None)


def test_who_was_to_be_woken_is_woken_though_an_interrupt_came_between() -> None:
    """By the next change: a signal handler may raise anywhere."""
    followed: list[Effects] = []

    def follow(effects: Effects) -> None:
        followed.append(effects)
        if len(followed) == 1:
            raise KeyboardInterrupt

    shared = SharedFetchState(PartitionStates(QUICK), ManualClock(), follow)
    with pytest.raises(KeyboardInterrupt):
        shared.change(lambda states, _: states.broker_lost(BROKER))
    shared.change(lambda _states, _now_ms: None)
    shared.change(lambda _states, _now_ms: None)
    assert [effect.refresh_metadata for effect in followed] == [True, True, False]


class Paper:
    """A dialer, and the connection that it gives, which answer what they are told."""

    def __init__(self, *responses: object) -> None:
        self.responses: list[Any] = list(responses)
        self.requests: list[FetchRequest] = []
        self.is_idle = True
        self.refusal: ZkConsumerError | None = None

    def dial(self, _: object) -> "Paper":
        """Connect."""
        if self.refusal is not None:
            raise self.refusal
        self.is_idle = True
        return self

    def version_of(self, _: object, **__: int) -> int:
        """All versions."""
        return 12

    def close(self) -> None:
        """End."""
        self.is_idle = False

    def begin(self, request: FetchRequest, **_: object) -> InFlight[FetchResponse]:
        """Take a request."""
        self.requests.append(request)
        return InFlight(request, 12, 1)

    def receive(self, _: object, **__: object) -> Received:
        """Have the next answer at hand, or fail."""
        if isinstance(self.responses[0], Exception):
            self.is_idle = False
            raise self.responses.pop(0)
        return Received.ALL

    def finish(self, _: object, **__: object) -> Any:
        """Answer."""
        return self.responses.pop(0)


def response(*records: bytes, **fields: Any) -> FetchResponse:
    """An answer about the one partition."""
    parts = tuple(part(TP, record) for record in records)
    topics = (FetchedTopic(topic="t", partitions=parts),) if parts else ()
    return FetchResponse(topics=topics, **fields)


class Line:
    """A line on a paper connection."""

    def __init__(self, *responses: object) -> None:
        self.paper = Paper(*responses)
        self.clock = ManualClock()
        self.effects: list[Effects] = []
        settings = CoreFetchSettings()
        self.shared = SharedFetchState(PartitionStates(settings), self.clock, self.effects.append)
        self.line = FetchConnection(
            BROKER,
            self.shared,
            dial=cast("Any", self.paper.dial),
            settings=settings,
            clock=self.clock,
        )
        self.shared.change(lambda states, _: states.see(view({TP: BROKER})))
        self.shared.change(lambda states, _: states.add([TP]))
        self.shared.change(lambda states, _: states.seek(TP, AtOffset(0)))


def test_a_line_connects_and_then_fetches() -> None:
    """In a session, one request behind the other."""
    one = Line(response(batch(0, 2), session_id=5), response(session_id=5))
    assert one.line.turn() == AT_ONCE
    assert one.line.turn() == AT_ONCE
    assert one.line.turn() == Rest(0)
    first, second = one.paper.requests
    assert (first.session_epoch, second.session_id, second.session_epoch) == (0, 5, 1)
    assert second.topics[0].partitions[0].fetch_offset == 2
    counters = one.shared.counters
    assert (counters.fetches, counters.fetched_records, counters.in_flight) == (2, 2, 0)


def test_a_partition_that_an_answer_leaves_out_rests_alone() -> None:
    """To ask for it at once might go on for ever; what came of the others counts."""
    one = Line(response(batch(0, 2)), response(batch(2, 3)))
    one.shared.change(lambda states, _: states.see(view({TP: BROKER, TP1: BROKER})))
    one.shared.change(lambda states, _: states.add([TP1]))
    one.shared.change(lambda states, _: states.seek(TP1, AtOffset(0)))
    one.effects.clear()
    one.line.turn()
    one.line.turn()
    assert one.line.failure is None
    assert one.shared.counters.fetched_records == 2
    assert any(effects.refresh_metadata for effects in one.effects)
    one.line.turn()
    one.clock.advance(100)
    one.paper.responses += [response(batch(3, 4)), response(batch(4, 5))]
    one.line.turn()
    one.line.turn()
    asked = [{it.partition for it in each.topics[0].partitions} for each in one.paper.requests]
    assert asked[:2] == [{0, 1}, {0}]
    assert {0, 1} in asked[2:]


@needs_native_engine
def test_what_follows_is_asked_for_before_what_came_is_unpacked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the session's next step; the answer is the next turn's, and brings what follows."""
    one = Line(response(batch(0, 2), session_id=5), response(batch(2, 1), session_id=5))
    sent = []

    def spy(*arguments: Any) -> Any:
        sent.append(len(one.paper.requests))
        return unpack(*arguments)

    monkeypatch.setattr(fetch_connection, "unpack", spy)
    one.line.turn()
    one.line.turn()
    assert sent == [2]
    assert one.shared.counters.in_flight == 1
    assert one.line.turn() == AT_ONCE
    _, early, third = one.paper.requests
    assert (early.session_epoch, third.session_epoch) == (1, 2)
    assert early.topics[0].partitions[0].fetch_offset == 2
    assert early.max_wait_ms == third.max_wait_ms == 500
    assert one.shared.look(lambda states: states.states[TP].fetched) == PositionView(3, 0)


@needs_native_engine
def test_what_was_asked_for_early_in_vain_is_asked_for_where_reading_goes_on() -> None:
    """A seek in between, or a set that can't be read to its end: that answer is nobody's."""
    damaged = bytearray(batch(0, 2))
    damaged[-1] ^= 1
    for back in (True, False):
        first = batch(0, 2) if back else bytes(damaged)
        one = Line(response(first), response(batch(2, 1)), response())
        one.line.turn()
        one.line.turn()
        if back:
            one.shared.change(lambda states, _: states.seek(TP, AtOffset(1)))
        one.clock.advance(1_000)
        assert one.line.turn() == AT_ONCE
        assert one.shared.counters.fetched_records == (2 if back else 0)
        one.line.turn()
        again = one.paper.requests[-1].topics[0].partitions[0]
        assert again.fetch_offset == (1 if back else 0)


@needs_native_engine
def test_what_was_asked_for_early_over_a_connection_that_ends_is_asked_for_again() -> None:
    """Over the next one; nobody waits for the old one's answer."""
    one = Line(response(batch(0, 2)), ConnectionLost("gone"), response(batch(2, 1)))
    for _ in range(5):
        one.line.turn()
    counters = one.shared.counters
    assert (counters.failed_fetches, counters.in_flight) == (1, 1)
    assert one.shared.look(lambda states: states.states[TP].fetched) == PositionView(3, 0)
    one.line.close()
    assert (counters.failed_fetches, counters.in_flight) == (2, 0)
    assert one.shared.look(lambda states: states.states[TP].requested) is None


@needs_native_engine
def test_nothing_is_asked_for_early_while_a_quota_wants_rest() -> None:
    """Nor where the headers claim more than the log has."""
    throttled = response(batch(0, 1), throttle_time_ms=700)
    for reported in (throttled, response(batch(0, 101))):
        one = Line(reported)
        one.line.turn()
        one.line.turn()
        assert len(one.paper.requests) == 1


def test_a_quota_makes_it_rest() -> None:
    """A wake-up does not end the throttle time."""
    one = Line(response(batch(0, 1), throttle_time_ms=700))
    one.line.turn()
    one.line.turn()
    assert one.line.turn() == Rest(700, can_wake=False)
    assert one.shared.counters.throttle_time_ms == 700


def test_a_pause_without_measure_is_cut_and_said(caplog: pytest.LogCaptureFixture) -> None:
    """Else a broker could have a partition rest for 24 days."""
    one = Line(response(batch(0, 1), throttle_time_ms=2**31 - 1))
    one.line.turn()
    one.line.turn()
    assert one.line.turn() == Rest(300_000, can_wake=False)
    assert "throttles this client for 2147483647 ms" in caplog.text


@pytest.mark.parametrize("session_id", [0, 5])
def test_whoever_is_over_its_quota_and_gets_nothing_rests(session_id: int) -> None:
    """Over the connection that it has: brokers answer so from 2.0 on, and nothing failed."""
    throttled = response(throttle_time_ms=700, session_id=session_id)
    one = Line(throttled, response(batch(0, 2), session_id=7), throttled)
    one.line.turn()
    one.line.turn()
    assert one.line.failure is None
    assert one.line.turn() == Rest(700, can_wake=False)
    assert one.paper.is_idle
    assert not any(effects.refresh_metadata for effects in one.effects)
    one.clock.advance(700)
    one.line.turn()
    assert one.shared.counters.fetched_records == 2


def test_a_closed_connection_is_made_anew_at_once() -> None:
    """Brokers close idle ones; a second failure costs a pause."""
    lost = ConnectionLost("gone")
    one = Line(lost, lost, response(batch(0, 1)))
    one.line.turn()
    one.line.turn()
    assert one.effects[-1].refresh_metadata or one.effects[-2].refresh_metadata
    assert one.line.turn() == AT_ONCE
    one.line.turn()
    assert one.line.turn() == Rest(200, can_wake=False)
    one.clock.advance(200)
    assert one.line.turn() == AT_ONCE
    one.line.turn()
    assert one.shared.look(lambda states: len(states.states[TP].waiting)) == 1


def test_an_outage_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """Not with every try; the end of an idle connection is none; the next outage is told again."""
    lost = ConnectionLost("gone")
    one = Line(*[lost] * 4, response(batch(0, 1)), *[lost] * 3)
    with caplog.at_level(logging.INFO, "zkconsumer.fetch.core.fetch_connection"):
        while one.paper.responses:
            one.line.turn()
            one.clock.advance(10_000)
    info, warning = logging.INFO, logging.WARNING
    assert [entry.levelno for entry in caplog.records] == [info, warning, info, warning]


def test_a_refusal_is_told_before_the_next_try() -> None:
    """An account may be locked if one insists."""
    one = Line()
    one.paper.refusal = AuthenticationFailed("wrong password")
    one.line.turn()
    one.clock.advance(5_000)
    assert one.line.turn() == Rest(1_000)
    with pytest.raises(AuthenticationFailed):
        one.shared.change(lambda states, now_ms: collect(states, 1, now_ms, None))
    one.paper.refusal = None
    one.paper.responses.append(response(batch(0, 1)))
    one.line.turn()
    one.line.turn()
    assert one.shared.look(lambda states: len(states.states[TP].waiting)) == 1


def test_an_error_of_the_whole_answer_is_no_answer() -> None:
    """What it would say of partitions does not count; one that is no session's costs a pause."""
    one = Line(
        response(batch(0, 1), error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        response(batch(0, 1), error_code=ErrorCode.UNKNOWN),
    )
    one.line.turn()
    assert one.line.turn() == AT_ONCE
    one.line.turn()
    assert one.line.turn() == Rest(100, can_wake=False)
    assert one.shared.look(lambda states: len(states.states[TP].waiting)) == 0
