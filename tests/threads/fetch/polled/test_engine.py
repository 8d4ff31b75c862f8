"""The fetch engine of a poll, on real threads (the unit tests of the same name hold the rest)."""

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
from tests.support.poll_rig import PollRig
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import (
    OffsetOutOfRange,
    ZkConsumerError,
)
from zkconsumer.fetch.core.fetch_connection import FetchConnection, Wait
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.starts import EARLIEST, LATEST, PositionView
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.wire.api import ApiKey

PARTITIONS = tuple(TopicPartition("t", number) for number in range(4))
QUICK = CoreFetchSettings(max_wait_ms=50, retry_backoff_ms=10, retry_backoff_max_ms=50, reset=None)


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
                broker.script(api, *[Close()] * 100)  # as 0.8.1 does with unknown requests

    def write(self, tp: TopicPartition, count: int) -> None:
        """Append records."""
        records = [Record(0, None, b"%d" % number) for number in range(count)]
        self.cluster.append(tp, records)

    @contextmanager
    def rig(self, settings: CoreFetchSettings = QUICK) -> Iterator[PollRig]:
        """Run an engine that reads from these brokers."""
        addresses = self.brokers.addresses
        with PollRig(addresses, ["t"], settings, connector=self.network) as rig:
            yield rig


@pytest.fixture
def fakes() -> Fakes:
    """Two brokers with thirty records in each partition."""
    made = Fakes()
    for tp in PARTITIONS:
        made.write(tp, 30)
    return made


def check(rig: PollRig, count: int = 30) -> None:
    """Check that all records of all partitions come, once and in order."""
    rig.poll_until(lambda: all(len(rig.offsets(tp)) >= count for tp in PARTITIONS), "all records")
    assert all(rig.offsets(tp) == list(range(count)) for tp in PARTITIONS)


def test_all_records_are_read_and_later_ones_too(fakes: Fakes) -> None:
    """They are of both brokers; positions, log end offsets and statistics agree with them."""
    with fakes.rig() as rig:
        rig.start({tp: EARLIEST if tp.partition else PositionView(0) for tp in PARTITIONS})
        check(rig)
        for tp in PARTITIONS:
            fakes.write(tp, 3)
        check(rig, 33)
        assert rig.engine.lag(PARTITIONS[0]) == 0
        assert rig.engine.high_watermark(PARTITIONS[0]) == 33
        assert rig.engine.log_start(PARTITIONS[0]) is None
        stats = rig.engine.stats()
        assert stats.collected_records == stats.fetched_records == 4 * 33


def test_records_that_are_put_back_are_not_counted_as_collected(fakes: Fakes) -> None:
    """They come again with the next call, and count then."""

    def fail(taken: object) -> None:
        if taken:
            raise MemoryError

    def has_failed() -> bool:
        try:
            rig.engine.collect_as(500, fail)
        except MemoryError:
            return True
        return False

    with fakes.rig() as rig:
        rig.start({tp: PositionView(0) for tp in PARTITIONS})
        wait_until(has_failed, what="records")
        assert rig.engine.stats().collected_records == 0
        check(rig)
        assert rig.engine.stats().collected_records == 4 * 30


def test_failures_of_all_kinds_lose_and_repeat_nothing(fakes: Fakes) -> None:
    """Connections are closed, leaders are lost, and ListOffsets fails."""
    for broker in fakes.brokers:
        broker.script(ApiKey.FETCH, Close(), Fail(ErrorCode.NOT_LEADER_FOR_PARTITION), Close())
        broker.script(ApiKey.LIST_OFFSETS, Fail(ErrorCode.NOT_LEADER_FOR_PARTITION))
    with fakes.rig() as rig:
        rig.start(dict.fromkeys(PARTITIONS, EARLIEST))
        check(rig)


def test_a_moved_leader_is_followed(fakes: Fakes) -> None:
    """Partitions of a broker that goes down are read from the other one."""
    with fakes.rig() as rig:
        rig.start({tp: PositionView(0) for tp in PARTITIONS})
        check(rig)
        fakes.brokers[1].stop()
        for tp in PARTITIONS:
            found = fakes.cluster.partition(tp)
            assert found is not None
            found.leader = 0
            fakes.write(tp, 5)
        check(rig, 35)


def test_a_hanging_broker_does_not_block_others(fakes: Fakes) -> None:
    """Neither other brokers' partitions nor closing wait for it."""
    fakes.brokers[1].script(ApiKey.FETCH, Hang())
    with fakes.rig() as rig:
        rig.start({tp: PositionView(0) for tp in PARTITIONS})
        even = [tp for tp in PARTITIONS if tp.partition % 2 == 0]
        rig.poll_until(lambda: all(len(rig.offsets(tp)) == 30 for tp in even), "the others")
        wait_until(lambda: rig.engine.stats().in_flight == 2, what="the hanging fetch")
        started_ms = SystemClock().now_ms()
    assert SystemClock().now_ms() - started_ms < 2_000


def test_seeking_and_pausing(fakes: Fakes) -> None:
    """A partition is read from the position that was set last, and not while it is paused."""
    tp = PARTITIONS[0]
    with fakes.rig() as rig:
        rig.engine.add([tp])
        assert rig.engine.position(tp) is None
        assert rig.poll(100) == {}
        rig.engine.seek(tp, PositionView(25))
        assert rig.engine.position(tp) == PositionView(25)
        rig.engine.pause([tp])
        assert rig.engine.paused() == {tp}
        assert rig.poll(100) == {}
        rig.engine.resume([tp])
        rig.poll_until(lambda: rig.offsets(tp) == list(range(25, 30)), "the rest")
        rig.engine.seek(tp, LATEST)
        wait_until(lambda: rig.engine.position(tp) == PositionView(30), what="the end")
        rig.engine.seek(tp, PositionView(77))
        with pytest.raises(OffsetOutOfRange):
            rig.poll_until(lambda: False, "the error")
        with pytest.raises(KeyError):
            rig.engine.seek(TopicPartition("u", 0), PositionView(0))


def test_positions_are_looked_up_only_if_one_is_missing(fakes: Fakes) -> None:
    """The thread that does so starts with the first lookup."""
    known, missing = PARTITIONS[0], PARTITIONS[1]

    def has_lookup_thread() -> bool:
        return any(thread.name == "poll-rig/positions" for thread in threading.enumerate())

    with fakes.rig() as rig:
        wait_until(lambda: set(PARTITIONS) <= set(rig.metadata.view.leaders), what="the leaders")
        rig.start({known: PositionView(0)})
        rig.poll_until(lambda: len(rig.offsets(known)) == 30, "all records")
        assert not has_lookup_thread()
        rig.start({missing: LATEST})
        assert has_lookup_thread()
        wait_until(lambda: rig.engine.position(missing) == PositionView(30), what="the end")


def test_the_death_of_a_thread_is_raised(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug of ours must not look like an empty topic."""

    def fail(_: FetchConnection) -> Wait:
        raise RuntimeError("a fault")

    monkeypatch.setattr(FetchConnection, "turn", fail)
    rig = PollRig(fakes.brokers.addresses, ["t"], QUICK, connector=fakes.network)
    rig.start({PARTITIONS[0]: PositionView(0)})
    with pytest.raises(ZkConsumerError, match="a fault"):
        rig.poll_until(lambda: False, "the error")
    rig.engine.stop()
    rig.dialer.stop()
    assert not rig.scope.close(5_000)


def test_records_that_could_not_be_converted_stay_undelivered(fakes: Fakes) -> None:
    """Their positions stay as well: what was not delivered must not be committed."""
    tp = PARTITIONS[0]

    def fail(_: object) -> None:
        raise KeyboardInterrupt

    with fakes.rig() as rig:
        rig.start({tp: PositionView(0)})
        wait_until(lambda: rig.engine.stats().buffered_records > 0, what="records")
        with pytest.raises(KeyboardInterrupt):
            rig.engine.collect_as(10, fail)
        assert rig.engine.position(tp) == PositionView(0)
        rig.poll_until(lambda: len(rig.offsets(tp)) == 30, "all records")
        assert rig.offsets(tp) == list(range(30))


def test_a_fetcher_without_partitions_may_retire(fakes: Fakes) -> None:
    """It is replaced when its broker gets partitions again."""
    tp = PARTITIONS[0]
    with fakes.rig() as rig:
        rig.start({tp: PositionView(0)})
        rig.poll_until(lambda: len(rig.offsets(tp)) == 30, "all records")
        ((broker, fetcher),) = rig.engine._fetchers.items()
        assert not rig.engine._retire(broker, fetcher.line)
        rig.engine.remove([tp])
        another = cast("Any", "a line whose fetcher an interrupt kept from being known")
        assert rig.engine._retire(broker, another)
        assert rig.engine._fetchers[broker] is fetcher
        assert rig.engine._retire(broker, fetcher.line)
        rig.start({tp: PositionView(20)})
        rig.poll_until(lambda: len(rig.offsets(tp)) == 40, "the last ones again")
        assert rig.engine._fetchers[broker] is not fetcher


def _has_requests(fakes: Fakes, count: int) -> bool:
    return len(fakes.brokers[0].requests) >= count


def _has_offsets(rig: PollRig, tp: TopicPartition, count: int) -> bool:
    return len(rig.offsets(tp)) == count


@pytest.mark.parametrize("sessions", [True, False])
def test_a_request_without_a_response_is_hedged(fakes: Fakes, *, sessions: bool) -> None:
    """It is sent over a second connection, each time; each record comes once."""
    settings = replace(QUICK, request_timeout_ms=6_000, sessions=sessions)
    tp = PARTITIONS[0]
    with fakes.rig(settings) as rig:
        rig.start({tp: PositionView(0)})
        rig.poll_until(lambda: len(rig.offsets(tp)) == 30, "what is there")
        for _ in range(3):
            requested, count = len(fakes.brokers[0].requests), len(rig.offsets(tp)) + 1
            fakes.brokers[0].script(ApiKey.FETCH, Hang())
            wait_until(partial(_has_requests, fakes, requested + 2), what="silence")
            fakes.write(tp, 1)
            rig.poll_until(partial(_has_offsets, rig, tp, count), "one more", timeout_s=4)
        assert rig.offsets(tp) == list(range(33))
        assert rig.engine.stats().failed_fetches == 0


def test_a_view_without_a_notification_is_noticed(
    fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next poll does so: the view may have come before the engine existed."""
    monkeypatch.setattr(PollRig, "_changed", lambda _rig, _view: None)
    with fakes.rig() as rig:
        wait_until(lambda: bool(rig.metadata.view.leaders), what="a view")
        rig.start({tp: PositionView(0) for tp in PARTITIONS})
        check(rig)


@pytest.mark.parametrize("isolation", list(IsolationLevel))
def test_ends_and_lag_are_unknown_without_a_response(
    fakes: Fakes, isolation: IsolationLevel
) -> None:
    """Neither an added partition nor one that is not read has any."""
    with fakes.rig(replace(QUICK, isolation=isolation)) as rig:
        tp = PARTITIONS[0]
        rig.engine.add([tp])
        for partition in (tp, PARTITIONS[1]):
            assert rig.engine.high_watermark(partition) is None
            assert rig.engine.lag(partition) is None
