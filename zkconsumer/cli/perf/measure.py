"""Counts messages and bytes of streams, and computes rates. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from zkconsumer.cli.consume.format import Message
from zkconsumer.cli.formats.performance import PerfCount


class End(StrEnum):
    """The reason why a measurement ended."""

    IDLE = "idle"
    """No message came within the time-out."""

    ALL = "all"
    """All messages that the logs held at the start were read."""

    LIMIT = "limit"
    """The requested number of messages was read."""

    INTERRUPTED = "interrupted"
    """It was interrupted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """The messages of a stream since its last report; times are from the start, in ms."""

    stream: int
    since: PerfCount
    until: PerfCount
    since_ms: int
    until_ms: int


Report = Callable[[Interval], None]
NowMs = Callable[[], int]


class StreamTally:
    """The counts of one stream. Thread: the stream's writes; any reads.

    Args:
        stream: its number.
        limit: the maximum number of messages; None: no limit.
        interval: the number of messages between two calls of ``report``.
        now_ms: the time since the start of the measurement.
        report: called with each interval.
    """

    def __init__(
        self, stream: int, *, limit: int | None, interval: int, now_ms: NowMs, report: Report
    ) -> None:
        self.stream = stream
        self.message_count = 0
        self.byte_count = 0
        self.last_ms = 0
        self._limit = limit
        self._interval = interval
        self._now_ms = now_ms
        self._report = report
        self._reported = PerfCount()
        self._reported_ms = 0

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached."""
        return self._limit is not None and self.message_count >= self._limit

    @property
    def count(self) -> PerfCount:
        """The counts so far."""
        return PerfCount(byte_count=self.byte_count, message_count=self.message_count)

    def take(self, messages: Sequence[Message]) -> None:
        """Count messages that were just received, up to the limit."""
        at = 0
        if self._limit is not None:
            messages = messages[: self._limit - self.message_count]
        while at < len(messages):
            room = self._interval - self.message_count % self._interval
            part = messages[at : at + room]
            at += len(part)
            self.byte_count += sum(len(measured.raw_value or b"") for measured in part)
            self.message_count += len(part)
            self.last_ms = self._now_ms()
            if len(part) == room:
                self._notify()

    def final_interval(self, now_ms: int) -> Interval:
        """Return the last interval, whose rate the original computes since the start."""
        return Interval(
            stream=self.stream,
            since=self._reported,
            until=self.count,
            since_ms=0,
            until_ms=now_ms,
        )

    def _notify(self) -> None:
        until = self.count
        interval = Interval(
            stream=self.stream,
            since=self._reported,
            until=until,
            since_ms=self._reported_ms,
            until_ms=self.last_ms,
        )
        self._reported, self._reported_ms = until, self.last_ms
        self._report(interval)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamResult:
    """The totals of a stream, and when its last message came, in ms since the start."""

    stream: int
    count: PerfCount
    last_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The result of a measurement.

    Attributes:
        start_ms: when it began, in ms since the epoch: with streams, before the first message.
        join_ms: how long opening the streams took.
        end: why it ended.
        streams: the result of each stream.
        seconds: the number of messages in each whole second.
        unread: why some messages could not be read; None if all could.
    """

    start_ms: int
    join_ms: int
    end: End
    streams: tuple[StreamResult, ...]
    seconds: tuple[int, ...] = field(default=())
    unread: str | None = None

    @property
    def message_count(self) -> int:
        """The number of messages read."""
        return sum(stream.count.message_count for stream in self.streams)

    @property
    def byte_count(self) -> int:
        """The size of their values."""
        return sum(stream.count.byte_count for stream in self.streams)

    @property
    def elapsed_ms(self) -> int:
        """The time from the start to the last message, without waiting at the end."""
        return max((stream.last_ms for stream in self.streams), default=0)


def per_second(count: float, elapsed_ms: int) -> float | None:
    """Return a rate per second; None if no time has passed."""
    return count * 1000 / elapsed_ms if elapsed_ms else None


def percentile(values: Sequence[int], percent: int) -> int | None:
    """Return the ``percent`` percentile of the values; None if there are none."""
    if not values:
        return None
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]
