"""A watching command goes on, even if nobody reads its output."""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import pytest

from tests.support.alerting import message
from tests.support.page_world import state_at
from tests.support.waiting import wait_until
from zkconsumer.cli.timed_output import LogHandler, limit_log_writes, write_within
from zkconsumer.cli.watch import Terminal
from zkconsumer.notify.alerts import Timing
from zkconsumer.notify.notifier import Notifier, Route
from zkconsumer.notify.outbox import Notification
from zkconsumer.notify.targets import Rejected
from zkconsumer.notify.templates import NotificationOrigin

ORIGIN = NotificationOrigin(cluster="plant")


class FullPipe(NamedTuple):
    """A pipe that is full, as behind a reader that was stopped."""

    reader: int
    writer: int

    def drain(self) -> bytes:
        """Read and return all that is in the pipe."""
        data = b""
        with suppress(BlockingIOError):
            while some := os.read(self.reader, 1 << 20):
                data += some
        return data


@pytest.fixture
def pipe() -> Iterator[FullPipe]:
    """A pipe that was filled up."""
    found = FullPipe(*os.pipe())
    os.set_blocking(found.reader, False)
    with suppress(TimeoutError):
        while True:
            write_within(found.writer, b"x" * 4_096, 0)
    yield found
    for descriptor in found:
        with suppress(OSError):
            os.close(descriptor)


class ReceivingTarget:
    """A target that accepts every notification."""

    def __init__(self) -> None:
        self.received: list[Notification] = []

    def send(self, messages: Sequence[Notification], origin: NotificationOrigin) -> None:
        """See ``Receiver``."""
        del origin
        self.received += messages


def test_a_stopped_reader_delays_no_other_target(pipe: FullPipe) -> None:
    """Other targets are notified; when the reader goes on, it reads the current state."""
    other, ended = ReceivingTarget(), list[BaseException]()
    routes = (
        Route(name="terminal", target=Terminal(ended.append, pipe.writer)),
        Route(name="ops", target=other),
    )
    notifier = Notifier(routes, ORIGIN, Timing(after_ms=0))
    notifier.start()
    notifier.take(state_at())
    wait_until(lambda: other.received, what="the other target")
    wait_until(lambda: "does not accept output" in str(notifier.problem), what="the problem")
    read = bytearray(pipe.drain())

    def is_read() -> bool:
        read.extend(pipe.drain())
        return b"fraud-scoring" in read

    wait_until(is_read, what="the lines")
    assert notifier.close() == []
    assert ended == []


def test_a_reader_that_is_gone_ends_the_command(pipe: FullPipe) -> None:
    """Any program in a pipe ends that way."""
    os.close(pipe.reader)
    ended: list[BaseException] = []
    with pytest.raises(Rejected):
        Terminal(ended.append, pipe.writer).send([message()], ORIGIN)
    assert isinstance(ended[0], BrokenPipeError)


def test_log_lines_that_nobody_reads_are_dropped(
    pipe: FullPipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No thread blocks on them; lines are written again once the pipe has space."""
    with os.fdopen(pipe.writer, "w", closefd=False) as stream:
        handler = LogHandler(stream)
        monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
        limit_log_writes()
        assert handler.timeout_ms is not None
        handler.timeout_ms = 10
        for number in range(1_000):
            logging.getLogger("z").error("dropped %d", number)
        pipe.drain()
        logging.getLogger("z").error("taken")
    assert pipe.drain() == b"taken\n"
