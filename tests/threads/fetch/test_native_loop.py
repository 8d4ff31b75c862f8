"""The native loop's own features: early requests, no GIL, and input that Python must handle."""

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


def test_the_next_request_is_sent_before_the_response_is_queued() -> None:
    """One of two record sets does not fit into the queue, but the request continues after both.

    Their headers say where that is.
    """
    with LogBroker(2) as broker:
        for log in broker.logs:
            for number in range(100):
                log.add([b"%d" % number])

        def respond_once(frame: bytes) -> bytes:
            broker.may_answer.clear()
            return frame

        broker.mangle = respond_once
        with native_reader(broker, max_chunks=1) as reader:
            reader.add_all()
            wait_until(lambda: len(broker.requests) == 2, what="the early request")
            assert reader.queue.chunk_count() <= 1
            (first, _), (second, _) = (broker.requested(number).values() for number in (0, 1))
            broker.mangle = bytes
            broker.may_answer.set()
            assert offsets_in(reader) == list(range(100))
    assert first.fetch_offset == 0
    assert second.fetch_offset > 0


def test_the_next_request_is_sent_before_the_first_chunk_is_queued() -> None:
    """The response is decoded while the broker works on the next one."""
    with LogBroker() as broker:
        for number in range(100):
            broker.logs[0].add([b"%d" % number])
        received: list[int] = []

        def receive() -> None:
            """Block the loop in the middle of queueing, until the request is there."""
            if not received:
                wait_until(lambda: len(broker.requests) > 1, what="the early request")
            received.append(len(broker.requests))

        with native_reader(broker) as reader:
            reader.queue.listen(receive)
            reader.add_all()
            assert offsets_in(reader) == list(range(100))
            reader.queue.listen(None)
    assert received[0] > 1


def test_no_early_request_is_sent_without_capacity() -> None:
    """If the queue can't hold two responses, the next request waits for the first one."""
    with LogBroker() as broker:
        for number in range(100):
            broker.logs[0].add([b"%d" % number])
        with native_reader(broker, max_chunks=1, max_bytes=3_000) as reader:
            reader.add_all()
            wait_until(lambda: reader.queue.chunk_count() == 1, what="the queue to be full")
            requested = len(broker.requests)
            assert reader.queue.used_bytes() <= 3_000
            assert requested == 1
            assert offsets_in(reader) == list(range(100))


def test_an_early_response_waits_for_the_one_before() -> None:
    """The queue holds one chunk at a time, and nothing is fetched twice."""
    with LogBroker(4) as broker:
        for log in broker.logs:
            for number in range(300):
                log.add([b"%d" % number])
        with native_reader(broker, max_chunks=1) as reader:
            reader.add_all()
            received = reader.read_all()
        assert all(len(part.records) == 300 for part in received.values())
        requested = [
            partition.fetch_offset
            for request in range(len(broker.requests))
            for partition in broker.requested(request).values()
            if partition.partition == 0
        ]
        assert len(requested) - len(set(requested)) <= requested.count(300)


# --- without the GIL -----------------------------------------------------------------------------


class BrokerProcess(LogBroker):
    """A broker in a process of its own, which this process's GIL does not slow down."""

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
        """The broker's address."""
        return Broker(0, LOOPBACK, self._port)

    def end(self) -> None:
        """End the process."""
        self._process.communicate(timeout=10)


@pytest.fixture
def rare_switches() -> Iterator[None]:
    """Let a running thread keep the GIL for a minute."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(60)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("rare_switches")
def test_chunks_keep_coming_while_a_python_thread_keeps_the_gil() -> None:
    """They are requested, received, checked and queued without the GIL."""
    clock = SystemClock()
    with BrokerProcess(5_000, pause_ms=5) as broker:
        try:
            with native_reader(
                broker, settings=replace(SETTINGS, max_partition_bytes=100)
            ) as reader:
                reader.add_all()
                wait_until(lambda: reader.queue.chunk_count() >= 2, what="the pump to run")
                before, start_ms = reader.queue.chunk_count(), clock.now_ms()
                # Until ten more chunks have come, which a busy machine may delay.
                while reader.queue.chunk_count() <= before + 10:
                    assert clock.now_ms() - start_ms < 20_000
                    sum(range(100_000))
        finally:
            broker.end()


# --- what the pump does not support --------------------------------------------------------------


def test_a_damaged_entry_is_handled_by_python() -> None:
    """Records before and after it come, and the other partition is not affected."""
    with LogBroker(2) as broker:
        for log in broker.logs:
            for number in range(50):
                log.add([b"%d" % number])
        broker.logs[0].damage(20, 10)
        with native_reader(broker, settings=replace(SETTINGS, skip_poison=True)) as reader:
            reader.add_all()
            received = reader.read_all()
    assert [record.offset for record in received[0].records] == [*range(20), *range(21, 50)]
    assert [fault[:2] for fault in received[0].faults] == [(20, 21)]
    assert len(received[1].records) == 50


def test_an_error_code_gives_back_its_partition_only() -> None:
    """The response's other partitions count."""
    with LogBroker(3) as broker:
        for log in broker.logs:
            log.add([b"a", b"b"])
        broker.logs[1].error = ErrorCode.NOT_LEADER_FOR_PARTITION
        with native_reader(broker) as reader:
            reader.add_all()
            received = reader.read_all()
            assert [len(received[number].records) for number in range(3)] == [2, 0, 2]
            wait_until(lambda: len(reader.lost) == 1, what="the lost one")
            assert reader.lost[0].fetch_offset == 0
            assert reader.loop.partition_count() == 2


def test_an_entry_larger_than_a_fetch_is_fetched_up_to_the_maximum() -> None:
    """Python makes the fetch grow; an entry beyond the maximum is a fault."""
    with LogBroker() as broker:
        log = broker.logs[0]
        log.add([b"small"] * 30)
        log.add([bytes(9_000)])
        log.add([b"small"] * 30)
        log.add([bytes(30_000)])
        with native_reader(broker) as reader:
            claim = reader.add(0)
            received = reader.read_all()[0]
            assert claim.halted
    assert [record.offset for record in received.records] == list(range(61))
    assert received.faults[0][0] == 61
    assert "30" in received.faults[0][2]


def test_a_highly_compressed_entry_comes_in_pieces() -> None:
    """No chunk exceeds half of the queue's bytes, though one entry decompresses to all of them."""
    with LogBroker() as broker:
        for _ in range(4):
            broker.logs[0].add([bytes(10_000)] * 40, Codec.GZIP)
        with native_reader(broker, max_bytes=200_000) as reader:
            claim = reader.add(0)
            delivered = 0
            while delivered < 160:
                chunk = reader.queue.take(5_000)
                assert isinstance(chunk, Chunk)
                assert chunk.size_bytes <= 100_000
                delivered += len(chunk.records)
            assert claim.active


def test_an_entry_beyond_the_decompression_limit_is_handled_by_python() -> None:
    """It reports the fault, as with the loop in Python."""
    with LogBroker() as broker:
        broker.logs[0].add([bytes(10_000)] * 40, Codec.GZIP)
        settings = replace(SETTINGS, max_decompressed_bytes=50_000)
        with native_reader(broker, settings=settings) as reader:
            claim = reader.add(0)
            received = reader.read_all()[0]
            assert claim.halted
    assert received.records == []
    assert len(received.faults) == 1


# --- many partitions, and changes ----------------------------------------------------------------


def test_two_thousand_partitions_are_read() -> None:
    """A response has 4 KiB; giving up half of the partitions meanwhile does no harm."""
    with LogBroker(2_000) as broker:
        for log in broker.logs:
            log.add([b"abc"] * 3)
        with native_reader(broker, max_chunks=100_000) as reader:
            reader.add_all()
            received = reader.read_all()
            assert all(len(each.records) == 3 for each in received.values())
            for claim in reader.claims[::2]:
                claim.active = False
            reader.loop.wake()
            wait_until(
                lambda: reader.loop.partition_count() == 1_000, what="half of them to be gone"
            )


def test_a_partition_that_is_claimed_again_starts_at_the_given_offset() -> None:
    """It is claimed again many times meanwhile: each claim's chunks are consecutive."""
    with LogBroker() as broker:
        for number in range(2_000):
            broker.logs[0].add([b"%d" % number])
        with native_reader(broker, max_chunks=3) as reader:
            offset = 0
            while offset < 1_900:
                claim = reader.add(0, offset)
                until = offset + 100
                while offset < until:
                    item = reader.queue.take(5_000)
                    assert isinstance(item, Chunk)
                    if item.claim is claim:
                        assert item.fetch_offset == offset
                        assert item.records[0].offset == offset
                        offset = item.next_offset
                claim.active = False
                reader.loop.wake()


@pytest.mark.parametrize("delay_ms", [0, 1, 3, 7, 20])
def test_stopping_at_any_moment_takes_milliseconds_and_loses_nothing(delay_ms: int) -> None:
    """The partition is given back with the offset at which the queue ends."""
    clock = SystemClock()
    with LogBroker() as broker:
        for number in range(3_000):
            broker.logs[0].add([b"%d" % number])
        with native_reader(broker, max_chunks=100_000) as reader:
            reader.add(0)
            wait_until(reader.queue.chunk_count, what="the first chunk")
            start_ms = clock.now_ms()
            threading.Event().wait(delay_ms / 1000)
            assert reader.scope.close(2_000) == []
            assert clock.now_ms() - start_ms < delay_ms + 500
            end = 0
            while isinstance(item := reader.queue.take(0), Chunk):
                assert item.fetch_offset == end
                end = item.next_offset
            assert [lost.fetch_offset for lost in reader.lost] == [end]


def test_a_broker_that_hangs_is_given_up_in_time() -> None:
    """The partition is given back after two request time-outs."""
    with LogBroker() as broker:
        broker.logs[0].add([b"abc"])
        broker.may_answer.clear()
        settings = replace(SETTINGS, request_timeout_ms=100)
        with native_reader(broker, settings=settings) as reader:
            reader.add(0)
            within_s = SETTINGS.request_timeout_ms / 1000 - 1
            wait_until(lambda: reader.lost, timeout_s=within_s, what="the partition to come back")
            assert "no response in time" in reader.lost[0].reason
            broker.may_answer.set()
