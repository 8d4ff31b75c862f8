"""Findings with one cause are one incident; findings that it does not explain stay separate."""

from dataclasses import replace

from tests.support.diagnosed_cluster import NOW_MS, DiagnosedCluster, healthy
from zkconsumer.model import TopicPartition
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity
from zkconsumer.status.doctor.examine import examine
from zkconsumer.status.doctor.incidents import flatten
from zkconsumer.status.model import ClusterSnapshot

STALE = "g_gone-1399996300000-0a0b0c0d"


def stale_world() -> DiagnosedCluster:
    """Create two live members that share partitions with a stale registration."""
    world = DiagnosedCluster(t=6)
    for name, session in (("g_a-1399996300000-0a0b0c0d", 1), ("g_b-1399996300000-0a0b0c0d", 2)):
        world.register(name, session, t=1)
    world.register(STALE, 0, t=1, u=1)
    world.assign()
    for number in range(6):
        tp = TopicPartition("t", number)
        world.commit(tp, 90)
        if world.group().partitions[number].owner == f"{STALE}-0":
            world.remove(f"/consumers/g/owners/t/{number}")
    return world


def twice(world: DiagnosedCluster) -> tuple[Diagnosis, ...]:
    """Return the findings when an earlier snapshot, long enough before, shows the same."""
    earlier = world.snapshot(taken_ms=NOW_MS - 600_000)
    return examine(world.snapshot(), Circumstances(earlier=earlier))


def live(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Return the snapshot with all partitions read up to their log ends."""
    groups = {
        key: replace(
            group,
            partitions=tuple(
                partition._replace(log_end=90, log_start=0) for partition in group.partitions
            ),
        )
        for key, group in snapshot.groups.items()
    }
    return replace(snapshot, groups=groups)


def test_one_stale_registration_is_one_incident() -> None:
    """Partitions without an owner and unequal subscriptions follow from a stale registration."""
    world = stale_world()
    earlier = live(world.snapshot(taken_ms=NOW_MS - 600_000))
    found = examine(live(world.snapshot()), Circumstances(earlier=earlier))
    (incident,) = found
    assert (incident.code, incident.severity) == (Code.MEMBER_STALE, Severity.ERROR)
    codes = {consequence.code for consequence in incident.consequences}
    assert codes == {
        Code.OWNER_MISSING,
        Code.SUBSCRIPTIONS_UNEQUAL,
        Code.SUBSCRIBED_TOPIC_MISSING,
    }
    assert flatten(list(found)) == [incident, *incident.consequences]


def test_a_finding_that_the_registration_does_not_explain_stays() -> None:
    """Live owners that commit nothing are an incident besides the stale registration."""
    found = twice(stale_world())
    assert {diagnosis.code for diagnosis in found} == {Code.MEMBER_STALE, Code.COMMITS_PAUSED}


def test_a_partition_that_another_member_released_stays() -> None:
    """If another partition lost its owner, too, the registration does not explain the finding."""
    world = stale_world()
    owned = next(partition for partition in world.group().partitions if partition.owner is not None)
    tp = owned.topic_partition
    world.remove(f"/consumers/g/owners/t/{tp.partition}")
    assert Code.OWNER_MISSING in {diagnosis.code for diagnosis in twice(world)}


def test_a_persistent_owner_explains_that_nothing_is_committed() -> None:
    """A persistent owner node explains that nothing is committed for its partition."""
    world = healthy()
    world.remove("/consumers/g/owners/t/0")
    world.own(TopicPartition("t", 0), "g_a-1399996300000-0a0b0c0d-0", 0)
    earlier = world.snapshot(taken_ms=NOW_MS - 600_000)
    moved = {
        key: replace(
            group,
            partitions=tuple(
                partition
                if partition.topic_partition == TopicPartition("t", 0)
                else partition._replace(log_start=0, log_end=90)
                for partition in group.partitions
            ),
        )
        for key, group in earlier.groups.items()
    }
    (incident,) = examine(world.snapshot(), Circumstances(earlier=replace(earlier, groups=moved)))
    assert incident.code is Code.OWNER_PERSISTENT
    assert [consequence.code for consequence in incident.consequences] == [Code.COMMITS_PAUSED]
