"""What was read, and how fast: counts of one stream and of all. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from zkconsumer.cli.formats.performance import PerfCount

MEGABYTE: Final = 1 << 20


class HasValue(Protocol):
    """A message of either consumer."""

    @property
    def value(self) -> bytes | None:
        """Its bytes."""
        ...


class End(StrEnum):
    """Why a measurement ended."""

    IDLE = "idle"
    """No message came for so long."""

    LIMIT = "limit"
    """As many messages as were wanted were read."""

    INTERRUPTED = "interrupted"
    """Somebody stopped it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """What a stream read since its last report, with the times since the beginning."""

    stream: int
    since: PerfCount
    until: PerfCount
    since_ms: int
    until_ms: int


Report = Callable[[Interval], None]
NowMs = Callable[[], int]


class StreamTally:
    """What one stream read. Thread: the stream's, which alone writes; the rest is read by any.

    Args:
        stream: its number.
        limit: how many messages are wanted; None for all.
        interval: after how many messages each ``report`` is called.
        now_ms: the time since the beginning of the measurement.
        report: hears of each interval.
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
        """Whether all that is wanted was read."""
        return self._limit is not None and self.message_count >= self._limit

    @property
    def count(self) -> PerfCount:
        """What was read so far."""
        return PerfCount(byte_count=self.byte_count, message_count=self.message_count)

    def take(self, messages: Sequence[HasValue]) -> None:
        """Count messages that were handed over at this moment; those above the limit are not."""
        at = 0
        if self._limit is not None:
            messages = messages[: self._limit - self.message_count]
        while at < len(messages):
            room = self._interval - self.message_count % self._interval
            part = messages[at : at + room]
            at += len(part)
            self.byte_count += sum(len(measured.value or b"") for measured in part)
            self.message_count += len(part)
            self.last_ms = self._now_ms()
            if len(part) == room:
                self._notify()

    def final_interval(self, now_ms: int) -> Interval:
        """Return the last one, of which the original takes the rate from the very beginning."""
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
    """What a stream read, and when it read the last of it, in ms since the beginning."""

    stream: int
    count: PerfCount
    last_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """All that was found out.

    Attributes:
        start_ms: when it began, in ms since the epoch: the streams were there, nothing was read.
        join_ms: how long it took until the streams were there.
        end: why it ended.
        streams: of each stream.
        seconds: how many messages came in each whole second.
        unread: why not all that is there was read; None where nothing speaks against it.
    """

    start_ms: int
    join_ms: int
    end: End
    streams: tuple[StreamResult, ...]
    seconds: tuple[int, ...] = field(default=())
    unread: str | None = None

    @property
    def message_count(self) -> int:
        """How many messages were read."""
        return sum(stream.count.message_count for stream in self.streams)

    @property
    def byte_count(self) -> int:
        """How many bytes their values have."""
        return sum(stream.count.byte_count for stream in self.streams)

    @property
    def elapsed_ms(self) -> int:
        """From the beginning to the last message: waiting for more at the end is no reading."""
        return max((stream.last_ms for stream in self.streams), default=0)


def per_second(count: float, elapsed_ms: int) -> float | None:
    """Return a rate; None where no time has passed."""
    return count * 1000 / elapsed_ms if elapsed_ms else None


def percentile(values: Sequence[int], percent: int) -> int | None:
    """Return the smallest of the values that so many percent are not above; None of none."""
    if not values:
        return None
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]
