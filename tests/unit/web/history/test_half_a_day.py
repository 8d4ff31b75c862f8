"""Half a day of the page's history, written in seconds: its size, queries, a gap, a restart."""

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.support.asgi_client import ManualStates
from tests.support.status import group_of, snapshot_of
from zkconsumer.model import TopicPartition
from zkconsumer.status.model import (
    ClusterSnapshot,
    CommittedOffset,
    GroupKey,
    GroupKind,
    GroupPartition,
)
from zkconsumer.web.history.database import open_for_writing, size_of
from zkconsumer.web.history.past import RecordedPast
from zkconsumer.web.history.recorder import Recorder
from zkconsumer.web.history.upkeep import HOUR_MS, MINUTE_MS, UPKEEP_MS, Retention, maintain
from zkconsumer.web.history.writing import SampleWriter

PARTITIONS = 8
PACE_MS = 5_000
BEGIN_MS = 1_400_000_000_000
END_MS = BEGIN_MS + 12 * HOUR_MS
RESTART_MS = BEGIN_MS + 6 * HOUR_MS
GAP_MS = (BEGIN_MS + 9 * HOUR_MS, BEGIN_MS + 9 * HOUR_MS + 40 * MINUTE_MS)
PEAK_MS = BEGIN_MS + 3 * HOUR_MS
MAX_BYTES = 256 << 10
KEY = GroupKey(GroupKind.ZOOKEEPER, "g")


def seen(at_ms: int) -> ClusterSnapshot:
    """Return a snapshot of a group whose lag grows by the minute, with a peak in one reading."""
    lag = 1_000_000 if at_ms == PEAK_MS else (at_ms - BEGIN_MS) // MINUTE_MS
    partitions = [
        GroupPartition(
            TopicPartition("t", number),
            committed=(CommittedOffset(at_ms * (number + 1) // 1_000, "zookeeper", at_ms),),
            log_end=at_ms * (number + 1) // 1_000 + (lag if number == 7 else number % 3),
            log_at_ms=at_ms,
        )
        for number in range(PARTITIONS)
    ]
    return snapshot_of(replace(group_of(*partitions), seen_ms=at_ms), at_ms=at_ms)


def readings() -> Iterator[int]:
    """Yield the times at which the cluster was read."""
    for at_ms in range(BEGIN_MS, END_MS, PACE_MS):
        if not GAP_MS[0] <= at_ms < GAP_MS[1]:
            yield at_ms


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> RecordedPast:
    """Record half a day into a file of at most 256 KiB, in two runs of the program."""
    path = tmp_path_factory.mktemp("past") / "past"
    retention, largest = Retention(max_bytes=MAX_BYTES), 0
    connection, writer = open_for_writing(path), SampleWriter(4_000)
    states, upkeep_ms = ManualStates(seen(BEGIN_MS - PACE_MS)), BEGIN_MS
    for at_ms in readings():
        if at_ms == RESTART_MS:
            connection.close()
            connection, writer = open_for_writing(path), SampleWriter(4_000)
            states = ManualStates(seen(at_ms - PACE_MS))
        writer.write(connection, states.publish(seen(at_ms)), {})
        if at_ms >= upkeep_ms or size_of(connection) > MAX_BYTES:
            maintain(connection, retention, at_ms)
            upkeep_ms = at_ms + UPKEEP_MS
        largest = max(largest, size_of(connection))
    connection.close()
    assert largest < MAX_BYTES * 5 // 4
    assert path.stat().st_size < MAX_BYTES * 5 // 4
    return RecordedPast(Recorder(path))


def test_the_whole_half_day_is_returned_quickly(past: RecordedPast) -> None:
    """A query takes less than a second for the whole half day, with the peak and the restart."""
    began = time.process_time()
    series = past.lag_series(KEY, BEGIN_MS, END_MS, 300)
    took = time.process_time() - began
    assert took < 1
    assert series.problem is None
    assert series.times_ms[0] - BEGIN_MS < 30 * MINUTE_MS
    assert END_MS - series.times_ms[-1] <= 3 * MINUTE_MS
    assert 40 < len(series.times_ms) <= 301
    worst = max(total for total in series.total if total is not None)
    assert worst >= 1_000_000
    for at_ms, lag in zip(
        series.times_ms, series.partitions[TopicPartition("t", 7)].lag, strict=True
    ):
        assert lag in {(at_ms - BEGIN_MS) // MINUTE_MS, 1_000_000}


def test_a_gap_in_the_readings_is_a_gap_in_the_series(past: RecordedPast) -> None:
    """The gap in the readings is a gap in the series, also with few points."""
    series = past.lag_series(KEY, BEGIN_MS, END_MS, 300)
    before, after = max(pairwise(series.times_ms), key=lambda span: span[1] - span[0])
    assert before < GAP_MS[0]
    assert after >= GAP_MS[1]
    others = [b - a for a, b in pairwise(series.times_ms) if a != before]
    assert after - before > 1.5 * max(others)
    assert past.trends([KEY], *GAP_MS, 10) == {}
    assert None not in past.trends([KEY], GAP_MS[1] + 10 * MINUTE_MS, END_MS, 10)[KEY]


def test_the_last_minute_has_every_reading(past: RecordedPast) -> None:
    """The last minute is kept with every reading."""
    since_ms = END_MS - MINUTE_MS
    series = past.lag_series(KEY, since_ms, END_MS, 300)
    assert series.times_ms == tuple(range(since_ms, END_MS, PACE_MS))
