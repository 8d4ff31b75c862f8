"""What is native about the native loop: early requests, no GIL, odd things in the middle of all."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.loopback import LOOPBACK
from tests.support.log_broker import LogBroker
from tests.support.log_readers import SETTINGS, native_reader, offsets_in
from tests.support.queues import needs_native_engine
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.claim import Chunk
from zkconsumer.model import Broker
from zkconsumer.records.codecs import Codec

pytestmark = needs_native_engine

ROOT = Path(__file__).parent.parent.parent.parent


# --- the early request ---------------------------------------------------------------------------


def test_the_next_request_leaves_before_the_answer_is_queued() -> None:
    """One of two sets finds no place in the queue; behind both is asked on all the same.

    The headers tell where that is.
    """
    with LogBroker(2) as broker:
        for log in broker.logs:
            for number in range(100):
                log.add([b"%d" % number])

        def answer_once(frame: bytes) -> bytes:
            broker.may_answer.clear()
            return frame

        broker.mangle = answer_once
        with native_reader(broker, max_chunks=1) as one:
            one.add_all()
            wait_until(lambda: len(broker.requests) == 2, what="the early request")
            assert one.queue.chunk_count() <= 1
            (first, _), (second, _) = (broker.requested(number).values() for number in (0, 1))
            broker.mangle = bytes
            broker.may_answer.set()
            assert offsets_in(one) == list(range(100))
    assert first.fetch_offset == 0
    assert second.fetch_offset > 0


def test_the_next_request_leaves_before_the_first_chunk_does() -> None:
    """The answer is decoded while the broker works on the next one."""
    with LogBroker() as broker:
        for number in range(100):
            broker.logs[0].add([b"%d" % number])
        received: list[int] = []

        def receive() -> None:
            """Hold the loop up in the middle of queueing, until the request is there."""
            if not received:
                wait_until(lambda: len(broker.requests) > 1, what="the early request")
            received.append(len(broker.requests))

        with native_reader(broker) as one:
            one.queue.listen(receive)
            one.add_all()
            assert offsets_in(one) == list(range(100))
            one.queue.listen(None)
    assert received[0] > 1


def test_nothing_is_asked_early_that_would_not_fit() -> None:
    """The queue has no room for two answers: the next one is asked for when this one is in it."""
    with LogBroker() as broker:
        for number in range(100):
            broker.logs[0].add([b"%d" % number])
        with native_reader(broker, max_chunks=1, max_bytes=3_000) as one:
            one.add_all()
            wait_until(lambda: one.queue.chunk_count() == 1, what="the queue to be full")
            requested = len(broker.requests)
            assert one.queue.used_bytes() <= 3_000
            assert requested == 1
            assert offsets_in(one) == list(range(100))


def test_an_early_answer_waits_behind_the_one_before() -> None:
    """One chunk at a time fits; nothing is fetched twice."""
    with LogBroker(4) as broker:
        for log in broker.logs:
            for number in range(300):
                log.add([b"%d" % number])
        with native_reader(broker, max_chunks=1) as one:
            one.add_all()
            came = one.read_all()
        assert all(len(part.records) == 300 for part in came.values())
        requested = [
            partition.fetch_offset
            for request in range(len(broker.requests))
            for partition in broker.requested(request).values()
            if partition.partition == 0
        ]
        assert len(requested) - len(set(requested)) <= requested.count(300)


# --- without the GIL -----------------------------------------------------------------------------


class FarBroker(LogBroker):
    """A broker in a process of its own, which has no part in this one's GIL."""

    def __init__(self, count: int, pause_ms: int) -> None:
        super().__init__()
        code = f"from tests.support import log_broker as b; b.serve_slowly({count}, {pause_ms})"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
        )
        assert self._process.stdout is not None
        self._port = int(self._process.stdout.readline())

    @property
    def address(self) -> Broker:
        """Where it is."""
        return Broker(0, LOOPBACK, self._port)

    def end(self) -> None:
        """End the process."""
        self._process.communicate(timeout=10)


@pytest.fixture
def selfish() -> Iterator[None]:
    """A thread that runs keeps the GIL for a minute."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(60)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("selfish")
def test_chunks_keep_coming_while_a_python_thread_keeps_the_gil() -> None:
    """They were asked for, received, checked and queued by nobody who needs it."""
    clock = SystemClock()
    with FarBroker(5_000, pause_ms=5) as broker:
        try:
            with native_reader(broker, settings=replace(SETTINGS, fetch_bytes=100)) as one:
                one.add_all()
                wait_until(lambda: one.queue.chunk_count() >= 2, what="the pump to run")
                before, start_ms = one.queue.chunk_count(), clock.now_ms()
                # For as long as the broker needs for so many, which others may hold up.
                while one.queue.chunk_count() <= before + 10:
                    assert clock.now_ms() - start_ms < 20_000
                    sum(range(100_000))
        finally:
            broker.end()


# --- odd things ----------------------------------------------------------------------------------


def test_a_damaged_entry_is_met_by_the_definition_and_the_rest_comes() -> None:
    """What is sound before it comes first; the other partition does not notice."""
    with LogBroker(2) as broker:
        for log in broker.logs:
            for number in range(50):
                log.add([b"%d" % number])
        broker.logs[0].damage(20, 10)
        with native_reader(broker, settings=replace(SETTINGS, skip_poison=True)) as one:
            one.add_all()
            came = one.read_all()
    assert [record.offset for record in came[0].records] == [*range(20), *range(21, 50)]
    assert [fault[:2] for fault in came[0].faults] == [(20, 21)]
    assert len(came[1].records) == 50


def test_an_error_code_between_sound_partitions_gives_back_one_only() -> None:
    """The answer's other parts count."""
    with LogBroker(3) as broker:
        for log in broker.logs:
            log.add([b"a", b"b"])
        broker.logs[1].error = ErrorCode.NOT_LEADER_FOR_PARTITION
        with native_reader(broker) as one:
            one.add_all()
            came = one.read_all()
            assert [len(came[number].records) for number in range(3)] == [2, 0, 2]
            wait_until(lambda: len(one.lost) == 1, what="the lost one")
            assert one.lost[0].fetch_offset == 0
            assert one.loop.partition_count() == 2


def test_an_entry_that_is_larger_than_a_fetch_is_fetched_and_one_that_is_too_large_told() -> None:
    """Growing is Python's; what is small around it comes as ever."""
    with LogBroker() as broker:
        log = broker.logs[0]
        log.add([b"small"] * 30)
        log.add([bytes(9_000)])
        log.add([b"small"] * 30)
        log.add([bytes(30_000)])
        with native_reader(broker) as one:
            claim = one.add(0)
            came = one.read_all()[0]
            assert claim.halted
    assert [record.offset for record in came.records] == list(range(61))
    assert came.faults[0][0] == 61
    assert "30" in came.faults[0][2]


def test_a_small_gzip_that_becomes_large_comes_in_pieces() -> None:
    """No chunk is larger than half of the queue's share, though one entry unpacks to all of it."""
    with LogBroker() as broker:
        for _ in range(4):
            broker.logs[0].add([bytes(10_000)] * 40, Codec.GZIP)
        with native_reader(broker, max_bytes=200_000) as one:
            claim = one.add(0)
            got = 0
            while got < 160:
                chunk = one.queue.take(5_000)
                assert isinstance(chunk, Chunk)
                assert chunk.size_bytes <= 100_000
                got += len(chunk.records)
            assert claim.active


def test_more_than_may_be_unpacked_is_for_the_definition() -> None:
    """It says so, as it always does."""
    with LogBroker() as broker:
        broker.logs[0].add([bytes(10_000)] * 40, Codec.GZIP)
        settings = replace(SETTINGS, max_decompressed_bytes=50_000)
        with native_reader(broker, settings=settings) as one:
            claim = one.add(0)
            came = one.read_all()[0]
            assert claim.halted
    assert came.records == []
    assert len(came.faults) == 1


# --- many, and comings and goings ----------------------------------------------------------------


def test_two_thousand_partitions_come_whole() -> None:
    """Each of them, at 4 KiB an answer; and giving half of them up in the middle does no harm."""
    with LogBroker(2_000) as broker:
        for log in broker.logs:
            log.add([b"abc"] * 3)
        with native_reader(broker, max_chunks=100_000) as one:
            one.add_all()
            came = one.read_all()
            assert all(len(each.records) == 3 for each in came.values())
            for claim in one.claims[::2]:
                claim.active = False
            one.loop.wake()
            wait_until(lambda: one.loop.partition_count() == 1_000, what="half of them to be gone")


def test_a_claim_that_is_given_up_and_comes_back_goes_on_where_it_is_told() -> None:
    """In the middle of everything, many times: the new claim's chunks follow each other."""
    with LogBroker() as broker:
        for number in range(2_000):
            broker.logs[0].add([b"%d" % number])
        with native_reader(broker, max_chunks=3) as one:
            offset = 0
            while offset < 1_900:
                claim = one.add(0, offset)
                until = offset + 100
                while offset < until:
                    item = one.queue.take(5_000)
                    assert isinstance(item, Chunk)
                    if item.claim is claim:
                        assert item.fetch_offset == offset
                        assert item.records[0].offset == offset
                        offset = item.next_offset
                claim.active = False
                one.loop.wake()


@pytest.mark.parametrize("delay_ms", [0, 1, 3, 7, 20])
def test_stopping_at_any_moment_takes_milliseconds_and_loses_nothing(delay_ms: int) -> None:
    """What is not in the queue is given back from where the queue ends."""
    clock = SystemClock()
    with LogBroker() as broker:
        for number in range(3_000):
            broker.logs[0].add([b"%d" % number])
        with native_reader(broker, max_chunks=100_000) as one:
            one.add(0)
            wait_until(one.queue.chunk_count, what="the first chunk")
            start_ms = clock.now_ms()
            threading.Event().wait(delay_ms / 1000)
            assert one.scope.close(2_000) == []
            assert clock.now_ms() - start_ms < delay_ms + 500
            end = 0
            while isinstance(item := one.queue.take(0), Chunk):
                assert item.fetch_offset == end
                end = item.next_offset
            assert [lost.fetch_offset for lost in one.lost] == [end]


def test_a_broker_that_hangs_is_given_up_in_time() -> None:
    """Twice the time-out, then the partition goes back."""
    with LogBroker() as broker:
        broker.logs[0].add([b"abc"])
        broker.may_answer.clear()
        settings = replace(SETTINGS, request_timeout_ms=100)
        with native_reader(broker, settings=settings) as one:
            one.add(0)
            within_s = SETTINGS.request_timeout_ms / 1000 - 1
            wait_until(lambda: one.lost, timeout_s=within_s, what="the partition to come back")
            assert "no response in time" in one.lost[0].reason
            broker.may_answer.set()
