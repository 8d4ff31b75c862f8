"""The fetch engine's shared state, and one connection of it, turn by turn."""

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
from zkconsumer.fetch.core.fetch_connection import NO_WAIT, FetchConnection, Wait
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.shared_state import SharedFetchState
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.fetch.polled.collecting import collect
from zkconsumer.net.in_flight import InFlight, Received
from zkconsumer.wire.messages.fetch import FetchedTopic, FetchRequest, FetchResponse

QUICK = CoreFetchSettings(max_wait_ms=50, retry_backoff_ms=10, retry_backoff_max_ms=50, reset=None)


def test_an_interrupted_wakeup_is_made_up_for() -> None:
    """A signal handler may raise anywhere; the next change repeats the lost effects."""
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


class ScriptedConnection:
    """A dialer and its connection in one, with scripted responses."""

    def __init__(self, *responses: object) -> None:
        self.responses: list[Any] = list(responses)
        self.requests: list[FetchRequest] = []
        self.is_idle = True
        self.refusal: ZkConsumerError | None = None

    def dial(self, _: object) -> "ScriptedConnection":
        """Connect."""
        if self.refusal is not None:
            raise self.refusal
        self.is_idle = True
        return self

    def version_of(self, _: object, **__: int) -> int:
        """Support all versions."""
        return 12

    def close(self) -> None:
        """Close the connection."""
        self.is_idle = False

    def begin(self, request: FetchRequest, **_: object) -> InFlight[FetchResponse]:
        """Take a request."""
        self.requests.append(request)
        return InFlight(request, 12, 1)

    def receive(self, _: object, **__: object) -> Received:
        """Have the next response ready, or fail."""
        if isinstance(self.responses[0], Exception):
            self.is_idle = False
            raise self.responses.pop(0)
        return Received.ALL

    def finish(self, _: object, **__: object) -> Any:
        """Return the next response."""
        return self.responses.pop(0)


def response(*records: bytes, **fields: Any) -> FetchResponse:
    """Build a response about the one partition."""
    parts = tuple(part(TP, record) for record in records)
    topics = (FetchedTopic(topic="t", partitions=parts),) if parts else ()
    return FetchResponse(topics=topics, **fields)


class ConnectionBench:
    """A fetch connection on a scripted one."""

    def __init__(self, *responses: object) -> None:
        self.scripted = ScriptedConnection(*responses)
        self.clock = ManualClock()
        self.effects: list[Effects] = []
        settings = CoreFetchSettings()
        self.shared = SharedFetchState(PartitionStates(settings), self.clock, self.effects.append)
        self.connection = FetchConnection(
            BROKER,
            self.shared,
            dial=cast("Any", self.scripted.dial),
            settings=settings,
            clock=self.clock,
        )
        self.shared.change(lambda states, _: states.see(view({TP: BROKER})))
        self.shared.change(lambda states, _: states.add([TP]))
        self.shared.change(lambda states, _: states.seek(TP, PositionView(0)))


def test_a_connection_is_opened_and_then_used_for_fetches() -> None:
    """Requests of a session follow one another."""
    bench = ConnectionBench(response(batch(0, 2), session_id=5), response(session_id=5))
    assert bench.connection.turn() == NO_WAIT
    assert bench.connection.turn() == NO_WAIT
    assert bench.connection.turn() == Wait(0)
    first, second = bench.scripted.requests
    assert (first.session_epoch, second.session_id, second.session_epoch) == (0, 5, 1)
    assert second.topics[0].partitions[0].fetch_offset == 2
    counters = bench.shared.counters
    assert (counters.fetches, counters.fetched_records, counters.in_flight) == (2, 2, 0)


def test_a_partition_left_out_of_a_response_pauses_alone() -> None:
    """A retry at once might repeat for ever; records of the other partitions count."""
    bench = ConnectionBench(response(batch(0, 2)), response(batch(2, 3)))
    bench.shared.change(lambda states, _: states.see(view({TP: BROKER, TP1: BROKER})))
    bench.shared.change(lambda states, _: states.add([TP1]))
    bench.shared.change(lambda states, _: states.seek(TP1, PositionView(0)))
    bench.effects.clear()
    bench.connection.turn()
    bench.connection.turn()
    assert bench.connection.failure is None
    assert bench.shared.counters.fetched_records == 2
    assert any(effects.refresh_metadata for effects in bench.effects)
    bench.connection.turn()
    bench.clock.advance(100)
    bench.scripted.responses += [response(batch(3, 4)), response(batch(4, 5))]
    bench.connection.turn()
    bench.connection.turn()
    requested = [
        {named.partition for named in each.topics[0].partitions} for each in bench.scripted.requests
    ]
    assert requested[:2] == [{0, 1}, {0}]
    assert {0, 1} in requested[2:]


@needs_native_engine
def test_the_next_set_is_requested_before_one_is_unpacked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is the session's next request, and its response is read in the next turn."""
    bench = ConnectionBench(
        response(batch(0, 2), session_id=5), response(batch(2, 1), session_id=5)
    )
    sent = []

    def spy(*arguments: Any) -> Any:
        sent.append(len(bench.scripted.requests))
        return unpack(*arguments)

    monkeypatch.setattr(fetch_connection, "unpack", spy)
    bench.connection.turn()
    bench.connection.turn()
    assert sent == [2]
    assert bench.shared.counters.in_flight == 1
    assert bench.connection.turn() == NO_WAIT
    _, early, third = bench.scripted.requests
    assert (early.session_epoch, third.session_epoch) == (1, 2)
    assert early.topics[0].partitions[0].fetch_offset == 2
    assert early.max_wait_ms == third.max_wait_ms == 500
    assert bench.shared.read(lambda states: states.states[TP].fetched) == PositionView(3, 0)


@needs_native_engine
def test_an_early_request_at_a_wrong_offset_is_repeated() -> None:
    """After a seek, or if the set turns out to be damaged, the early response is dropped."""
    damaged = bytearray(batch(0, 2))
    damaged[-1] ^= 1
    for back in (True, False):
        first = batch(0, 2) if back else bytes(damaged)
        bench = ConnectionBench(response(first), response(batch(2, 1)), response())
        bench.connection.turn()
        bench.connection.turn()
        if back:
            bench.shared.change(lambda states, _: states.seek(TP, PositionView(1)))
        bench.clock.advance(1_000)
        assert bench.connection.turn() == NO_WAIT
        assert bench.shared.counters.fetched_records == (2 if back else 0)
        bench.connection.turn()
        again = bench.scripted.requests[-1].topics[0].partitions[0]
        assert again.fetch_offset == (1 if back else 0)


@needs_native_engine
def test_an_early_request_on_a_lost_connection_is_repeated() -> None:
    """The next connection repeats it without waiting for the old response."""
    bench = ConnectionBench(response(batch(0, 2)), ConnectionLost("gone"), response(batch(2, 1)))
    for _ in range(5):
        bench.connection.turn()
    counters = bench.shared.counters
    assert (counters.failed_fetches, counters.in_flight) == (1, 1)
    assert bench.shared.read(lambda states: states.states[TP].fetched) == PositionView(3, 0)
    bench.connection.close()
    assert (counters.failed_fetches, counters.in_flight) == (2, 0)
    assert bench.shared.read(lambda states: states.states[TP].requested) is None


@needs_native_engine
def test_no_early_request_is_sent_while_throttled() -> None:
    """Nor if the headers claim more than the log has."""
    throttled = response(batch(0, 1), throttle_time_ms=700)
    for reported in (throttled, response(batch(0, 101))):
        bench = ConnectionBench(reported)
        bench.connection.turn()
        bench.connection.turn()
        assert len(bench.scripted.requests) == 1


def test_a_quota_pauses_the_connection() -> None:
    """A wakeup does not end the throttle time."""
    bench = ConnectionBench(response(batch(0, 1), throttle_time_ms=700))
    bench.connection.turn()
    bench.connection.turn()
    assert bench.connection.turn() == Wait(700, can_wake=False)
    assert bench.shared.counters.throttle_time_ms == 700


def test_an_excessive_throttle_time_is_limited_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Otherwise a broker could pause a partition for 24 days."""
    bench = ConnectionBench(response(batch(0, 1), throttle_time_ms=2**31 - 1))
    bench.connection.turn()
    bench.connection.turn()
    assert bench.connection.turn() == Wait(300_000, can_wake=False)
    assert "throttles this client for 2147483647 ms" in caplog.text


@pytest.mark.parametrize("session_id", [0, 5])
def test_an_empty_response_of_a_quota_is_no_failure(session_id: int) -> None:
    """Brokers from 2.0 on send it; the connection is kept and used after the pause."""
    throttled = response(throttle_time_ms=700, session_id=session_id)
    bench = ConnectionBench(throttled, response(batch(0, 2), session_id=7), throttled)
    bench.connection.turn()
    bench.connection.turn()
    assert bench.connection.failure is None
    assert bench.connection.turn() == Wait(700, can_wake=False)
    assert bench.scripted.is_idle
    assert not any(effects.refresh_metadata for effects in bench.effects)
    bench.clock.advance(700)
    bench.connection.turn()
    assert bench.shared.counters.fetched_records == 2


def test_a_closed_connection_is_reopened_at_once() -> None:
    """Brokers close idle connections; only a second failure costs a pause."""
    lost = ConnectionLost("gone")
    bench = ConnectionBench(lost, lost, response(batch(0, 1)))
    bench.connection.turn()
    bench.connection.turn()
    assert bench.effects[-1].refresh_metadata or bench.effects[-2].refresh_metadata
    assert bench.connection.turn() == NO_WAIT
    bench.connection.turn()
    assert bench.connection.turn() == Wait(200, can_wake=False)
    bench.clock.advance(200)
    assert bench.connection.turn() == NO_WAIT
    bench.connection.turn()
    assert bench.shared.read(lambda states: len(states.states[TP].waiting)) == 1


def test_an_outage_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """Retries and the end of an idle connection are not logged, but the next outage is."""
    lost = ConnectionLost("gone")
    bench = ConnectionBench(*[lost] * 4, response(batch(0, 1)), *[lost] * 3)
    with caplog.at_level(logging.INFO, "zkconsumer.fetch.core.fetch_connection"):
        while bench.scripted.responses:
            bench.connection.turn()
            bench.clock.advance(10_000)
    info, warning = logging.INFO, logging.WARNING
    assert [entry.levelno for entry in caplog.records] == [info, warning, info, warning]


def test_refused_credentials_are_raised_before_the_next_attempt() -> None:
    """An account may be locked after too many attempts."""
    bench = ConnectionBench()
    bench.scripted.refusal = AuthenticationFailed("wrong password")
    bench.connection.turn()
    bench.clock.advance(5_000)
    assert bench.connection.turn() == Wait(1_000)
    with pytest.raises(AuthenticationFailed):
        bench.shared.change(lambda states, now_ms: collect(states, 1, now_ms, None))
    bench.scripted.refusal = None
    bench.scripted.responses.append(response(batch(0, 1)))
    bench.connection.turn()
    bench.connection.turn()
    assert bench.shared.read(lambda states: len(states.states[TP].waiting)) == 1


def test_an_error_of_the_whole_response_drops_its_records() -> None:
    """An error that is not about the session costs a pause."""
    bench = ConnectionBench(
        response(batch(0, 1), error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        response(batch(0, 1), error_code=ErrorCode.UNKNOWN),
    )
    bench.connection.turn()
    assert bench.connection.turn() == NO_WAIT
    bench.connection.turn()
    assert bench.connection.turn() == Wait(100, can_wake=False)
    assert bench.shared.read(lambda states: len(states.states[TP].waiting)) == 0
