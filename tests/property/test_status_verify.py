"""What holds for the verification of every group, assigned or not."""

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.status import group_of, member
from zkconsumer.assignment.strategy import CannotAssign, Strategy
from zkconsumer.model import TopicPartition
from zkconsumer.status.grid import grid_of
from zkconsumer.status.model import GroupPartition, GroupStatus, MemberStatus
from zkconsumer.status.verify import STRATEGIES, expected_owners, group_view, verify

TOPICS = ("alpha", "beta", "gamma.x-1")
names = st.lists(st.text("ab09-_", min_size=1, max_size=4), min_size=1, max_size=5, unique=True)
ids = st.fixed_dictionaries({topic: st.sets(st.integers(0, 9)).map(tuple) for topic in TOPICS})


@st.composite
def assigned(draw: st.DrawFn, strategy: Strategy) -> tuple[GroupStatus, dict[str, tuple[int, ...]]]:
    """Draw a stable group that uses this assignor."""
    partition_ids = draw(ids)
    topics = draw(st.lists(st.sampled_from(TOPICS), unique=True))
    members = tuple(
        member(name, dict.fromkeys(topics, draw(st.integers(1, 3))), session)
        for session, name in enumerate(sorted(draw(names)), start=1)
    )
    if strategy == "range":
        members = tuple(
            replace(
                status, streams=draw(st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 3)))
            )
            for status in members
        )
    empty = group_of(members=members)
    owners = expected_owners(strategy, group_view(empty, partition_ids))
    assert not isinstance(owners, CannotAssign)
    sessions = {status.member_id: status.session_id for status in members}
    owned = [GroupPartition(tp, str(x), sessions[x.consumer_id]) for tp, x in owners.items()]
    return group_of(*owned, members=members), partition_ids


any_assigned = st.sampled_from(STRATEGIES).flatmap(assigned)


@given(st.data(), st.sampled_from(STRATEGIES))
def test_a_stable_group_is_sound_and_its_assignor_is_recognized(
    data: st.DataObject, strategy: Strategy
) -> None:
    """It is whatever its members read."""
    group, partition_ids = data.draw(assigned(strategy))
    found = verify(group, partition_ids)
    assert found.sound
    assert strategy in found.strategies
    assert found.checked == len(group.partitions) == sum(found.counts.values())


@given(any_assigned, st.data())
def test_a_fault_of_one_partition_is_found_there_and_only_there(
    scene: tuple[GroupStatus, dict[str, tuple[int, ...]]], data: st.DataObject
) -> None:
    """It may be another owner, another session, or no owner at all."""
    group, partition_ids = scene
    assume(group.partitions)
    index = data.draw(st.integers(0, len(group.partitions) - 1))
    sound = group.partitions[index]
    damaged = data.draw(
        st.sampled_from(
            [
                sound._replace(owner=None),
                sound._replace(owner="stranger!-0"),
                sound._replace(owner="garbage"),
                sound._replace(owner_session=0),
                sound._replace(owner_session=99),
            ]
        )
    )
    partitions = [damaged if partition is sound else partition for partition in group.partitions]
    found = verify(replace(group, partitions=tuple(partitions)), partition_ids)
    assert [fault.topic_partition for fault in found.faults] == [sound.topic_partition]


@given(any_assigned, st.data())
def test_a_member_that_leaves_makes_its_partitions_faulty(
    scene: tuple[GroupStatus, dict[str, tuple[int, ...]]], data: st.DataObject
) -> None:
    """Each of them is a fault until it is taken over, and no other partition is."""
    group, partition_ids = scene
    gone: MemberStatus = data.draw(st.sampled_from(group.members))
    rest = tuple(status for status in group.members if status is not gone)
    found = verify(replace(group, members=rest), partition_ids)
    left = {
        partition.topic_partition
        for partition in group.partitions
        if partition.owner is not None and partition.owner.rpartition("-")[0] == gone.member_id
    }
    assert {fault.topic_partition for fault in found.faults} == left


@given(any_assigned)
def test_a_grid_shows_every_partition_once(
    scene: tuple[GroupStatus, dict[str, tuple[int, ...]]],
) -> None:
    """It is in the column of its owner, and the columns have correct counts."""
    group, partition_ids = scene
    grid = grid_of(group, verify(group, partition_ids))
    assert [row.topic_partition for row in grid.rows] == [
        TopicPartition(topic, number)
        for topic in sorted(partition_ids)
        for number in sorted(partition_ids[topic])
        if any(topic in status.streams for status in group.members)
    ]
    for number, column in enumerate(grid.columns):
        mine = [row for row in grid.rows if row.column == number]
        assert column.partitions == len(mine)
        assert all((row.partition.owner or "").startswith(f"{column.owner_id}-") for row in mine)
    labels = [column.label for column in grid.columns]
    assert len(set(labels)) == len(labels)
