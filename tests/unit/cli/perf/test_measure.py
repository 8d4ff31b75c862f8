"""Counts, intervals and rates of what was read."""

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.cli.formats.performance import PerfCount, PerfStyle
from zkconsumer.cli.perf.measure import (
    End,
    Interval,
    Measurement,
    StreamResult,
    StreamTally,
    per_second,
    percentile,
)
from zkconsumer.cli.perf.report import as_json, as_table, detail, scala_detail, scala_row

START_MS = 1_795_000_000_000


@dataclass(frozen=True)
class Value:
    """A message, as far as it is of interest."""

    value: bytes | None


def tally(reports: list[Interval], *, limit: int | None = None, interval: int = 10) -> StreamTally:
    """A tally whose time moves on by 7 ms each time that it is asked."""
    times = iter(range(7, 10**9, 7))
    return StreamTally(
        3, limit=limit, interval=interval, now_ms=lambda: next(times), report=reports.append
    )


@given(
    sizes=st.lists(st.lists(st.none() | st.integers(0, 9), max_size=30), max_size=12),
    limit=st.none() | st.integers(1, 100),
    interval=st.integers(1, 25),
)
def test_everything_is_counted_once(
    sizes: list[list[int | None]], limit: int | None, interval: int
) -> None:
    """Up to the limit, in whatever lists it comes; each interval is told when it is full."""
    reports: list[Interval] = []
    counted = tally(reports, limit=limit, interval=interval)
    for some in sizes:
        counted.take([Value(None if size is None else bytes(size)) for size in some])
    every = [size or 0 for some in sizes for size in some][:limit]
    assert counted.count == PerfCount(byte_count=sum(every), message_count=len(every))
    assert counted.is_full == (limit is not None and len(every) == limit)
    ends = list(range(interval, len(every) + 1, interval))
    assert [report.until.message_count for report in reports] == ends
    assert [report.until.byte_count for report in reports] == [sum(every[:end]) for end in ends]
    reported = [*reports, counted.final_interval(10**9)]
    assert reported[0].since == PerfCount()
    for interval_before, after in pairwise(reported):
        assert after.since == interval_before.until
    for report_before, after in pairwise(reports):
        assert after.since_ms == report_before.until_ms < after.until_ms
    assert reported[-1].until == counted.count
    assert reported[-1].since_ms == 0


@given(values=st.lists(st.integers(0, 50), max_size=20), percent=st.integers(1, 100))
def test_percentiles(values: list[int], percent: int) -> None:
    """At least so many percent are not above it, and it is the smallest such value."""
    found = percentile(values, percent)
    if not values:
        assert found is None
        return
    assert found is not None

    def not_above(value: int) -> int:
        return 100 * sum(number <= value for number in values)

    assert not_above(found) >= percent * len(values)
    assert all(not_above(number) < percent * len(values) for number in values if number < found)


def test_rates() -> None:
    """A rate of no time is unknown."""
    assert per_second(10, 400) == 25
    assert per_second(10, 0) is None


def found(*streams: StreamResult, end: End = End.IDLE) -> Measurement:
    """A measurement of these streams."""
    return Measurement(
        start_ms=START_MS, join_ms=50, end=end, streams=streams, seconds=(40_000, 10_000, 30_000)
    )


def stream(number: int, messages: int, size: int, last_ms: int) -> StreamResult:
    """What a stream read."""
    count = PerfCount(byte_count=size, message_count=messages)
    return StreamResult(stream=number, count=count, last_ms=last_ms)


TWO = found(
    stream(0, 60_000, 3 << 20, 3_000), stream(1, 20_000, 1 << 20, 4_000), stream(2, 0, 0, 0)
)
ONE = found(stream(0, 1_000, 1 << 20, 500), end=End.LIMIT)
NONE = found(stream(0, 0, 0, 0), end=End.INTERRUPTED)


def test_a_table_of_all_streams() -> None:
    """Those that read something; the rate of all is that of the time until the last message."""
    assert as_table(TWO).splitlines() == [
        "STREAM  SECONDS  MESSAGES      MB  MESSAGES/S  MB/S",
        "0         3.000     60000  3.0000       20000  1.00",
        "1         4.000     20000  1.0000        5000  0.25",
        "all       4.000     80000  4.0000       20000  1.00",
        "no more messages came; 1 of 3 streams had nothing to read",
    ]


def test_a_table_of_one_stream_and_of_nothing() -> None:
    """One row is enough; what is not known is a dash."""
    assert as_table(ONE).splitlines()[1:] == [
        "all       0.500      1000  1.0000        2000  2.00",
        "the requested number of messages was read",
    ]
    assert as_table(NONE).splitlines()[1:] == [
        "all       0.000         0  0.0000           -     -",
        "nothing was read: stopped by a signal",
    ]


def test_json() -> None:
    """Numbers are numbers; what is not known is null; times are in UTC."""
    shown = as_json(TWO, topic="t", fetch_size=1 << 20)
    streams = shown.pop("streams")
    assert shown == {
        "topic": "t",
        "start": "2026-11-18T11:06:40.000Z",
        "end": "2026-11-18T11:06:44.000Z",
        "ended": "idle",
        "join_ms": 50,
        "fetch_size": 1 << 20,
        "seconds": 4.0,
        "messages": 80_000,
        "bytes": 4 << 20,
        "messages_per_second": 20_000.0,
        "megabytes_per_second": 1.0,
        "messages_of_a_second": {"p1": 10_000, "p50": 30_000, "p99": 40_000},
    }
    assert isinstance(streams, list)
    assert streams[2] == {
        "stream": 2,
        "seconds": 0.0,
        "messages": 0,
        "bytes": 0,
        "messages_per_second": None,
        "megabytes_per_second": None,
    }


def test_the_originals_rows() -> None:
    """Its columns; the time that passed is that until the last message."""
    style = PerfStyle(fetch_size=1 << 20)
    assert scala_row(TWO, style) == (
        "2026-11-18 11:06:40:000, 2026-11-18 11:06:44:000, 1048576, 4.0000, 1.0000, 80000, "
        "20000.0000\n"
    )
    reported = Interval(
        stream=2,
        since=PerfCount(byte_count=1 << 20, message_count=500),
        until=PerfCount(byte_count=3 << 20, message_count=1_500),
        since_ms=1_000,
        until_ms=1_500,
    )
    assert scala_detail(reported, START_MS, style) == (
        "2026-11-18 11:06:41:500, 2, 1048576, 3.0000, 4.0000, 1500, 2000.0000\n"
    )
    assert detail(reported) == "stream 2: 1.5 s, 1500 messages, 2000 messages/s, 4.00 MB/s\n"


@pytest.mark.parametrize("until_ms", [1_000, 1_001])
def test_rows_within_a_millisecond(until_ms: int) -> None:
    """The original ends with an error there; here it counts as one."""
    count = PerfCount(byte_count=1 << 20, message_count=7)
    reported = Interval(stream=0, since=PerfCount(), until=count, since_ms=1_000, until_ms=until_ms)
    row = scala_detail(reported, START_MS, PerfStyle(fetch_size=1))
    assert row.endswith(", 1.0000, 1000.0000, 7, 7000.0000\n")
