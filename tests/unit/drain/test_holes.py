"""Fewer messages than offsets: where the holes are, and which reasons are accepted."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.drain.checksum import Contents
from zkconsumer.drain.holes import NOTED, absences, explain, refuse_missed
from zkconsumer.drain.manifest import Absence
from zkconsumer.drain.proving.coverage import Discrepancy, Run, uncovered
from zkconsumer.errors import DrainError
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.spark.data_loss import LogBounds

TP = TopicPartition("t", 0)
WANTED = OffsetRange(topic_partition=TP, from_offset=10, until_offset=30)


@given(st.sets(st.integers(10, 29)), st.integers(0, 35))
def test_every_offset_is_present_or_in_an_explained_hole(present: set[int], begin: int) -> None:
    """Offsets before the start of the log are expired, the others compacted."""
    holes = uncovered(Run(10, 30), [Run(offset, offset + 1) for offset in sorted(present)])
    absent = {offset for hole in holes for offset in range(*hole)}
    assert absent == set(range(10, 30)) - present
    reported = explain(WANTED, holes, LogBounds({TP: begin}, {TP: 40}))
    assert sum(absence.count for absence in reported) == len(absent)
    for absence in reported:
        offsets = set(range(absence.from_offset, absence.until_offset))
        assert offsets <= absent
        expired = absence.kind is Discrepancy.EXPIRED
        assert all((offset < begin) == expired for offset in offsets)


def test_a_second_read_that_finds_more_stops_the_batch() -> None:
    """An offset that the log has and the landing lacks is named."""
    holes = [Run(12, 14), Run(20, 25)]
    refuse_missed(WANTED, holes, [Run(10, 12), Run(14, 20), Run(25, 30)])
    refuse_missed(WANTED, holes, [Run(10, 11), Run(25, 27)])
    with pytest.raises(
        DrainError, match=r"t-0 \[10, 30\): the first read of the log missed offset 24"
    ):
        refuse_missed(WANTED, holes, [Run(14, 20), Run(24, 30)])
    with pytest.raises(DrainError, match="the first read of the log missed offset 12"):
        refuse_missed(WANTED, holes, [Run(10, 30)])


def test_a_log_that_was_truncated_meanwhile_is_an_error() -> None:
    """The range existed when it was planned, so its absence is not excused."""
    with pytest.raises(DrainError, match="the log ends at 25 now"):
        explain(WANTED, [Run(25, 30)], LogBounds({TP: 0}, {TP: 25}))


def test_very_many_holes_are_recorded_together() -> None:
    """The manifest stays small, and still counts the absent offsets."""
    wanted = OffsetRange(topic_partition=TP, from_offset=0, until_offset=100_000)
    holes = [Run(offset, offset + 1) for offset in range(0, 100_000, 4)]
    reported = explain(wanted, holes, LogBounds({TP: 0}, {TP: 100_000}))
    assert len(reported) == NOTED
    assert sum(absence.count for absence in reported) == 25_000
    assert reported[0] == Absence(0, 97, 25, Discrepancy.COMPACTED)


def test_only_offsets_missing_from_both_reads_are_explained() -> None:
    """Partitions with all their rows are not read again."""
    whole, holey = (
        OffsetRange(topic_partition=TopicPartition("t", number), from_offset=0, until_offset=10)
        for number in range(2)
    )
    tp = holey.topic_partition
    contents = {whole.topic_partition: Contents(rows=10), tp: Contents(rows=8)}

    def landed(doubtful: Mapping[TopicPartition, OffsetRange]) -> list[tuple[TopicPartition, Any]]:
        assert doubtful == {tp: holey}
        return [(tp, [Run(0, 4), Run(6, 10)])]

    def again(_doubtful: object) -> list[tuple[TopicPartition, Any]]:
        return [(tp, [Run(0, 5), Run(6, 10)])]

    def ends(_wanted: object, _positions: object) -> LogBounds:
        return LogBounds({tp: 0}, {tp: 10})

    found = absences([whole, holey], contents, (landed, landed), ends)
    assert [(absence.from_offset, absence.until_offset) for absence in found[tp]] == [(4, 6)]
    with pytest.raises(DrainError, match="the first read of the log missed offset 4"):
        absences([whole, holey], contents, (landed, again), ends)
    assert absences([whole], contents, (landed, again), ends) == {}
