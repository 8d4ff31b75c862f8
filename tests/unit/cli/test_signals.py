"""When a stop signal interrupts, and when it waits for the line in hand."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from tests.support.waiting import wait_until
from zkconsumer.cli.consume.copying import Copier
from zkconsumer.cli.consume.format import Message
from zkconsumer.cli.signals import StopRequested, stop_signals
from zkconsumer.model import Record, TopicPartition
from zkconsumer.streams.message import MessageAndMetadata


def messages_of(count: int) -> list[Message]:
    """So many messages of partition t-0."""
    decoders = (None, None)
    return [
        MessageAndMetadata[bytes, bytes](TopicPartition("t", 0), Record(n, None, b""), *decoders)
        for n in range(count)
    ]


def test_with_nothing_in_hand_it_interrupts_at_once() -> None:
    """The exception comes out of the very call that sent the signal."""
    with stop_signals(), pytest.raises(StopRequested):
        os.kill(os.getpid(), signal.SIGTERM)


def test_a_line_that_is_written_is_counted_before_the_stop() -> None:
    """The signal that comes right behind the write does not tear line and account apart."""
    written: list[bytes] = []

    def write(data: bytes) -> None:
        written.append(data)
        if len(written) == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    def endless() -> Iterator[Message]:
        yield from messages_of(3)
        wait_until(lambda: False, timeout_s=10, what="the stop")

    copier = Copier(lambda _message: b"line\n", write)
    with stop_signals() as stop:
        stop.pending = copier.pending
        with pytest.raises(StopRequested):
            copier.copy(endless())
    assert (len(written), copier.count) == (3, 3)


def test_a_write_that_nobody_reads_is_interrupted_in_the_end() -> None:
    """And its line is not counted."""

    def write(_data: bytes) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(20)

    copier = Copier(lambda _message: b"line\n", write)
    with stop_signals() as stop:
        stop.pending = copier.pending
        with pytest.raises(StopRequested):
            copier.copy(iter(messages_of(1)))
    assert copier.count == 0


def test_nothing_interrupts_the_way_out() -> None:
    """Signals behind ``leave`` are ignored."""
    with stop_signals() as stop:
        stop.leave()
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN


def test_handlers_are_put_back() -> None:
    """As they were before, the alarm's too."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
    before = [signal.getsignal(number) for number in numbers]
    with stop_signals():
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [signal.getsignal(number) for number in numbers] == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_whoever_started_us_ignores_stays_ignored(number: signal.Signals) -> None:
    """As nohup does with SIGHUP, and a shell without job control with SIGINT in the background."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with stop_signals():
            signal.raise_signal(number)
            assert signal.getsignal(number) is signal.SIG_IGN
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_what_can_end_by_itself_is_woken_in_place_of_a_raise() -> None:
    """Behind the line in hand, if there is one; more signals are ignored."""
    woken: list[int] = []
    pending: list[int] = [7]
    with stop_signals() as stop:
        stop.pending = lambda: pending[0] if pending else None
        stop.wake = lambda: woken.append(len(pending))
        os.kill(os.getpid(), signal.SIGTERM)
        assert woken == []
        pending.clear()
        wait_until(lambda: woken, timeout_s=10, what="the alarm behind the line")
        os.kill(os.getpid(), signal.SIGTERM)
    assert woken == [0]
