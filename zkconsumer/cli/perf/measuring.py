"""Reads all streams in parallel, each in a thread of its own, and counts messages and bytes."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Final, TextIO

from zkconsumer.cli.formats.performance import MEGABYTE
from zkconsumer.cli.perf.measure import (
    End,
    Interval,
    Measurement,
    StreamResult,
    StreamTally,
)
from zkconsumer.cli.perf.sources import Lists, PerfSource
from zkconsumer.cli.progress import RewrittenLine
from zkconsumer.cli.signals import StopSignals
from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import ZkConsumerError
from zkconsumer.scope import Mailbox, ThreadScope

_SECOND_MS: Final = 1_000
_JOIN_MS: Final = 60_000
_STOPPED: Final = -1
_ALL_READ: Final = -2


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfLimits:
    """The limits of a measurement, and its reports.

    Attributes:
        messages: the maximum number of messages per stream; None: no limit.
        interval: the number of a stream's messages between two reports.
        report: called with the interval and the start of the measurement, in ms since the epoch,
            in the stream's thread.
        last_too: whether the last interval of each stream is reported, too.
    """

    messages: int | None
    interval: int
    report: Callable[[Interval, int], None]
    last_too: bool


def measure(
    opening: Callable[[], AbstractContextManager[PerfSource]],
    limits: PerfLimits,
    stop: StopSignals,
    *,
    clock: Clock | None = None,
    terminal: TextIO | None = None,
) -> Measurement:
    """Open the source and read it to its end.

    Args:
        opening: opens the source; the time for this is measured separately.
        limits: when to report, and when to end.
        stop: the signals that end the measurement.
        clock: measures all times.
        terminal: the stream on which the rate is shown meanwhile, if it is a terminal; None:
            standard error.

    Raises:
        StopRequested: a signal came while the source was being opened.
        ZkConsumerError: a stream, or opening the source, failed.
    """
    times = clock or SystemClock()
    opened_ms = times.now_ms()
    with opening() as source:
        join_ms = times.now_ms() - opened_ms
        measuring = _Measuring(source, limits, times, RewrittenLine(terminal or sys.stderr))
        stop.wake = measuring.stop
        try:
            found = measuring.run(join_ms)
            return _checked(found, source) if found.end is End.IDLE else found
        finally:
            stop.leave()


def _checked(found: Measurement, source: PerfSource) -> Measurement:
    """Return the measurement, with a note if messages remain unread.

    Raises:
        ZkConsumerError: no message could be read at all.
    """
    try:
        source.check()
    except ZkConsumerError as error:
        if not found.message_count:
            raise
        return replace(found, unread=str(error))
    return found


def rate_text(elapsed_ms: int, messages: int, rate: int, byte_rate: int) -> str:
    """Return the progress, and the rates of the last second."""
    return (
        f"{elapsed_ms // 1000} s: {messages:,} messages, now {rate:,} messages/s, "
        f"{byte_rate / MEGABYTE:,.1f} MB/s"
    )


class _Measuring:
    """One measurement. Thread: the one that runs it, except for ``stop``."""

    def __init__(
        self, source: PerfSource, limits: PerfLimits, clock: Clock, line: RewrittenLine
    ) -> None:
        self._source = source
        self._limits = limits
        self._clock = clock
        self._line = line
        self._events: Mailbox[int] = Mailbox()
        self._start_ms = clock.now_ms()
        self._wall_ms = clock.wall_ms()
        self._seconds: list[int] = []
        self._shown = (0, 0)
        # Without a limit, reading ends at the present log ends, or it would never end.
        self._whole = None if limits.messages is not None else source.whole()
        self._tallies = [
            StreamTally(
                number,
                limit=limits.messages,
                interval=limits.interval,
                now_ms=self._elapsed_ms,
                report=self._report,
            )
            for number in range(len(source.streams))
        ]

    def stop(self) -> None:
        """End the measurement. Thread: any, and signal handlers."""
        self._events.put(_STOPPED)

    def run(self, join_ms: int) -> Measurement:
        """Read all streams to the end."""
        scope = ThreadScope("perf")
        try:
            for tally, lists in zip(self._tallies, self._source.streams, strict=True):
                self._spawn(scope, tally, lists)
            ended_by = self._wait()
        finally:
            self._line.clear()
            left = scope.close(_JOIN_MS)
            assert not left, left
        error = scope.first_error()
        if error is not None:
            raise error
        last_ms = max(tally.last_ms for tally in self._tallies)
        return Measurement(
            start_ms=self._wall_ms,
            join_ms=join_ms,
            end=ended_by,
            streams=tuple(
                StreamResult(stream=tally.stream, count=tally.count, last_ms=tally.last_ms)
                for tally in self._tallies
            ),
            # Without the seconds at the end that were spent waiting for more.
            seconds=tuple(self._seconds[: last_ms // _SECOND_MS]),
        )

    def _spawn(self, scope: ThreadScope, tally: StreamTally, lists: Lists) -> None:
        def read() -> None:
            try:
                while not tally.is_full and (messages := next(lists, None)) is not None:
                    tally.take(messages)
                    if self._is_all_read():
                        self._events.put(_ALL_READ)
                        break
                if self._limits.last_too:
                    self._report(tally.final_interval(self._elapsed_ms()))
            finally:
                self._events.put(tally.stream)

        scope.spawn(f"stream-{tally.stream}", read, stop=self._source.stop)

    def _is_all_read(self) -> bool:
        # If the logs were empty, the streams end by their time-out, and the source is checked.
        whole = self._whole
        if not whole:
            return False
        return whole <= sum(tally.message_count for tally in self._tallies)

    def _wait(self) -> End:
        """Wait for all streams, and sample the rate each second; return why it ended."""
        reading = len(self._tallies)
        while reading:
            due_ms = _SECOND_MS * (len(self._seconds) + 1)
            event = self._events.get(max(1, due_ms - self._elapsed_ms()))
            if event == _STOPPED:
                return End.INTERRUPTED
            if event == _ALL_READ:
                return End.ALL
            if event is not None:
                reading -= 1
            elif self._elapsed_ms() >= due_ms:
                self._sample()
        return End.LIMIT if any(tally.is_full for tally in self._tallies) else End.IDLE

    def _sample(self) -> None:
        messages = sum(tally.message_count for tally in self._tallies)
        size = sum(tally.byte_count for tally in self._tallies)
        before, size_before = self._shown
        self._shown = messages, size
        self._seconds.append(messages - before)
        elapsed_ms = self._elapsed_ms()
        self._line.show(rate_text(elapsed_ms, messages, messages - before, size - size_before))

    def _report(self, interval: Interval) -> None:
        self._limits.report(interval, self._wall_ms)

    def _elapsed_ms(self) -> int:
        return self._clock.now_ms() - self._start_ms
