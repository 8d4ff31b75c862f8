"""Offsets beyond the ends of logs, in reads that come late, in any order, or not at all."""

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
Look = tuple[int, int, int, int]
"""The committed offset, when it was read, the end of the log, and when that was read."""


def snapshot(look: Look, *, set_back_ms: int = 0) -> ClusterSnapshot:
    """A cluster with one group, as one look saw it, by a clock that was set back by so much."""
    offset, seen_ms, log_end, log_at_ms = look
    partition = GroupPartition(
        TP,
        committed=(CommittedOffset(offset, "zookeeper", seen_ms),),
        log_start=0,
        log_end=log_end,
        log_at_ms=log_at_ms,
    )
    taken_ms = max(seen_ms, log_at_ms)
    return snapshot_of(group_of(partition), at_ms=taken_ms, set_back_ms=set_back_ms)


def beyond(*looks: ClusterSnapshot) -> list[bool]:
    """Whether the doctor says after each look that an offset is beyond the end."""
    sightings = Sightings()
    return [bool(_found(look, sightings)) for look in looks]


def _found(look: ClusterSnapshot, sightings: Sightings) -> list[Diagnosis]:
    around = Circumstances(sightings=sightings.record(look))
    return [it for it in examine(look, around) if it.code is Code.OFFSET_BEYOND_END]


def test_what_was_found_stays_found_in_whichever_order_parts_are_read() -> None:
    """The group before the log, after it, before it: the offset is as far beyond as it was."""
    looks = (500, 1_000, 400, 1_001), (500, 2_001, 400, 2_000), (500, 3_000, 400, 3_001)
    assert beyond(*map(snapshot, looks)) == [True, True, True]


def test_the_second_read_of_the_log_decides_what_the_first_could_not() -> None:
    """An offset that was read after the log may be of a record that came in between."""
    looks = (500, 1_001, 400, 1_000), (500, 2_001, 400, 2_000)
    assert beyond(*map(snapshot, looks)) == [False, True]


def test_it_stands_while_the_log_can_not_be_read_and_says_how_old_that_is() -> None:
    """For minutes; though the group is read again and again, and even commits."""
    sightings = Sightings()
    assert _found(snapshot((500, 1_000, 400, 1_001)), sightings)
    for seen_ms, offset in ((2_000, 500), (31_000, 500), (500_000, 507)):
        assert _found(snapshot((offset, seen_ms, 400, 1_001)), sightings)
    (found,) = _found(snapshot((512, 600_000, 400, 1_001)), sightings)
    assert found.evidence[0].endswith("the log ends at 400, as read 9 min ago")


def test_it_is_over_as_soon_as_the_log_reaches_the_offset() -> None:
    """Or the offset is within the log; and begins anew after that."""
    looks = (500, 1_000, 400, 1_001), (500, 2_001, 500, 2_000), (507, 3_001, 500, 3_000)
    assert beyond(*map(snapshot, looks)) == [True, False, False]
    looks = (500, 1_000, 400, 1_001), (400, 2_001, 400, 2_000), (407, 3_001, 400, 3_000)
    assert beyond(*map(snapshot, looks)) == [True, False, False]


def test_a_group_that_commits_as_the_log_grows_is_never_found() -> None:
    """Though each log end is older than the offset beside it."""
    looks = [(100 * at + 50, 1_000 * at + 1, 100 * at, 1_000 * at) for at in range(1, 20)]
    assert not any(beyond(*map(snapshot, looks)))


def test_a_group_that_commits_further_and_further_beyond_is_found() -> None:
    """What it committed before the log was read proves it, not what it committed since."""
    looks = [(500 + at, 1_000 * at + 1, 400, 1_000 * at) for at in range(1, 5)]
    assert beyond(*map(snapshot, looks)) == [False, True, True, True]


def test_a_log_that_grows_past_the_earlier_offset_leaves_the_later_one_undecided() -> None:
    """The proof was the earlier one."""
    looks = (500, 1_000, 400, 1_001), (900, 2_001, 501, 2_000)
    assert beyond(*map(snapshot, looks)) == [True, False]


@pytest.mark.parametrize("by_ms", [3_600_000, 5_000])
def test_a_clock_that_was_set_back_changes_nothing(by_ms: int) -> None:
    """What was seen before it keeps its age."""
    first = snapshot((500, 10_000_000, 400, 10_000_001))
    now_ms = 10_001_000 - by_ms
    later = snapshot((500, now_ms + 1, 400, now_ms), set_back_ms=by_ms)
    assert beyond(first, later) == [True, True]
    undecided = snapshot((500, 10_000_001, 400, 10_000_000))
    assert beyond(undecided, later) == [False, True]


def test_only_what_lies_beyond_is_remembered() -> None:
    """A cluster has half a million offsets; a group that was not read again is not gone through."""
    sightings = Sightings()
    assert sightings.record(snapshot((400, 1_000, 400, 1_001))) == {}
    doubtful = snapshot((500, 2_000, 400, 1_001))
    assert sightings.record(doubtful) == {KEY: {TP: (Sighting(500, 2_000),)}}
    assert sightings.record(doubtful)[KEY] is sightings.record(doubtful)[KEY]
    assert sightings.record(snapshot_of(at_ms=3_000)) == {}
