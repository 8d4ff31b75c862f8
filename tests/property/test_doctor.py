"""The doctor on random groups: no findings on healthy ones, the right one on broken ones."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from tests.support.diagnosed_cluster import (
    NOW_MS,
    PAGE,
    DiagnosedCluster,
    codes,
    documented_severities,
)
from zkconsumer.model import TopicPartition
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis
from zkconsumer.status.doctor.examine import examine
from zkconsumer.status.doctor.undo import UndoRecord, plan_undo
from zkconsumer.status.model import (
    ClusterSnapshot,
    CommittedOffset,
    GroupKey,
    GroupKind,
    GroupPartition,
    GroupState,
    GroupStatus,
    MemberStatus,
    PartFailure,
    PartitionStatus,
    Seen,
    TopicStatus,
)
from zkconsumer.zk.store import CreateOp, SetOp

MEMBERS = ("g_a", "g_b", "g_c")
SEVERITIES = documented_severities(PAGE)
CALM = {Code.TOO_FEW_PARTITIONS.value}
"""Findings that a healthy group may have nevertheless."""


@st.composite
def worlds(draw: st.DrawFn) -> DiagnosedCluster:
    """Draw healthy groups, assigned by one strategy, with all committed offsets within the logs."""
    world = DiagnosedCluster(t=draw(st.integers(1, 5)), u=draw(st.integers(1, 5)))
    strategy = draw(st.sampled_from(["range", "roundrobin"]))
    even = {"t": draw(st.integers(1, 3)), "u": draw(st.integers(1, 3))}
    for number, name in enumerate(MEMBERS[: draw(st.integers(1, 3))], start=1):
        if strategy == "roundrobin":
            world.register(name, number, **dict.fromkeys("tu", even["t"]))
        else:
            read = draw(st.sets(st.sampled_from("tu"), min_size=1))
            world.register(name, number, **{topic: even[topic] for topic in sorted(read)})
    world.assign("range" if strategy == "range" else "roundrobin")
    for topic, numbers in world.partition_ids.items():
        for partition in numbers:
            if draw(st.booleans()):
                world.commit(TopicPartition(topic, partition), draw(st.integers(0, 100)))
    return world


@given(worlds())
def test_a_healthy_group_has_no_findings(world: DiagnosedCluster) -> None:
    """It has none whatever its members read, and however it is assigned."""
    assert set(codes(world.findings())) <= CALM
    world.live = frozenset(range(1, 4))
    assert set(codes(world.findings())) <= CALM


def owner_of(tp: TopicPartition) -> str:
    """Return the path of a partition's owner node."""
    return f"/consumers/g/owners/{tp.topic}/{tp.partition}"


def _persistent_owner(world: DiagnosedCluster, tp: TopicPartition) -> None:
    world.remove(owner_of(tp))
    world.own(tp, "g_a-0", 0)


def _dead_owner(world: DiagnosedCluster, tp: TopicPartition) -> None:
    world.remove(owner_of(tp))
    world.live = frozenset(range(1, 4))
    world.own(tp, "g_gone-0", 9)


def _garbage(world: DiagnosedCluster, _tp: TopicPartition) -> None:
    world.create_node("/consumers/g/ids/g_x", b"{", 8)


def _foreign(world: DiagnosedCluster, _tp: TopicPartition) -> None:
    world.create_node("/consumers/g/ids/g_x", b"t", 8)


def _deleted_topic(world: DiagnosedCluster, _tp: TopicPartition) -> None:
    world.commit(TopicPartition("gone", 0), 5)


def _stopped_and_late(world: DiagnosedCluster, tp: TopicPartition) -> None:
    for path, (_, session_id) in world.contents().items():
        if session_id:
            world.remove(path)
    world.commit(tp, 5)
    world.logs[tp] = (7, 300)


BREAKS: dict[Code, Callable[[DiagnosedCluster, TopicPartition], None]] = {
    Code.OWNER_PERSISTENT: _persistent_owner,
    Code.OWNER_OF_DEAD_SESSION: _dead_owner,
    Code.MEMBER_UNREADABLE: _garbage,
    Code.MEMBER_FOREIGN: _foreign,
    Code.OFFSETS_OF_DELETED_TOPICS: _deleted_topic,
    Code.OFFSET_BELOW_LOG: _stopped_and_late,
}


def broken(world: DiagnosedCluster, code: Code, data: st.DataObject) -> Diagnosis:
    """Break one thing of a healthy group, and return the doctor's finding on it."""
    owned = [
        partition.topic_partition
        for partition in world.group().partitions
        if partition.owner is not None
    ]
    BREAKS[code](world, data.draw(st.sampled_from(owned)))
    return world.finding(code)


@given(worlds(), st.sampled_from(sorted(BREAKS)), st.data())
def test_a_fault_is_found_and_repaired(
    world: DiagnosedCluster, code: Code, data: st.DataObject
) -> None:
    """After the repair the finding is gone, and no other node was changed."""
    found = broken(world, code, data)
    assert found.fix is not None
    before = world.contents()
    plan = world.repair(found.fix)
    assert plan.refused is None
    assert plan.skipped == {}
    after = world.contents()
    touched = {path for path in before | after if before.get(path) != after.get(path)}
    assert touched == {write.path for write in found.fix.writes}
    assert code not in codes(world.findings())


@given(worlds(), st.sampled_from(sorted(BREAKS)), st.data())
def test_a_node_that_changed_meanwhile_is_not_repaired(
    world: DiagnosedCluster, code: Code, data: st.DataObject
) -> None:
    """Its data or its session has changed, or it is gone."""
    fix = broken(world, code, data).fix
    assert fix is not None
    for write in fix.writes:
        node = world.tree.get(write.path)
        assert node is not None
        world.remove(write.path)
        kind = data.draw(st.sampled_from(["data", "session", "gone"]))
        if kind != "gone":
            content = node.data + b"1" if kind == "data" else node.data
            session_id = 77 if kind == "session" else node.ephemeral_owner
            world.create_node(write.path, content, session_id)
    before = world.contents()
    plan = world.repair(fix)
    assert not plan.writes
    assert world.contents() == before


@given(worlds(), st.sampled_from(sorted(BREAKS)), st.data())
def test_deleted_persistent_nodes_can_be_restored(
    world: DiagnosedCluster, code: Code, data: st.DataObject
) -> None:
    """Undoing a repair restores exactly these."""
    fix = broken(world, code, data).fix
    assert fix is not None
    before = world.contents()
    steps = tuple(planned.write for planned in world.repair(fix).writes)
    record = UndoRecord(zookeeper="zk", made_ms=1, writes=steps)
    back = plan_undo(record, {step.path: world.tree.get(step.path) for step in steps})
    for op in back.ops:
        assert isinstance(op, CreateOp | SetOp)
        assert world.tree.apply([op], 0)[0].ok
    lost = {path for path in before if world.contents().get(path) != before[path]}
    assert lost == {step.path for step in steps if step.session_id} == set(back.skipped)


# --- anything at all --------------------------------------------------------------------------

TIMES = st.none() | st.sampled_from([0, NOW_MS - 3_600_000, NOW_MS, NOW_MS + 3_600_000])
OFFSETS = st.none() | st.integers(-1, 5)
TPS = st.builds(TopicPartition, st.sampled_from("tuv"), st.integers(0, 2))
SESSIONS = st.sampled_from([None, -1, 0, 1, 2])
TEXTS = st.none() | st.sampled_from(["g_a", "g_a-0", "g_b-1", "", "ü", "m"])
COMMITS = st.builds(
    CommittedOffset,
    st.integers(-1, 5),
    st.sampled_from(["zookeeper", "kafka"]),
    st.just(NOW_MS),
    TIMES,
)
ODD_MEMBERS = st.builds(
    MemberStatus,
    member_id=st.sampled_from(["g_a", "g_b", "g_a-9999999999999-0a", "m", "a/b"]),
    streams=st.dictionaries(st.sampled_from("tuv"), st.integers(1, 2), max_size=3),
    session_id=SESSIONS,
    registered_ms=TIMES,
    created_ms=TIMES,
    assignor=st.none() | st.sampled_from(["range", "sticky"]),
    data=st.none() | st.binary(max_size=3) | st.just(b"t"),
    problem=st.none() | st.just("odd"),
)
ODD_PARTITIONS = st.builds(
    GroupPartition,
    TPS,
    owner=TEXTS,
    owner_session=SESSIONS,
    owner_since_ms=TIMES,
    committed=st.lists(COMMITS, max_size=2).map(tuple),
    log_start=OFFSETS,
    log_end=OFFSETS,
    log_at_ms=TIMES,
    problem=st.none() | st.just("odd"),
)


@st.composite
def groups(draw: st.DrawFn) -> GroupStatus:
    """Draw groups of either kind that need not be consistent."""
    members = draw(st.lists(ODD_MEMBERS, max_size=3, unique_by=lambda status: status.member_id))
    partitions = draw(
        st.lists(ODD_PARTITIONS, max_size=4, unique_by=lambda partition: partition.topic_partition)
    )
    kind = draw(st.sampled_from(GroupKind))
    return GroupStatus(
        group_id=draw(st.sampled_from(["g", "h", *(["a/b"] if kind == "coordinator" else [])])),
        kind=kind,
        seen_ms=NOW_MS,
        state=draw(st.sampled_from(GroupState)),
        members=tuple(sorted(members, key=lambda status: status.member_id)),
        partitions=tuple(sorted(partitions, key=lambda partition: partition.topic_partition)),
        problems=draw(st.sampled_from([(), ("odd",)])),
    )


@st.composite
def topics(draw: st.DrawFn, name: str) -> TopicStatus:
    """Draw a topic that may have lost leaders and replicas."""
    ids = st.lists(st.integers(0, 2), max_size=2).map(tuple)
    return TopicStatus(
        name=name,
        seen_ms=NOW_MS,
        partitions=tuple(
            PartitionStatus(
                topic_partition=TopicPartition(name, number),
                leader=draw(st.none() | st.just(0)),
                replicas=draw(ids),
                in_sync=draw(ids),
            )
            for number in range(draw(st.integers(0, 3)))
        ),
        deleting=draw(st.booleans()),
        problem=draw(st.none() | st.just("odd")),
    )


@st.composite
def snapshots(draw: st.DrawFn) -> ClusterSnapshot:
    """Draw clusters that need not be consistent."""
    found = draw(st.lists(groups(), max_size=3))
    names = sorted(draw(st.sets(st.sampled_from("tuv"))))
    failure = PartFailure(part="p", reason="r", since_ms=NOW_MS)
    skew = draw(TIMES)
    return ClusterSnapshot(
        taken_ms=NOW_MS,
        zookeeper_connect="zk",
        topics=tuple(draw(topics(name)) for name in names),
        groups={GroupKey(group.kind, group.group_id): group for group in found},
        failures=draw(st.sampled_from([(), (failure,)])),
        live_sessions=draw(st.none() | st.frozensets(st.integers(0, 2))),
        clock_skew_ms=None if skew is None else Seen(skew, NOW_MS),
    )


@given(snapshots(), st.none() | snapshots(), st.integers(0, 10**6))
def test_any_snapshot_gives_findings_that_can_be_shown(
    snapshot: ClusterSnapshot, earlier: ClusterSnapshot | None, apart_ms: int
) -> None:
    """There is never an error; the worst is first, and each has evidence and a remedy."""
    around = Circumstances(earlier=earlier, settle_ms=apart_ms, silence_ms=0)
    found = examine(snapshot, around)
    assert [diagnosis.severity for diagnosis in found] == sorted(
        (diagnosis.severity for diagnosis in found), reverse=True
    )
    assert found == examine(snapshot, around)
    for diagnosis in found:
        assert diagnosis.severity in SEVERITIES[diagnosis.code]
        assert diagnosis.evidence
        assert diagnosis.what[0].isupper() or diagnosis.what[0].isdigit()
        assert diagnosis.what.endswith(".")
        assert diagnosis.repair.endswith(".")
        assert diagnosis.fix is None or diagnosis.fix.writes
