"""Committed offsets outside of their logs."""

from dataclasses import replace

from tests.support.diagnosed_cluster import LONG_AGO_MS, NOW_MS, DiagnosedCluster, codes, healthy
from zkconsumer.model import TopicPartition
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity
from zkconsumer.status.doctor.examine import examine
from zkconsumer.status.doctor.sightings import Sightings
from zkconsumer.status.model import ClusterSnapshot, CommittedOffset, GroupPartition

T0 = TopicPartition("t", 0)
NODE = "/consumers/g/offsets/t/0"


def stopped(offset: int, log: tuple[int, int]) -> DiagnosedCluster:
    """Return a group without members and with one committed offset."""
    world = DiagnosedCluster(t=1)
    world.logs[T0] = log
    world.commit(T0, offset)
    return world


def test_offsets_within_the_log_are_fine() -> None:
    """Offsets from the log start to the log end are no finding."""
    for offset in (10, 50, 90):
        assert stopped(offset, (10, 90)).findings() == ()


def test_an_offset_below_the_log_is_set_to_its_start() -> None:
    """In a stopped group an offset below the log start can be set to the log start."""
    world = stopped(9, (40, 90))
    found = world.finding(Code.OFFSET_BELOW_LOG)
    assert found.severity is Severity.ERROR
    assert "31 records" in found.what
    assert found.evidence == ("t-0: committed 9 in zookeeper, the log begins at 40",)
    assert found.fix is not None
    world.repair(found.fix)
    assert world.contents()[NODE] == (b"40", 0)
    assert world.findings() == ()


def test_no_offset_is_set_once_there_is_a_member() -> None:
    """The repair is refused once there is a member, or once the offset was committed again."""
    world = stopped(9, (40, 90))
    fix = world.finding(Code.OFFSET_BELOW_LOG).fix
    assert fix is not None
    world.commit(T0, 12)
    assert world.plan(fix).skipped == {NODE: "it now holds '12'"}
    world.commit(T0, 9)
    world.register("g_a", 1, t=1)
    plan = world.repair(fix)
    assert plan.refused == "/consumers/g/ids has 1 by now: g_a"
    assert world.contents()[NODE] == (b"9", 0)


def test_a_group_that_is_running_gets_no_offsets_set() -> None:
    """In a running group the repair is not offered: its members would overwrite it."""
    world = healthy()
    world.logs[T0] = (95, 100)
    found = world.finding(Code.OFFSET_BELOW_LOG)
    assert found.severity is Severity.WARNING
    assert found.fix is None


def test_an_offset_beyond_the_end_is_an_error() -> None:
    """For an offset beyond the log end no repair is offered, as the cause decides."""
    found = stopped(91, (10, 90)).finding(Code.OFFSET_BEYOND_END)
    assert found.severity is Severity.ERROR
    assert found.evidence == ("t-0: committed 91 in zookeeper, the log ends at 90",)
    assert found.fix is None


def seen(
    committed: CommittedOffset, log_at_ms: int, *, before: CommittedOffset | None = None
) -> tuple[Diagnosis, ...]:
    """Return the findings for one committed offset, and a log whose end of 90 was read then."""
    sightings = Sightings()
    if before is not None:
        sightings.record(_committed(before, before.seen_ms - 1))
    snapshot = _committed(committed, log_at_ms)
    return examine(snapshot, Circumstances(sightings=sightings.record(snapshot)))


def _committed(committed: CommittedOffset, log_at_ms: int) -> ClusterSnapshot:
    snapshot: ClusterSnapshot = DiagnosedCluster(t=1).snapshot()
    world = stopped(0, (0, 90))
    group = replace(
        world.group(),
        partitions=(
            GroupPartition(
                T0, committed=(committed,), log_start=0, log_end=90, log_at_ms=log_at_ms
            ),
        ),
    )
    return replace(snapshot, groups={group.key: group})


def test_a_commit_that_was_read_after_the_log_proves_nothing() -> None:
    """An offset that was read after the log end proves nothing, unless it was committed before."""
    late = CommittedOffset(95, "zookeeper", NOW_MS)
    assert seen(late, NOW_MS - 1) == ()
    assert codes(seen(late, NOW_MS)) == ["offset-beyond-end"]
    old = late._replace(committed_ms=LONG_AGO_MS)
    assert codes(seen(old, NOW_MS - 1)) == ["offset-beyond-end"]
    assert seen(late._replace(committed_ms=NOW_MS - 1000), NOW_MS - 1) == ()


def test_a_commit_in_an_earlier_snapshot_is_older_than_the_log_end() -> None:
    """An offset that an earlier snapshot has is older than the log end, though read after it."""
    now = CommittedOffset(95, "zookeeper", NOW_MS)
    before = now._replace(seen_ms=NOW_MS - 1000)
    assert codes(seen(now, NOW_MS - 500, before=before)) == ["offset-beyond-end"]
    assert seen(now, NOW_MS - 1001, before=before) == ()
    assert seen(now, NOW_MS - 500, before=before._replace(offset=90)) == ()


def test_the_larger_of_two_offsets_counts() -> None:
    """The larger of a group's two offsets counts, and can be repaired if it is ZooKeeper's."""
    world = stopped(9, (40, 90))
    group = world.group()
    in_kafka = CommittedOffset(50, "kafka", NOW_MS)
    (partition,) = group.partitions
    fine = replace(
        group, partitions=(partition._replace(committed=(*partition.committed, in_kafka)),)
    )
    snapshot = world.snapshot()
    assert examine(replace(snapshot, groups={fine.key: fine}), Circumstances()) == ()
    late = in_kafka._replace(offset=20)
    below = replace(group, partitions=(partition._replace(committed=(*partition.committed, late)),))
    (found,) = examine(replace(snapshot, groups={below.key: below}), Circumstances())
    assert found.code is Code.OFFSET_BELOW_LOG
    assert found.fix is None
