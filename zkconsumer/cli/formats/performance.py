"""The output of ``kafka.tools.ConsumerPerformance`` of Kafka 0.8.2.2.

The original subtracts its time-out of 5 s from the elapsed time even if there was none, so its
rates can be negative; here the caller passes the elapsed time.
"""

from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Final

from zkconsumer.cli.formats.java_text import DATE_FORMAT, fixed_4, format_time

HEADER: Final = (
    "start.time, end.time, fetch.size, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec"
)
DETAILED_HEADER: Final = (
    "time, fetch.size, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec"
)
"""The original's header, which lacks a title for the second column, the number of the thread."""

MEGABYTE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfStyle:
    """The format of rows.

    Attributes:
        fetch_size: ``fetch.message.max.bytes``.
        date_format: a pattern of ``SimpleDateFormat``.
        zone: the time zone.
    """

    fetch_size: int
    date_format: str = DATE_FORMAT
    zone: tzinfo = UTC

    def row(
        self, start_ms: int, end_ms: int, *, elapsed_ms: int, byte_count: int, message_count: int
    ) -> str:
        """Return the row of a run, without its line end.

        Args:
            start_ms: when it began, in ms since the epoch.
            end_ms: when it ended.
            elapsed_ms: the divisor of the rates.
            byte_count: the size of all values, without keys.
            message_count: the number of messages.
        """
        seconds = elapsed_ms / 1000
        megabytes = byte_count / MEGABYTE
        cells = (
            self._time(start_ms),
            self._time(end_ms),
            str(self.fetch_size),
            fixed_4(megabytes),
            fixed_4(_divided(megabytes, seconds)),
            str(message_count),
            fixed_4(_divided(message_count, seconds)),
        )
        return ", ".join(cells)

    def detailed_row(
        self, end_ms: int, thread: int, *, since: "PerfCount", until: "PerfCount", elapsed_ms: int
    ) -> str:
        """Return a row of one thread, without its line end; rates are over ``elapsed_ms``.

        Messages per second are whole messages per millisecond, times 1000. (If no millisecond has
        passed, the original's thread ends with an error.)
        """
        megabytes = (until.byte_count - since.byte_count) / MEGABYTE
        messages = until.message_count - since.message_count
        whole = messages // elapsed_ms if elapsed_ms else float("inf")
        cells = (
            self._time(end_ms),
            str(thread),
            str(self.fetch_size),
            fixed_4(until.byte_count / MEGABYTE),
            fixed_4(1000 * _divided(megabytes, elapsed_ms)),
            str(until.message_count),
            fixed_4(whole * 1000.0),
        )
        return ", ".join(cells)

    def _time(self, at_ms: int) -> str:
        return format_time(at_ms, self.date_format, self.zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfCount:
    """The number of messages and bytes that a thread has read."""

    byte_count: int = 0
    message_count: int = 0


def _divided(value: float, by: float) -> float:
    """Divide as Java divides floating-point numbers, even by 0."""
    if by:
        return value / by
    return float("inf") if value > 0 else float("nan")
