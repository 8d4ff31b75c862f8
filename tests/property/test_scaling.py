"""Promises of every plan of scaling: it is complete, and as even as the strategy."""

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.assignment.coordinated.strategy import STRATEGIES
from zkconsumer.assignment.strategy import CannotAssign
from zkconsumer.model import TopicPartition
from zkconsumer.status.model import GroupKind, GroupPartition, GroupStatus, MemberStatus
from zkconsumer.status.scaling import Scale, plan_scaling

TOPICS = ("t", "u")


@st.composite
def groups(draw: st.DrawFn) -> tuple[GroupStatus, dict[str, tuple[int, ...]], str]:
    """Draw groups of either kind with equal subscriptions and arbitrary owners."""
    kind = draw(st.sampled_from(GroupKind))
    ids = draw(st.sets(st.sampled_from([f"g_{name}" for name in "abcdef"])))
    streams = {topic: draw(st.integers(1, 3)) for topic in TOPICS[:1]} | {TOPICS[1]: 1}
    if draw(st.booleans()):
        streams = dict.fromkeys(TOPICS, 2)
    partitions = {topic: tuple(range(draw(st.integers(1, 9)))) for topic in TOPICS}
    owners = st.none() | st.sampled_from(sorted(ids) or ["x"]) | st.just("g_z-0")
    found = tuple(
        GroupPartition(TopicPartition(topic, number), draw(owners))
        for topic in TOPICS
        for number in partitions[topic]
    )
    group = GroupStatus(
        group_id="g",
        kind=kind,
        seen_ms=0,
        members=tuple(
            MemberStatus(member_id=member_id, streams=streams) for member_id in sorted(ids)
        ),
        partitions=found,
    )
    known = list(STRATEGIES) if kind is GroupKind.COORDINATOR else ["range", "roundrobin"]
    return group, partitions, draw(st.sampled_from(known))


@given(groups(), st.integers(1, 8), st.none() | st.integers(1, 3))
def test_every_partition_has_one_reader(
    drawn: tuple[GroupStatus, dict[str, tuple[int, ...]], str], members: int, streams: int | None
) -> None:
    """The plan has the requested number of members, the present ones first."""
    group, partitions, strategy = drawn
    plan = plan_scaling(group, partitions, Scale(members=members, streams=streams), strategy)
    if isinstance(plan, CannotAssign):
        assert strategy == "roundrobin"
        assert streams is None
        return
    wanted = sorted(
        TopicPartition(topic, partition) for topic in partitions for partition in partitions[topic]
    )
    assert sorted(tp for share in plan.readers.values() for tp in share) == wanted
    assert plan.unread == ()
    zookeeper = group.kind is GroupKind.ZOOKEEPER
    named = {reader.rpartition("-")[0] if zookeeper else reader for reader in plan.readers}
    assert len(named) == members
    present = {member.member_id for member in group.members}
    assert len(named & present) == min(members, len(present))
    assert present - named == set(plan.leaving)
    if strategy != "range":
        sizes = [len(share) for share in plan.readers.values()]
        assert max(sizes) - min(sizes) <= 1
    else:
        for topic in partitions:
            counts = [sum(tp.topic == topic for tp in share) for share in plan.readers.values()]
            of_some = [count for count in counts if count]
            assert max(of_some) - min(of_some) <= 1
