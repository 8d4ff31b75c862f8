"""Samples of groups: a group at one time as a row, and rows as a series."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.status import group_of
from zkconsumer.model import TopicPartition
from zkconsumer.status.lag import GroupLag, PartitionLag, TimeLag
from zkconsumer.status.model import CommittedOffset, GroupPartition
from zkconsumer.web.history.samples import (
    UNKNOWN,
    StoredSample,
    layout_text,
    parse_layout,
    sample_of,
    series_of,
)

OFFSETS = st.none() | st.integers(0, 2**62)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)


def row_of(
    values: dict[TopicPartition, tuple[int | None, int | None, int | None]],
    *,
    log_at_ms: int = 0,
) -> tuple[StoredSample, int]:
    """Return the stored row of committed offsets, log ends and ages, and its lag."""
    partitions = tuple(
        GroupPartition(
            tp,
            committed=() if offset is None else (CommittedOffset(offset, "zookeeper", 0),),
            log_end=end,
            log_at_ms=None if end is None else log_at_ms,
        )
        for tp, (offset, end, _) in sorted(values.items())
    )
    lags = tuple(
        PartitionLag(tp, None, None if age is None else TimeLag(age))
        for tp, (_, _, age) in sorted(values.items())
    )
    lag = GroupLag(partitions=lags, unknown=0)
    sample = sample_of(group_of(*partitions), lag)
    return StoredSample(sample.at_ms, parse_layout(sample.layout), sample.body), sample.lag


@given(
    st.dictionaries(
        st.builds(TopicPartition, NAMES, st.integers(0, 1000)),
        st.tuples(OFFSETS, OFFSETS, OFFSETS),
        max_size=20,
    )
)
def test_samples_are_read_back(
    values: dict[TopicPartition, tuple[int | None, int | None, int | None]],
) -> None:
    """Every number is read back as written, unknown ones as unknown; lags are never negative."""
    row, lag = row_of(values)
    series = series_of([row])
    lags = {
        tp: max(0, end - offset)
        for tp, (offset, end, _) in values.items()
        if offset is not None and end is not None
    }
    assert series.total == (sum(lags.values()) if lags else None,)
    assert lag == (sum(lags.values()) if lags else UNKNOWN)
    assert set(series.partitions) == set(values)
    for tp, (offset, end, age) in values.items():
        partition_series = series.partitions[tp]
        assert (partition_series.committed, partition_series.log_end) == ((offset,), (end,))
        assert partition_series.lag == (lags.get(tp),)
        known = age is not None and end is not None
        assert partition_series.seconds == (age / 1000 if known and age is not None else None,)


@given(st.lists(st.builds(TopicPartition, NAMES, st.integers(0, 10**6))))
def test_layouts_are_read_back(partitions: list[TopicPartition]) -> None:
    """A layout is read back in its order."""
    assert parse_layout(layout_text(partitions)) == tuple(partitions)


def test_partitions_come_and_go() -> None:
    """While a partition did not exist, its values are unknown."""
    a, b = TopicPartition("a", 0), TopicPartition("b", 0)
    rows = [row_of({a: (1, 4, None)})[0], row_of({a: (2, 4, 500), b: (0, 9, None)})[0]]
    series = series_of(rows)
    assert series.total == (3, 11)
    assert series.partitions[a].lag == (3, 2)
    assert series.partitions[a].seconds == (None, 0.5)
    assert series.partitions[b].lag == (None, 9)


def test_only_the_worst_of_many_partitions_are_shown() -> None:
    """Of many partitions only the worst are in the series; the total counts all of them."""
    values: dict[TopicPartition, tuple[int | None, int | None, int | None]] = {
        TopicPartition("t", number): (0, number, None) for number in range(67)
    }
    series = series_of([row_of(values)[0]])
    assert [tp.partition for tp in series.partitions] == list(range(7, 67))
    assert (series.left_out, series.total) == (7, (sum(range(67)),))


def test_an_old_log_end_is_unknown() -> None:
    """A log end that is too old counts as unknown, as the lag from it would be made up."""
    tp = TopicPartition("t", 0)
    assert row_of({tp: (1, 4, 9)}, log_at_ms=-60_000)[1] == 3
    row, lag = row_of({tp: (1, 4, 9)}, log_at_ms=-60_001)
    assert lag == UNKNOWN
    partition_series = series_of([row]).partitions[tp]
    assert (
        partition_series.committed,
        partition_series.log_end,
        partition_series.lag,
        partition_series.seconds,
    ) == ((1,), (None,), (None,), (None,))


def test_a_damaged_row_is_an_error() -> None:
    """A damaged row is an error, not another chart."""
    row = row_of({TopicPartition("t", 0): (1, 4, 9)})[0]
    with pytest.raises(ValueError, match="for 2 partitions"):
        series_of([row._replace(layout=(*row.layout, *row.layout))])
    with pytest.raises(zlib.error):
        series_of([row._replace(body=b"damaged")])
    with pytest.raises(ValueError, match="for 1 partitions"):
        series_of([row._replace(body=row.body[:-4])])
