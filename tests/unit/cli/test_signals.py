"""When a stop signal interrupts at once, and when it waits for the current line."""

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
    """Build ``count`` messages of partition t-0."""
    decoders = (None, None)
    return [
        MessageAndMetadata[bytes, bytes](TopicPartition("t", 0), Record(n, None, b""), *decoders)
        for n in range(count)
    ]


def test_without_a_pending_line_the_stop_is_immediate() -> None:
    """The exception is raised by the call that sent the signal."""
    with stop_signals(), pytest.raises(StopRequested):
        os.kill(os.getpid(), signal.SIGTERM)


def test_a_line_that_is_written_is_counted_before_the_stop() -> None:
    """A signal right after the write does not leave the line uncounted."""
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


def test_a_blocked_write_is_interrupted_eventually() -> None:
    """Its line is not counted."""

    def write(_data: bytes) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(20)

    copier = Copier(lambda _message: b"line\n", write)
    with stop_signals() as stop:
        stop.pending = copier.pending
        with pytest.raises(StopRequested):
            copier.copy(iter(messages_of(1)))
    assert copier.count == 0


def test_signals_after_leave_are_ignored() -> None:
    """Nothing interrupts the shutdown."""
    with stop_signals() as stop:
        stop.leave()
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN


def test_former_signal_handlers_are_restored() -> None:
    """The handler of the alarm is restored as well."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
    before = [signal.getsignal(number) for number in numbers]
    with stop_signals():
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [signal.getsignal(number) for number in numbers] == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_ignored_at_the_start_stay_ignored(number: signal.Signals) -> None:
    """``nohup`` ignores SIGHUP, and a shell without job control SIGINT in the background."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with stop_signals():
            signal.raise_signal(number)
            assert signal.getsignal(number) is signal.SIG_IGN
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_a_wake_function_replaces_the_exception() -> None:
    """It is called after the pending line, once."""
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
