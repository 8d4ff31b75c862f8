"""Counts, intervals and rates of the messages that were read."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.cli.consume.format import Message
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
from zkconsumer.model import Record, TopicPartition
from zkconsumer.streams.message import MessageAndMetadata

START_MS = 1_795_000_000_000


def message_of(value: bytes | None) -> Message:
    """Build a message of which only the value matters."""
    return MessageAndMetadata(TopicPartition("t", 0), Record(0, None, value), None, None)


def tally(reports: list[Interval], *, limit: int | None = None, interval: int = 10) -> StreamTally:
    """Build a tally whose clock advances by 7 ms at each reading."""
    times = iter(range(7, 10**9, 7))
    return StreamTally(
        3, limit=limit, interval=interval, now_ms=lambda: next(times), report=reports.append
    )


@given(
    sizes=st.lists(st.lists(st.none() | st.integers(0, 9), max_size=30), max_size=12),
    limit=st.none() | st.integers(1, 100),
    interval=st.integers(1, 25),
)
def test_every_message_is_counted_once(
    sizes: list[list[int | None]], limit: int | None, interval: int
) -> None:
    """Messages count up to the limit, in lists of any size; each full interval is reported."""
    reports: list[Interval] = []
    stream_tally = tally(reports, limit=limit, interval=interval)
    for batch in sizes:
        stream_tally.take([message_of(None if size is None else bytes(size)) for size in batch])
    every = [size or 0 for batch in sizes for size in batch][:limit]
    assert stream_tally.count == PerfCount(byte_count=sum(every), message_count=len(every))
    assert stream_tally.is_full == (limit is not None and len(every) == limit)
    ends = list(range(interval, len(every) + 1, interval))
    assert [report.until.message_count for report in reports] == ends
    assert [report.until.byte_count for report in reports] == [sum(every[:end]) for end in ends]
    reported = [*reports, stream_tally.final_interval(10**9)]
    assert reported[0].since == PerfCount()
    for interval_before, after in pairwise(reported):
        assert after.since == interval_before.until
    for report_before, after in pairwise(reports):
        assert after.since_ms == report_before.until_ms < after.until_ms
    assert reported[-1].until == stream_tally.count
    assert reported[-1].since_ms == 0


@given(values=st.lists(st.integers(0, 50), max_size=20), percent=st.integers(1, 100))
def test_a_percentile_is_the_smallest_value_that_covers_its_share(
    values: list[int], percent: int
) -> None:
    """At least that share of the values does not exceed it, and no smaller value has that."""
    measurement = percentile(values, percent)
    if not values:
        assert measurement is None
        return
    assert measurement is not None

    def percent_covered(value: int) -> int:
        return 100 * sum(number <= value for number in values)

    assert percent_covered(measurement) >= percent * len(values)
    assert all(
        percent_covered(number) < percent * len(values) for number in values if number < measurement
    )


def test_rates() -> None:
    """A rate over 0 ms is None."""
    assert per_second(10, 400) == 25
    assert per_second(10, 0) is None


def measurement(*streams: StreamResult, end: End = End.IDLE) -> Measurement:
    """Build a measurement of these streams."""
    return Measurement(
        start_ms=START_MS, join_ms=50, end=end, streams=streams, seconds=(40_000, 10_000, 30_000)
    )


def stream(number: int, messages: int, size: int, last_ms: int) -> StreamResult:
    """Build the result of a stream."""
    count = PerfCount(byte_count=size, message_count=messages)
    return StreamResult(stream=number, count=count, last_ms=last_ms)


TWO = measurement(
    stream(0, 60_000, 3 << 20, 3_000), stream(1, 20_000, 1 << 20, 4_000), stream(2, 0, 0, 0)
)
ONE = measurement(stream(0, 1_000, 1 << 20, 500), end=End.LIMIT)
NONE = measurement(stream(0, 0, 0, 0), end=End.INTERRUPTED)


def test_the_table_lists_the_streams_that_read_something() -> None:
    """The total rate is over the time until the last message."""
    assert as_table(TWO).splitlines() == [
        "STREAM  SECONDS  MESSAGES      MB  MESSAGES/S  MB/S",
        "0         3.000     60000  3.0000       20000  1.00",
        "1         4.000     20000  1.0000        5000  0.25",
        "all       4.000     80000  4.0000       20000  1.00",
        "no more messages came; 1 of 3 streams had nothing to read",
    ]


def test_the_table_of_one_stream_has_one_row() -> None:
    """One stream needs only the total row; an unknown value is a dash."""
    assert as_table(ONE).splitlines()[1:] == [
        "all       0.500      1000  1.0000        2000  2.00",
        "the requested number of messages was read",
    ]
    assert as_table(NONE).splitlines()[1:] == [
        "all       0.000         0  0.0000           -     -",
        "nothing was read: stopped by a signal",
    ]


def test_json_has_numbers_and_utc_times() -> None:
    """An unknown value is null."""
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


def test_rows_in_the_original_s_format() -> None:
    """The columns are the original's, and the elapsed time is until the last message."""
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
def test_an_interval_of_no_time_counts_as_a_millisecond(until_ms: int) -> None:
    """The original ends with an error for such an interval."""
    count = PerfCount(byte_count=1 << 20, message_count=7)
    reported = Interval(stream=0, since=PerfCount(), until=count, since_ms=1_000, until_ms=until_ms)
    row = scala_detail(reported, START_MS, PerfStyle(fetch_size=1))
    assert row.endswith(", 1.0000, 1000.0000, 7, 7000.0000\n")
