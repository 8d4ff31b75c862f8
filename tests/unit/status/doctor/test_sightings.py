"""Offsets beyond log ends, when offsets and logs are read late, in any order, or not at all."""

import pytest

from tests.support.status import group_of, snapshot_of
from zkconsumer.model import TopicPartition
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis
from zkconsumer.status.doctor.examine import examine
from zkconsumer.status.doctor.sightings import Sighting, Sightings
from zkconsumer.status.model import (
    ClusterSnapshot,
    CommittedOffset,
    GroupKey,
    GroupKind,
    GroupPartition,
)

KEY = GroupKey(GroupKind.ZOOKEEPER, "g")
TP = TopicPartition("t", 0)
Reading = tuple[int, int, int, int]
"""The committed offset, when it was read, the log end, and when that was read."""


def snapshot(reading: Reading, *, set_back_ms: int = 0) -> ClusterSnapshot:
    """Return a cluster with one group, read like this, by a clock that was set back."""
    offset, seen_ms, log_end, log_at_ms = reading
    partition = GroupPartition(
        TP,
        committed=(CommittedOffset(offset, "zookeeper", seen_ms),),
        log_start=0,
        log_end=log_end,
        log_at_ms=log_at_ms,
    )
    taken_ms = max(seen_ms, log_at_ms)
    return snapshot_of(group_of(partition), at_ms=taken_ms, set_back_ms=set_back_ms)


def beyond(*readings: ClusterSnapshot) -> list[bool]:
    """Return for each snapshot whether the doctor reports an offset beyond the log end."""
    sightings = Sightings()
    return [bool(_found(reading, sightings)) for reading in readings]


def _found(reading: ClusterSnapshot, sightings: Sightings) -> list[Diagnosis]:
    around = Circumstances(sightings=sightings.record(reading))
    return [
        diagnosis
        for diagnosis in examine(reading, around)
        if diagnosis.code is Code.OFFSET_BEYOND_END
    ]


def test_a_finding_remains_in_whichever_order_parts_are_read() -> None:
    """The finding remains in whichever order group and log are read afterwards."""
    readings = (500, 1_000, 400, 1_001), (500, 2_001, 400, 2_000), (500, 3_000, 400, 3_001)
    assert beyond(*map(snapshot, readings)) == [True, True, True]


def test_the_next_read_of_the_log_decides() -> None:
    """An offset that was read after the log end is undecided until the log is read again."""
    readings = (500, 1_001, 400, 1_000), (500, 2_001, 400, 2_000)
    assert beyond(*map(snapshot, readings)) == [False, True]


def test_a_finding_remains_while_the_log_can_not_be_read() -> None:
    """While the log can't be read the finding remains, and says how old the log end is."""
    sightings = Sightings()
    assert _found(snapshot((500, 1_000, 400, 1_001)), sightings)
    for seen_ms, offset in ((2_000, 500), (31_000, 500), (500_000, 507)):
        assert _found(snapshot((offset, seen_ms, 400, 1_001)), sightings)
    (found,) = _found(snapshot((512, 600_000, 400, 1_001)), sightings)
    assert found.evidence[0].endswith("the log ends at 400, as read 9 min ago")


def test_a_finding_ends_when_the_log_reaches_the_offset() -> None:
    """The finding ends when the log reaches the offset, or the offset is within the log."""
    readings = (500, 1_000, 400, 1_001), (500, 2_001, 500, 2_000), (507, 3_001, 500, 3_000)
    assert beyond(*map(snapshot, readings)) == [True, False, False]
    readings = (500, 1_000, 400, 1_001), (400, 2_001, 400, 2_000), (407, 3_001, 400, 3_000)
    assert beyond(*map(snapshot, readings)) == [True, False, False]


def test_a_group_that_commits_as_the_log_grows_is_never_reported() -> None:
    """A group that commits while its log grows is never reported, whatever is read first."""
    readings = [(100 * at + 50, 1_000 * at + 1, 100 * at, 1_000 * at) for at in range(1, 20)]
    assert not any(beyond(*map(snapshot, readings)))


def test_a_group_that_commits_further_beyond_is_reported() -> None:
    """A group that commits further beyond the end is reported, due to its earlier commit."""
    readings = [(500 + at, 1_000 * at + 1, 400, 1_000 * at) for at in range(1, 5)]
    assert beyond(*map(snapshot, readings)) == [False, True, True, True]


def test_a_log_that_grows_past_the_earlier_offset_leaves_the_later_one_undecided() -> None:
    """A log that grows past the earlier offset leaves the later one undecided."""
    readings = (500, 1_000, 400, 1_001), (900, 2_001, 501, 2_000)
    assert beyond(*map(snapshot, readings)) == [True, False]


@pytest.mark.parametrize("by_ms", [3_600_000, 5_000])
def test_a_clock_that_was_set_back_changes_nothing(by_ms: int) -> None:
    """When the clock is set back, what was read before keeps its age, and the finding remains."""
    first = snapshot((500, 10_000_000, 400, 10_000_001))
    now_ms = 10_001_000 - by_ms
    later = snapshot((500, now_ms + 1, 400, now_ms), set_back_ms=by_ms)
    assert beyond(first, later) == [True, True]
    undecided = snapshot((500, 10_000_001, 400, 10_000_000))
    assert beyond(undecided, later) == [False, True]


def test_only_offsets_beyond_the_end_are_remembered() -> None:
    """Only offsets beyond the end are remembered, and unread groups are not examined again."""
    sightings = Sightings()
    assert sightings.record(snapshot((400, 1_000, 400, 1_001))) == {}
    doubtful = snapshot((500, 2_000, 400, 1_001))
    assert sightings.record(doubtful) == {KEY: {TP: (Sighting(500, 2_000),)}}
    assert sightings.record(doubtful)[KEY] is sightings.record(doubtful)[KEY]
    assert sightings.record(snapshot_of(at_ms=3_000)) == {}
