"""The shell around a pump: when it runs, and what becomes of the partitions however a run ends."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.altered_messages import altered
from tests.support.delegated import SETTINGS, back_at, far_behind, make_fetch, put
from tests.support.manual_clock import ManualClock
from tests.support.polled import BROKER, TP, TP1, batch, part, plan
from zkconsumer.errors import ConnectionLost, ZkConsumerError
from zkconsumer.fetch.core.broker_delegation import BrokerDelegation
from zkconsumer.fetch.core.completed import PartitionRequest
from zkconsumer.fetch.core.delegated import Returned
from zkconsumer.fetch.core.hedged_exchange import SecondResponse
from zkconsumer.fetch.core.incremental import SessionStep, without_session
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.pumped_connection import PumpedConnection, TakeBack
from zkconsumer.fetch.core.requests import entries_of, fetch_request, responses_of
from zkconsumer.fetch.core.shared_state import SharedFetchState
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.wire.messages.fetch import FetchedTopic, FetchResponse

ID = b"i" * 16


class FakePumped:
    """A ``Pumped`` whose runs a test defines.

    Attributes:
        runs: what the next runs do, in order.
        versions: the versions of all runs.
        calls: the names of all other calls.
    """

    def __init__(self) -> None:
        self.runs: list[Callable[[BrokerDelegation, TakeBack], SecondResponse | None]] = []
        self.versions: list[int] = []
        self.calls: list[str] = []

    def call(self) -> None:
        """See ``Pumped``."""
        self.calls.append("call")

    def clear_call(self) -> None:
        """See ``Pumped``."""
        self.calls.append("clear_call")

    def stop(self) -> None:
        """See ``Pumped``."""
        self.calls.append("stop")

    def close(self) -> None:
        """See ``Pumped``."""
        self.calls.append("close")

    def fetch(
        self, _connection: object, version: int, delegation: BrokerDelegation, take_back: TakeBack
    ) -> SecondResponse | None:
        """See ``Pumped``."""
        self.versions.append(version)
        return self.runs.pop(0)(delegation, take_back)


class FakeLine:
    """A ``FetchConnection`` that records what the pump hands over.

    Attributes:
        news: what was handed over, in order.
    """

    broker = BROKER

    def __init__(self) -> None:
        self.has_early = False
        self.may_send_early: Any = None
        self.connection = SimpleNamespace(is_idle=True, has_descriptor=True)
        self.pause_ms = 0
        self.exchange = SimpleNamespace(
            connection=self.connection,
            pause_left_ms=lambda: self.pause_ms,
            fetch_version=11,
        )
        self.news: list[tuple[object, ...]] = []

    def take_handed_back(self, sets: Any, errors: Any, absent: Any) -> None:
        """See ``FetchConnection``."""
        named = [[request.topic_partition for request, _ in parts] for parts in (sets, errors)]
        self.news.append(("handed", *named, [request.topic_partition for request in absent]))

    def broke_off(self, error: ZkConsumerError) -> None:
        """See ``FetchConnection``."""
        self.news.append(("broke off", str(error)))

    def take(self, step: SessionStep, response: FetchResponse, duration_ms: int) -> bool:
        """See ``FetchConnection``."""
        self.news.append(("took", step, response, duration_ms))
        return True


class Bench:
    """A pump of two partitions that are far behind."""

    def __init__(self) -> None:
        self.states = far_behind(TP, TP1)
        self.shared = SharedFetchState(self.states, ManualClock(), lambda _: None)
        self.line, self.pumped = FakeLine(), FakePumped()
        self.pump = PumpedConnection(
            cast("Any", self.line), self.shared, lambda: self.pumped, make_fetch
        )

    def are_free(self) -> bool:
        """Whether both partitions can be requested, and nothing counts as in flight."""
        counters = self.shared.counters
        states = self.states.states.values()
        is_free = all(state.requested is None and state.delegated is None for state in states)
        return is_free and counters.in_flight == 0 and self.states.delegated == {}


@pytest.fixture
def bench() -> Bench:
    """A bench."""
    return Bench()


def take_untouched(delegation: BrokerDelegation, take_back: TakeBack) -> None:
    """Return at once."""
    take_back(delegation.untouched())


def _without_connection(bench: Bench) -> None:
    bench.line.exchange.connection = None


def _with_a_request_in_flight(bench: Bench) -> None:
    bench.line.connection.is_idle = False


def _without_descriptor(bench: Bench) -> None:
    bench.line.connection.has_descriptor = False


def _with_an_early_request(bench: Bench) -> None:
    bench.line.has_early = True


def _in_a_pause(bench: Bench) -> None:
    bench.line.pause_ms = 1


def _at_the_end(bench: Bench) -> None:
    for state in bench.states.states.values():
        state.shrink()


@pytest.mark.parametrize(
    "change",
    [
        _without_connection,
        _with_a_request_in_flight,
        _without_descriptor,
        _with_an_early_request,
        _in_a_pause,
        _at_the_end,
    ],
)
def test_it_is_python_s_turn(bench: Bench, change: Callable[[Bench], None]) -> None:
    """Nothing is delegated then."""
    change(bench)
    assert not bench.pump.turn()
    assert bench.pumped.versions == []
    assert bench.are_free()


def test_a_delegation_that_is_given_back_changes_nothing(bench: Bench) -> None:
    """It was begun, and nobody could run it: the partitions are requested from where they were."""
    before = [state.fetched for state in bench.states.states.values()]
    delegation = bench.pump.begin()
    assert delegation is not None
    assert not bench.are_free()
    assert plan(bench.states).wanted == {}
    bench.pump.give_back(delegation)
    assert bench.are_free()
    assert bench.pumped.versions == []
    assert before == [state.fetched for state in bench.states.states.values()]
    assert all(state.is_behind for state in bench.states.states.values())
    assert plan(bench.states).wanted.keys() == {TP, TP1}


def test_a_delegation_may_be_run_by_another_thread_later(bench: Bench) -> None:
    """``begin`` and ``run`` are the two halves of a turn; until then nothing is in flight."""
    delegation = bench.pump.begin()
    assert delegation is not None
    assert bench.pump.begin() is None
    assert bench.shared.counters.in_flight == 0
    put(delegation.fetches[0], batch(10, 5), 10)
    bench.pumped.runs.append(lambda _, take_back: take_back([back_at(15), back_at(10)]))
    bench.pump.run(delegation)
    assert bench.are_free()
    assert bench.states.states[TP].fetched == PositionView(15, 0)
    assert bench.line.news == [("handed", [], [], [])]


def test_a_pump_that_can_not_be_opened_is_not_tried_again(bench: Bench) -> None:
    """There is no descriptor left, or no memory: Python fetches, with early requests."""
    opened: list[None] = []
    pump = PumpedConnection(
        cast("Any", bench.line), bench.shared, lambda: opened.append(None), make_fetch
    )
    for _ in range(3):
        assert pump.begin() is None
        assert bench.line.may_send_early(bench.line.connection, 0)
    assert opened == [None]
    assert bench.are_free()


def test_a_pump_is_opened_once_there_is_something_to_delegate(bench: Bench) -> None:
    """Most connections never need its descriptor."""
    opened: list[FakePumped] = []

    def open_pump() -> FakePumped:
        opened.append(bench.pumped)
        return bench.pumped

    pump = PumpedConnection(cast("Any", bench.line), bench.shared, open_pump, make_fetch)
    behind = [state.is_behind for state in bench.states.states.values()]
    _at_the_end(bench)
    assert pump.begin() is None
    assert opened == []
    for state, is_behind in zip(bench.states.states.values(), behind, strict=True):
        state.is_behind = is_behind
    for _ in range(2):
        delegation = pump.begin()
        assert delegation is not None
        pump.give_back(delegation)
    assert len(opened) == 1


def test_what_a_run_leaves_is_handed_over(bench: Bench) -> None:
    """Sets, errors and omissions, after what is queued; while it runs, a request is in flight."""
    in_flight: list[int] = []

    def run(delegation: BrokerDelegation, take_back: TakeBack) -> None:
        in_flight.append(bench.shared.counters.in_flight)
        put(delegation.fetches[0], batch(10, 5), 10)
        packed = memoryview(batch(15, 5)), 15, 900, 0, 0, True
        take_back([back_at(15, packed=packed), back_at(10, error_code=6)])

    bench.pumped.runs.append(run)
    assert bench.pump.turn()
    assert (in_flight, bench.shared.counters.in_flight) == ([1], 0)
    assert bench.line.news == [("handed", [TP], [TP1], [])]
    assert bench.states.states[TP].fetched == PositionView(15, 0)
    assert bench.shared.counters.failed_fetches == 0


def test_a_failure_before_the_first_request_changes_nothing(bench: Bench) -> None:
    """The connection was closed meanwhile: all partitions are requested again."""

    def run(_delegation: BrokerDelegation, _take_back: TakeBack) -> None:
        raise ConnectionLost("closed")

    bench.pumped.runs.append(run)
    before = [state.fetched for state in bench.states.states.values()]
    assert bench.pump.turn()
    assert bench.line.news == [("handed", [], [], []), ("broke off", "closed")]
    assert bench.are_free()
    assert before == [state.fetched for state in bench.states.states.values()]
    assert bench.shared.counters.failed_fetches == 1
    assert plan(bench.states).wanted.keys() == {TP, TP1}


def test_a_failure_comes_after_what_arrived_before_it(bench: Bench) -> None:
    """Sets that came over the connection before it broke are unpacked."""

    def run(_delegation: BrokerDelegation, take_back: TakeBack) -> None:
        packed = memoryview(batch(10, 5)), 10, 900, 0, 0, True
        take_back([back_at(10, packed=packed), back_at(10)])
        raise ConnectionLost("broken")

    bench.pumped.runs.append(run)
    assert bench.pump.turn()
    assert bench.line.news == [("handed", [TP], [], []), ("broke off", "broken")]
    assert bench.shared.counters.failed_fetches == 1


@pytest.mark.parametrize("is_back", [False, True])
def test_a_fault_of_ours_leaves_no_partition_delegated(bench: Bench, *, is_back: bool) -> None:
    """It ends the thread, which others report; the partitions themselves are free."""

    def run(delegation: BrokerDelegation, take_back: TakeBack) -> None:
        if is_back:
            take_untouched(delegation, take_back)
        raise MemoryError

    bench.pumped.runs.append(run)
    with pytest.raises(MemoryError):
        bench.pump.turn()
    assert bench.are_free()


@pytest.mark.parametrize(
    ("served", "has_ids", "used"), [(4, True, 4), (12, True, 12), (17, True, 13), (17, False, 12)]
)
def test_topics_are_named_by_id_if_both_sides_know_ids(
    bench: Bench, *, served: int, has_ids: bool, used: int
) -> None:
    """From Fetch 13 on; the pump knows no later version."""
    bench.line.exchange.fetch_version = served
    for state in bench.states.states.values() if has_ids else ():
        state.is_of(ID)
    bench.pumped.runs.append(take_untouched)
    assert bench.pump.turn()
    assert bench.pumped.versions == [used]


def hedged(bench: Bench, *, by_id: bool, removed: bool = False) -> SessionStep:
    """Have a run return the response to a hedged request; return the step that it is taken for."""
    for state in bench.states.states.values():
        state.is_of(ID)
    bench.line.exchange.fetch_version = 13 if by_id else 12
    name = {"topic_id": ID} if by_id else {"topic": "t"}
    parts = tuple(part(tp, batch(10, 5)) for tp in (TP, TP1))
    response = FetchResponse(topics=(FetchedTopic(partitions=parts, **cast("Any", name)),))

    def run(delegation: BrokerDelegation, take_back: TakeBack) -> SecondResponse:
        wanted: dict[Any, PartitionRequest] = {
            fetch.topic_partition: fetch.requested for fetch in delegation.fetches
        }
        entries = entries_of(without_session(wanted, {}))
        request = fetch_request(SETTINGS, entries, max_wait_ms=0)
        named = tuple(altered(topic, **{"topic": ""} | name) for topic in request.topics)
        if removed:
            bench.states.remove([TP, TP1])
        take_untouched(delegation, take_back)
        return SecondResponse(altered(request, topics=named), response, 70)

    bench.pumped.runs.append(run)
    assert bench.pump.turn()
    assert bench.line.news[0] == ("handed", [], [], [])
    kind, step, taken, took_ms = bench.line.news[1]
    assert (kind, taken, took_ms) == ("took", response, 70)
    assert isinstance(step, SessionStep)
    assert step.is_full
    return step


@pytest.mark.parametrize("by_id", [False, True])
def test_the_response_to_a_hedged_request_is_taken_as_python_s_own(
    bench: Bench, *, by_id: bool
) -> None:
    """For the partitions of that request, which are requested again for it."""
    step = hedged(bench, by_id=by_id)
    assert step.requests.keys() == {TP, TP1}
    assert all(map(bench.states.counts, step.requests.values()))
    _, _, response, _ = bench.line.news[1]
    assert responses_of(cast("FetchResponse", response), step).keys() == {TP, TP1}
    assert step.by_id is by_id


@pytest.mark.parametrize("by_id", [False, True])
def test_the_response_to_a_hedged_request_about_nothing_is_taken(
    bench: Bench, *, by_id: bool
) -> None:
    """All partitions were removed meanwhile: the connection stays, and nothing else happens."""
    assert hedged(bench, by_id=by_id, removed=True).requests == {}


def test_no_early_request_is_sent_while_partitions_are_to_be_delegated(bench: Bench) -> None:
    """The pump needs a connection with nothing in flight."""
    may_send = bench.line.may_send_early
    assert not may_send(bench.line.connection, 0)
    _at_the_end(bench)
    assert may_send(bench.line.connection, 0)


def test_early_requests_are_sent_over_connections_that_the_pump_can_not_use(bench: Bench) -> None:
    """Such as TLS connections."""
    _without_descriptor(bench)
    assert bench.line.may_send_early(bench.line.connection, 0)


def test_calls_reach_the_pump(bench: Bench) -> None:
    """From any thread, once there is a pump."""
    bench.pump.call()
    bench.pump.clear_call()
    assert not bench.pumped.calls
    assert bench.pump.begin()
    bench.pump.call()
    bench.pump.clear_call()
    bench.pump.stop()
    bench.pump.close()
    assert bench.pumped.calls == ["call", "clear_call", "stop", "close"]


def test_a_stop_before_there_is_a_pump_stops_it(bench: Bench) -> None:
    """Its first run must not last."""
    bench.pump.stop()
    assert not bench.pumped.calls
    assert bench.pump.begin()
    assert bench.pumped.calls == ["stop"]


def test_a_partition_that_is_given_up_in_a_run_is_fetched_as_it_is_now(bench: Bench) -> None:
    """Whatever the run returns of it."""

    def run(delegation: BrokerDelegation, take_back: TakeBack) -> None:
        put(delegation.fetches[0], batch(10, 5), 10)
        bench.shared.change(lambda states, _: _seek(states))
        take_back([back_at(15), *delegation.untouched()[1:]])

    bench.pumped.runs.append(run)
    assert bench.pump.turn()
    assert bench.are_free()
    assert plan(bench.states).wanted[TP].start == PositionView(3)


def _seek(states: PartitionStates) -> None:
    states.seek(TP, PositionView(3))


def test_returned_partitions_are_read_once(bench: Bench) -> None:
    """The pump may return them as an iterator."""

    def run(delegation: BrokerDelegation, take_back: TakeBack) -> None:
        returned: list[Returned] = delegation.untouched()
        take_back(iter(returned))

    bench.pumped.runs.append(run)
    assert bench.pump.turn()
    assert bench.are_free()
