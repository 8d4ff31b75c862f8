"""Streams are read concurrently, to their ends; a failure or a signal ends all of them."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from tests.fakes.fake_terminal import FakeTerminal
from tests.unit.cli.perf.test_measure import message_of
from zkconsumer.cli.consume.format import Message
from zkconsumer.cli.perf.measure import End, Interval, Measurement
from zkconsumer.cli.perf.measuring import PerfLimits, measure, rate_text
from zkconsumer.cli.perf.sources import Lists, PerfSource
from zkconsumer.cli.progress import RewrittenLine
from zkconsumer.cli.signals import StopSignals
from zkconsumer.errors import ConnectionLost
from zkconsumer.scope import Mailbox


class Endless:
    """Opens a source of which some streams never end by themselves.

    Args:
        streams: lists of messages; a None waits until the source is stopped.
    """

    def __init__(self, *streams: Sequence[Sequence[Message] | Exception | None]) -> None:
        self._stopped: Mailbox[None] = Mailbox()
        self.streams = [self._lists(stream) for stream in streams]
        self.opened, self.closed = 0, 0
        self.unreadable: Exception | None = None

    def stop(self) -> None:
        """See ``PerfSource``."""
        for _ in self.streams:
            self._stopped.put(None)

    def whole(self) -> int | None:
        """See ``PerfSource``."""
        return None

    def check(self) -> None:
        """See ``PerfSource``."""
        if self.unreadable is not None:
            raise self.unreadable

    @contextmanager
    def opening(self) -> Iterator[PerfSource]:
        """Open and close the source, and count both."""
        self.opened += 1
        try:
            yield PerfSource(
                streams=self.streams, stop=self.stop, whole=self.whole, check=self.check
            )
        finally:
            self.closed += 1

    def _lists(self, stream: Sequence[Sequence[Message] | Exception | None]) -> Lists:
        for batch in stream:
            if isinstance(batch, Exception):
                raise batch
            if batch is None:
                self._stopped.get(30_000)
                return
            yield batch


FIVE = [message_of(b"12345")] * 5


def run(
    source: Endless, *, messages: int | None = None, stop: StopSignals | None = None
) -> tuple[Measurement, list[Interval]]:
    """Measure a source, with a report after every third message."""
    reported: list[Interval] = []
    limits = PerfLimits(
        messages=messages,
        interval=3,
        report=lambda interval, _: reported.append(interval),
        last_too=True,
    )
    found = measure(source.opening, limits, stop or WithoutSignals(), terminal=io.StringIO())
    assert (source.opened, source.closed) == (1, 1)
    return found, reported


@pytest.mark.parametrize("messages", [[], FIVE])
def test_partitions_that_can_not_be_read_are_reported(messages: list[Message]) -> None:
    """If nothing was read it is an error; otherwise the result names the reason."""
    source = Endless([messages], [])
    source.unreadable = ConnectionLost("no leader")
    if messages:
        found, _ = run(source)
        assert (found.message_count, found.unread) == (5, "no leader")
        found, _ = run(Endless([messages], []))
        assert found.unread is None
    else:
        with pytest.raises(ConnectionLost, match="no leader"):
            run(source)


class WithoutSignals(StopSignals):
    """Stop signals that never touch the process's own signal handlers."""

    def leave(self) -> None:
        """Do nothing: no handler was set."""


def test_all_streams_are_read_to_their_end() -> None:
    """An empty list of messages does not end a stream."""
    found, reported = run(Endless([FIVE, [], FIVE], [], [FIVE]))
    counts = [
        (stream.stream, stream.count.message_count, stream.count.byte_count)
        for stream in found.streams
    ]
    assert counts == [(0, 10, 50), (1, 0, 0), (2, 5, 25)]
    assert (found.end, found.message_count, found.byte_count) == (End.IDLE, 15, 75)
    assert [interval.until.message_count for interval in reported if interval.stream == 0] == [
        3,
        6,
        9,
        10,
    ]


def test_waiting_at_the_end_is_not_measured() -> None:
    """Time after the last message counts neither as elapsed nor as a second of the rate."""

    class Late(Endless):
        def _lists(self, stream: Sequence[Sequence[Message] | Exception | None]) -> Lists:
            yield from super()._lists(stream)
            self._stopped.get(1_300)

    found, _ = run(Late([FIVE]))
    assert (found.seconds, found.message_count) == ((), 5)
    assert found.elapsed_ms < 1_000


def test_each_stream_ends_at_the_limit() -> None:
    """A stream is not read beyond it, and messages beyond it are not counted."""
    found, _ = run(Endless([FIVE, FIVE, None], [FIVE]), messages=7)
    assert [stream.count.message_count for stream in found.streams] == [7, 5]
    assert found.end is End.LIMIT


def test_a_failure_ends_all_streams() -> None:
    """It is raised once the source is closed."""
    source = Endless([FIVE, ConnectionLost("gone")], [FIVE])
    with pytest.raises(ConnectionLost, match="gone"):
        run(source)
    assert source.closed == 1


def test_a_signal_ends_all_streams() -> None:
    """What was read so far is reported."""
    stop = WithoutSignals()

    class Signalled(Endless):
        def _lists(self, stream: Sequence[Sequence[Message] | Exception | None]) -> Lists:
            yield FIVE
            assert stop.wake is not None
            stop.wake()
            yield from super()._lists(stream)

    found, _ = run(Signalled([FIVE, None]), stop=stop)
    assert (found.end, found.message_count) == (End.INTERRUPTED, 10)


def test_the_rate_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line is overwritten each time and cleared at the end; a file gets nothing."""
    monkeypatch.setenv("TERM", "xterm")
    screen, file = FakeTerminal(), io.StringIO()
    for stream in (screen, file):
        line = RewrittenLine(stream)
        line.show(rate_text(1_234, 1_000_000, 500_000, 3 << 20))
        line.show(rate_text(2_234, 1_000_001, 1, 0))
        line.clear()
    first, second, blank, rest = screen.getvalue().split("\r")[1:]
    assert first == "1 s: 1,000,000 messages, now 500,000 messages/s, 3.0 MB/s"
    assert second.rstrip() == "2 s: 1,000,001 messages, now 1 messages/s, 0.0 MB/s"
    assert len(first) == len(second) == len(blank)
    assert (blank.strip(), rest, file.getvalue()) == ("", "", "")


def test_a_measurement_ends_with_what_was_there_at_the_beginning() -> None:
    """It does not follow a growing log, unless a limit of messages says so."""

    class Live(Endless):
        def whole(self) -> int | None:
            """See ``PerfSource``."""
            return 10

    found, _ = run(Live([FIVE, FIVE, None], [None]))
    assert (found.end, found.message_count) == (End.ALL, 10)
    found, _ = run(Live([FIVE, FIVE, FIVE]), messages=12)
    assert (found.end, found.message_count) == (End.LIMIT, 12)
