"""The engine with its threads, over a network in memory; and one line of it, turn by turn."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, cast

import pytest

from tests.fakes.fake_broker import FakeBrokers
from tests.fakes.fake_cluster import FakeCluster
from tests.fakes.fake_script import Close, Fail, Hang
from tests.fakes.memory_transport import MemoryNetwork
from tests.support.manual_clock import ManualClock
from tests.support.poll_rig import PollRig
from tests.support.polled import BROKER, TP, batch, part, view
from tests.support.queues import needs_native_engine
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import (
    AuthenticationFailed,
    ConnectionLost,
    OffsetOutOfRange,
    RemoteProtocolError,
    ZkConsumerError,
)
from zkconsumer.fetch.core import fetch_connection
from zkconsumer.fetch.core.completed import unpack
from zkconsumer.fetch.core.effects import Effects
from zkconsumer.fetch.core.fetch_connection import AT_ONCE, FetchConnection, Rest
from zkconsumer.fetch.core.settings import PollFetchSettings
from zkconsumer.fetch.core.shared_state import SharedFetchState
from zkconsumer.fetch.core.starts import EARLIEST, LATEST, AtOffset, PositionView, Reset
from zkconsumer.fetch.polled.collecting import collect
from zkconsumer.model import Record, TopicPartition
from zkconsumer.net.connection import InFlight, Received
from zkconsumer.records.fetched import IsolationLevel
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.fetch import FetchedTopic, FetchRequest, FetchResponse

PARTITIONS = tuple(TopicPartition("t", number) for number in range(4))
QUICK = PollFetchSettings(max_wait_ms=50, retry_backoff_ms=10, retry_backoff_max_ms=50, reset=None)


class Fakes:
    """Two brokers with a topic of four partitions."""

    def __init__(self) -> None:
        self.cluster = FakeCluster(2)
        self.cluster.create_topic("t", 4, 2)
        self.brokers = FakeBrokers(self.cluster)
        self.network = MemoryNetwork()
        self.brokers.listen_in_memory(self.network)
        for broker in self.brokers:
            for api in (ApiKey.API_VERSIONS, ApiKey.LIST_GROUPS, ApiKey.HEARTBEAT):
                broker.script(api, *[Close()] * 100)  # as 0.8.1 does with what it lacks

    def write(self, tp: TopicPartition, count: int) -> None:
        """Append records."""
        records = [Record(0, None, b"%d" % number) for number in range(count)]
        self.cluster.append(tp, records)

    @contextmanager
    def rig(self, settings: PollFetchSettings = QUICK) -> Iterator[PollRig]:
        """An engine that reads from them."""
        addresses = self.brokers.addresses
        with PollRig(addresses, ["t"], settings, connector=self.network) as rig:
            yield rig


@pytest.fixture
def fakes() -> Fakes:
    """Brokers with some records."""
    made = Fakes()
    for tp in PARTITIONS:
        made.write(tp, 30)
    return made


def check(rig: PollRig, count: int = 30) -> None:
    """All records of all partitions, once and in order."""
    rig.poll_until(lambda: all(len(rig.offsets(tp)) >= count for tp in PARTITIONS), "all records")
    assert all(rig.offsets(tp) == list(range(count)) for tp in PARTITIONS)


def test_everything_is_read_and_what_comes_later(fakes: Fakes) -> None:
    """Records of all brokers are read, also those that are written later."""
    with fakes.rig() as rig:
        rig.start({tp: Reset(EARLIEST) if tp.partition else AtOffset(0) for tp in PARTITIONS})
        check(rig)
        for tp in PARTITIONS:
            fakes.write(tp, 3)
        check(rig, 33)
        assert rig.engine.lag(PARTITIONS[0]) == 0
        assert rig.engine.high_watermark(PARTITIONS[0]) == 33
        assert rig.engine.log_start(PARTITIONS[0]) is None
        stats = rig.engine.stats()
        assert stats.collected_records == stats.fetched_records == 4 * 33
        assert stats.brokers == 2


def test_failures_of_all_kinds_lose_and_double_nothing(fakes: Fakes) -> None:
    """Closed connections, lost leaders, errors of ListOffsets."""
    for broker in fakes.brokers:
        broker.script(ApiKey.FETCH, Close(), Fail(ErrorCode.NOT_LEADER_FOR_PARTITION), Close())
        broker.script(ApiKey.LIST_OFFSETS, Fail(ErrorCode.NOT_LEADER_FOR_PARTITION))
    with fakes.rig() as rig:
        rig.start({tp: Reset(EARLIEST) for tp in PARTITIONS})
        check(rig)


def test_leaders_move(fakes: Fakes) -> None:
    """When their broker goes down; and back."""
    with fakes.rig() as rig:
        rig.start({tp: AtOffset(0) for tp in PARTITIONS})
        check(rig)
        fakes.brokers[1].stop()
        for tp in PARTITIONS:
            found = fakes.cluster.partition(tp)
            assert found is not None
            found.leader = 0
            fakes.write(tp, 5)
        check(rig, 35)


def test_a_hanging_broker_holds_up_nobody_else(fakes: Fakes) -> None:
    """Neither the partitions of others nor the end."""
    fakes.brokers[1].script(ApiKey.FETCH, Hang())
    with fakes.rig() as rig:
        rig.start({tp: AtOffset(0) for tp in PARTITIONS})
        even = [tp for tp in PARTITIONS if tp.partition % 2 == 0]
        rig.poll_until(lambda: all(len(rig.offsets(tp)) == 30 for tp in even), "the others")
        wait_until(lambda: rig.engine.stats().in_flight == 2, what="the hanging fetch")
        started_ms = SystemClock().now_ms()
    assert SystemClock().now_ms() - started_ms < 2_000


def test_seeking_and_pausing(fakes: Fakes) -> None:
    """By the caller's word only."""
    tp = PARTITIONS[0]
    with fakes.rig() as rig:
        rig.engine.add([tp])
        assert rig.engine.position(tp) is None
        assert rig.poll(100) == {}
        rig.engine.seek(tp, AtOffset(25))
        assert rig.engine.position(tp) == PositionView(25)
        rig.engine.pause([tp])
        assert rig.engine.paused() == {tp}
        assert rig.poll(100) == {}
        rig.engine.resume([tp])
        rig.poll_until(lambda: rig.offsets(tp) == list(range(25, 30)), "the rest")
        rig.engine.seek(tp, Reset(LATEST))
        wait_until(lambda: rig.engine.position(tp) == PositionView(30), what="the end")
        rig.engine.seek(tp, AtOffset(77))
        with pytest.raises(OffsetOutOfRange):
            rig.poll_until(lambda: False, "the error")
        with pytest.raises(KeyError):
            rig.engine.seek(TopicPartition("u", 0), AtOffset(0))


def test_positions_are_asked_for_where_one_is_missing_and_only_then(fakes: Fakes) -> None:
    """The thread that asks starts with the first question: known offsets need no broker's word."""
    known, missing = PARTITIONS[0], PARTITIONS[1]

    def requests() -> bool:
        return any(thread.name == "poll-rig/positions" for thread in threading.enumerate())

    with fakes.rig() as rig:
        wait_until(lambda: set(PARTITIONS) <= set(rig.metadata.view.leaders), what="the leaders")
        rig.start({known: AtOffset(0)})
        rig.poll_until(lambda: len(rig.offsets(known)) == 30, "all records")
        assert not requests()
        rig.start({missing: Reset(LATEST)})
        assert requests()
        wait_until(lambda: rig.engine.position(missing) == PositionView(30), what="the end")


def test_a_thread_that_dies_is_heard_of(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of ours must not look like an empty topic."""

    def fail(_: FetchConnection) -> Rest:
        raise RuntimeError("a fault")

    monkeypatch.setattr(FetchConnection, "turn", fail)
    rig = PollRig(fakes.brokers.addresses, ["t"], QUICK, connector=fakes.network)
    rig.start({PARTITIONS[0]: AtOffset(0)})
    with pytest.raises(ZkConsumerError, match="a fault"):
        rig.poll_until(lambda: False, "the error")
    assert rig.engine.ready()
    rig.engine.stop()
    rig.dialer.stop()
    assert not rig.scope.close(5_000)


def test_what_could_not_be_made_of_records_stays_to_be_handed_out(fakes: Fakes) -> None:
    """Their positions, too: what never arrived must not be committed."""
    tp = PARTITIONS[0]

    def fail(_: object) -> None:
        raise KeyboardInterrupt

    with fakes.rig() as rig:
        rig.start({tp: AtOffset(0)})
        wait_until(rig.engine.ready, what="records")
        with pytest.raises(KeyboardInterrupt):
            rig.engine.collect_as(10, fail)
        assert rig.engine.position(tp) == PositionView(0)
        rig.poll_until(lambda: len(rig.offsets(tp)) == 30, "all records")
        assert rig.offsets(tp) == list(range(30))


def test_a_fetcher_without_partitions_may_retire(fakes: Fakes) -> None:
    """And is replaced when its broker gets some again."""
    tp = PARTITIONS[0]
    with fakes.rig() as rig:
        rig.start({tp: AtOffset(0)})
        rig.poll_until(lambda: len(rig.offsets(tp)) == 30, "all records")
        ((broker, fetcher),) = rig.engine._fetchers.items()
        assert not rig.engine._retire(broker, fetcher.line)
        rig.engine.remove([tp])
        another = cast("Any", "a line whose fetcher an interrupt kept from being known")
        assert rig.engine._retire(broker, another)
        assert rig.engine._fetchers[broker] is fetcher
        assert rig.engine._retire(broker, fetcher.line)
        rig.start({tp: AtOffset(20)})
        rig.poll_until(lambda: len(rig.offsets(tp)) == 40, "the last ones again")
        assert rig.engine._fetchers[broker] is not fetcher


def test_who_was_to_be_woken_is_woken_though_an_interrupt_came_between() -> None:
    """By the next change: a signal handler may raise anywhere."""
    followed: list[Effects] = []

    def follow(effects: Effects) -> None:
        followed.append(effects)
        if len(followed) == 1:
            raise KeyboardInterrupt

    shared = SharedFetchState(QUICK, ManualClock(), follow)
    with pytest.raises(KeyboardInterrupt):
        shared.change(lambda states, _: states.broker_lost(BROKER))
    shared.change(lambda _states, _now_ms: None)
    shared.change(lambda _states, _now_ms: None)
    assert [one.refresh_metadata for one in followed] == [True, True, False]


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
        settings = PollFetchSettings()
        self.shared = SharedFetchState(settings, self.clock, self.effects.append)
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


def test_an_answer_that_leaves_out_what_was_asked_for_is_a_failure() -> None:
    """Asked again at once, and after a pause from the second time on: it might go on for ever."""
    one = Line(response(), response(), response(batch(0, 2)))
    one.line.turn()
    assert one.line.turn() == AT_ONCE
    first_failure = one.line.failure
    assert isinstance(first_failure, RemoteProtocolError)
    one.line.turn()
    one.line.turn()
    rest = one.line.turn()
    assert rest.duration_ms
    assert not rest.can_wake
    one.clock.advance(rest.duration_ms)
    one.line.turn()
    one.line.turn()
    assert one.line.failure is None
    assert one.shared.counters.fetched_records == 2


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
    assert "asks for a pause of 2147483647 ms" in caplog.text


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


def _has_requests(fakes: Fakes, count: int) -> bool:
    return len(fakes.brokers[0].requests) >= count


def _has_offsets(rig: PollRig, tp: TopicPartition, count: int) -> bool:
    return len(rig.offsets(tp)) == count


@pytest.mark.parametrize("sessions", [True, False])
def test_an_answer_that_never_comes_is_asked_for_once_more(fakes: Fakes, *, sessions: bool) -> None:
    """Over a second connection, again and again; each record comes once."""
    settings = replace(QUICK, request_timeout_ms=6_000, sessions=sessions)
    tp = PARTITIONS[0]
    with fakes.rig(settings) as rig:
        rig.start({tp: AtOffset(0)})
        rig.poll_until(lambda: len(rig.offsets(tp)) == 30, "what is there")
        for _ in range(3):
            requested, count = len(fakes.brokers[0].requests), len(rig.offsets(tp)) + 1
            fakes.brokers[0].script(ApiKey.FETCH, Hang())
            wait_until(partial(_has_requests, fakes, requested + 2), what="silence")
            fakes.write(tp, 1)
            rig.poll_until(partial(_has_offsets, rig, tp, count), "one more", timeout_s=4)
        assert rig.offsets(tp) == list(range(33))
        assert rig.engine.stats().failed_fetches == 0


def test_a_view_that_nobody_told_of_is_seen_all_the_same(
    fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the next call of whoever reads: the keeper may have had it before the engine was there."""
    monkeypatch.setattr(PollRig, "_changed", lambda _rig, _view: None)
    with fakes.rig() as rig:
        wait_until(lambda: bool(rig.metadata.view.leaders), what="a view")
        rig.start({tp: AtOffset(0) for tp in PARTITIONS})
        check(rig)


@pytest.mark.parametrize("isolation", list(IsolationLevel))
def test_what_no_answer_has_told_is_not_known(fakes: Fakes, isolation: IsolationLevel) -> None:
    """Neither the ends of a log nor how far they are; nor what nobody reads."""
    with fakes.rig(replace(QUICK, isolation=isolation)) as rig:
        tp = PARTITIONS[0]
        rig.engine.add([tp])
        for one in (tp, PARTITIONS[1]):
            known = rig.engine.high_watermark(one), rig.engine.last_stable(one), rig.engine.lag(one)
            assert known == (None, None, None)
