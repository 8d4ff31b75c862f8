"""Formats a measurement as a table, as JSON, and as the original. Pure."""

from zkconsumer.cli.formats.performance import MEGABYTE, PerfStyle
from zkconsumer.cli.perf.measure import (
    End,
    Interval,
    Measurement,
    per_second,
    percentile,
)
from zkconsumer.cli.tables import Cell, Colour, Painted, instant, sentence, table

_COLUMNS = ("STREAM", ">SECONDS", ">MESSAGES", ">MB", ">MESSAGES/S", ">MB/S")
_PERCENTILES = (1, 50, 99)
_ENDS = {
    End.IDLE: "no more messages came",
    End.ALL: "all messages that existed at the start were read",
    End.LIMIT: "the requested number of messages was read",
    End.INTERRUPTED: "stopped by a signal",
}


def as_table(found: Measurement) -> str:
    """Return a row for each stream that read messages, and a row for all together."""
    read = [stream for stream in found.streams if stream.count.message_count]
    rows = []
    if len(read) > 1:
        rows = [
            _row(str(one.stream), one.last_ms, one.count.message_count, one.count.byte_count)
            for one in read
        ]
    rows.append(_row("all", found.elapsed_ms, found.message_count, found.byte_count))
    shown = table(_COLUMNS, rows)
    quiet = len(found.streams) - len(read)
    interval = [_ENDS[found.end]]
    if quiet and read:
        interval.append(f"{quiet} of {len(found.streams)} streams had nothing to read")
    if not read:
        interval = [f"nothing was read: {_ENDS[found.end]}"]
    return shown + sentence("; ".join(interval))


def as_json(found: Measurement, *, topic: str, fetch_size: int) -> dict[str, object]:
    """Return all figures; rates are null if no time has passed."""
    return {
        "topic": topic,
        "start": instant(found.start_ms),
        "end": instant(found.start_ms + found.elapsed_ms),
        "ended": found.end.value,
        "join_ms": found.join_ms,
        "fetch_size": fetch_size,
        **_numbers(found.elapsed_ms, found.message_count, found.byte_count),
        "messages_of_a_second": {
            f"p{percent}": percentile(found.seconds, percent) for percent in _PERCENTILES
        },
        "streams": [
            {
                "stream": stream.stream,
                **_numbers(stream.last_ms, stream.count.message_count, stream.count.byte_count),
            }
            for stream in found.streams
        ],
    }


def scala_row(found: Measurement, style: PerfStyle) -> str:
    """Return the original's row, with its line end, not counting the wait at the end."""
    row = style.row(
        found.start_ms,
        found.start_ms + found.elapsed_ms,
        elapsed_ms=found.elapsed_ms,
        byte_count=found.byte_count,
        message_count=found.message_count,
    )
    return f"{row}\n"


def scala_detail(interval: Interval, start_ms: int, style: PerfStyle) -> str:
    """Return the original's row about a stream, with its line end."""
    row = style.detailed_row(
        start_ms + interval.until_ms,
        interval.stream,
        since=interval.since,
        until=interval.until,
        elapsed_ms=max(1, interval.until_ms - interval.since_ms),
    )
    return f"{row}\n"


def detail(interval: Interval) -> str:
    """Return a sentence about an interval."""
    elapsed_ms = interval.until_ms - interval.since_ms
    messages = interval.until.message_count - interval.since.message_count
    size = interval.until.byte_count - interval.since.byte_count
    rate, byte_rate = per_second(messages, elapsed_ms), per_second(size / MEGABYTE, elapsed_ms)
    return (
        f"stream {interval.stream}: {interval.until_ms / 1000:.1f} s, "
        f"{interval.until.message_count} messages, "
        f"{_number(rate, 0)} messages/s, {_number(byte_rate, 2)} MB/s\n"
    )


def _row(name: str, elapsed_ms: int, messages: int, size: int) -> list[Cell]:
    rate, byte_rate = per_second(messages, elapsed_ms), per_second(size / MEGABYTE, elapsed_ms)
    return [
        Painted(name, Colour.BOLD) if name == "all" else name,
        f"{elapsed_ms / 1000:.3f}",
        messages,
        f"{size / MEGABYTE:.4f}",
        None if rate is None else _number(rate, 0),
        None if byte_rate is None else _number(byte_rate, 2),
    ]


def _number(rate: float | None, decimals: int) -> str:
    return "-" if rate is None else f"{rate:.{decimals}f}"


def _numbers(elapsed_ms: int, messages: int, size: int) -> dict[str, object]:
    return {
        "seconds": elapsed_ms / 1000,
        "messages": messages,
        "bytes": size,
        "messages_per_second": per_second(messages, elapsed_ms),
        "megabytes_per_second": per_second(size / MEGABYTE, elapsed_ms),
    }
