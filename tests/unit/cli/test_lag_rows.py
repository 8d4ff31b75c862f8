"""Rows of the lag table, with the lag in seconds estimated from the log's growth."""

import argparse

import pytest

from tests.support.opened_cluster import opening
from tests.support.status import group_of, snapshot_of
from tests.support.status_world import StatusWorld
from zkconsumer.cli.cluster_arguments import DEFAULT_TIMEOUT_MS
from zkconsumer.cli.lag.rows import lag_rows, seconds_text
from zkconsumer.cli.lag.seconds import LagSeconds, unknown_groups
from zkconsumer.model import TopicPartition
from zkconsumer.status.lag import TimeLag
from zkconsumer.status.model import ClusterSnapshot, CommittedOffset, GroupPartition

T0 = TopicPartition("t", 0)


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (None, None),
        (TimeLag(0), "0"),
        (TimeLag(40), "0.0"),
        (TimeLag(12_340), "12.3"),
        (TimeLag(100_400), "100"),
        (TimeLag(99_000, estimated=True), "~99.0"),
    ],
)
def test_seconds_have_three_digits(time: TimeLag | None, text: str | None) -> None:
    """Three digits are enough, and an estimate is marked with "~"."""
    assert seconds_text(time) == text


def snapshot_with(log_end: int, at_ms: int) -> ClusterSnapshot:
    """Build a snapshot of a group at offset 400 of a log with this end."""
    group_partition = GroupPartition(
        T0, committed=(CommittedOffset(400, "zookeeper", at_ms),), log_end=log_end, log_at_ms=at_ms
    )
    return snapshot_of(group_of(group_partition), at_ms=at_ms, log_ends={T0: log_end})


@pytest.mark.parametrize(("grown", "seconds"), [(1_120, "~10.0"), (1_000, None)])
def test_the_lag_in_seconds_is_estimated_from_the_log_s_growth(
    grown: int, seconds: str | None
) -> None:
    """600 records at 60 a second are 10 seconds; a log that does not grow gives no estimate."""
    world = StatusWorld()
    first, second = snapshot_with(1_000, 10_000), snapshot_with(grown, 12_000)
    args = argparse.Namespace(zookeeper="zk", timeout_ms=DEFAULT_TIMEOUT_MS)
    with opening(world)(args) as access:
        found = LagSeconds(access)
        found.note(first)
        rows = lag_rows(first, first.groups.values(), None, {})
        assert unknown_groups(rows) == {rows[0].group.key}
        found.note(second)
        [row] = found.timed(rows, first)
    world.close()
    assert seconds_text(row.time) == seconds
