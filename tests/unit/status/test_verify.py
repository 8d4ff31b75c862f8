"""Whether every partition that a group should read has a proper owner."""

from dataclasses import replace

import pytest

from tests.support.status import group_of, member
from zkconsumer.assignment.strategy import CannotAssign
from zkconsumer.model import TopicPartition
from zkconsumer.status.group_state import coordinator_state, zookeeper_state
from zkconsumer.status.model import (
    CommittedOffset,
    GroupKind,
    GroupPartition,
    GroupState,
    GroupStatus,
    MemberStatus,
)
from zkconsumer.status.verify import (
    Expectation,
    MisownedPartition,
    OwnershipFault,
    expected_owners,
    group_view,
    verify,
)

IDS = {"t": (0, 1, 2), "other": (0,), "bare": ()}


def _owned(
    number: int, owner: str | None, session: int | None = 1, topic: str = "t"
) -> GroupPartition:
    return GroupPartition(TopicPartition(topic, number), owner, session)


A = member("g_a", {"t": 2}, session_id=1)
B = member("g_b", {"t": 1}, session_id=2)
HEALTHY = group_of(_owned(0, "g_a-0"), _owned(1, "g_a-1"), _owned(2, "g_b-0", 2), members=(A, B))


def _with(partition: GroupPartition, group: GroupStatus = HEALTHY) -> GroupStatus:
    """Return the group with this partition in place of its own."""
    others = [x for x in group.partitions if x.topic_partition != partition.topic_partition]
    return group_of(*others, partition, members=group.members, kind=group.kind)


def test_a_healthy_group_is_sound() -> None:
    """A healthy group has no faults; its counts are by thread, and its strategy is range."""
    found = verify(HEALTHY, IDS, frozenset({1, 2}))
    assert found.sound
    assert (found.checked, found.faults, found.malformed) == (3, (), ())
    assert found.counts == {"g_a-0": 1, "g_a-1": 1, "g_b-0": 1}
    assert "range" in found.strategies
    assert zookeeper_state(HEALTHY, IDS) is GroupState.STABLE


@pytest.mark.parametrize(
    ("partition", "fault", "member_session"),
    [
        (_owned(2, None), OwnershipFault.UNOWNED, None),
        (_owned(2, "garbage"), OwnershipFault.NO_THREAD_ID, None),
        (_owned(2, ""), OwnershipFault.NO_THREAD_ID, None),
        (_owned(2, "g_c-0", 2), OwnershipFault.NO_MEMBER, None),
        (_owned(2, "g_b-1", 2), OwnershipFault.NO_STREAM, 2),
        (_owned(2, "g_b-0", 1), OwnershipFault.OTHER_SESSION, 2),
        (_owned(2, "g_b-0", 0), OwnershipFault.NO_SESSION, 2),
        (_owned(2, "g_c-0", 0), OwnershipFault.NO_SESSION, None),
        (_owned(2, "g_b-0", 9), OwnershipFault.DEAD_SESSION, 2),
        (_owned(0, "g_a-0", 1, "other"), OwnershipFault.NOT_READ, 1),
        (_owned(3, "g_a-0"), OwnershipFault.NO_PARTITION, 1),
        (_owned(0, "g_a-0", 1, "gone"), OwnershipFault.NO_PARTITION, 1),
    ],
)
def test_a_fault_is_reported_with_its_evidence(
    partition: GroupPartition, fault: OwnershipFault, member_session: int | None
) -> None:
    """Each fault is reported with the partition, the owner and the sessions."""
    group = _with(partition)
    found = verify(group, IDS, frozenset({1, 2}))
    session = None if partition.owner is None else partition.owner_session
    assert found.faults == (
        MisownedPartition(
            topic_partition=partition.topic_partition,
            fault=fault,
            owner=partition.owner,
            owner_session=session,
            member_session=member_session,
        ),
    )
    assert not found.sound
    assert zookeeper_state(group, IDS, frozenset({1, 2})) is GroupState.REBALANCING


def test_unknown_sessions_are_no_fault() -> None:
    """Unknown sessions are no fault: old nodes, or a ZooKeeper that does not list sessions."""
    assert verify(_with(_owned(2, "g_b-0", None)), IDS).sound
    lost = replace(HEALTHY, members=(A, replace(B, session_id=None)))
    assert verify(lost, IDS).sound


def test_a_partition_without_any_node_is_unowned() -> None:
    """A partition without any node counts as unowned."""
    group = group_of(_owned(0, "g_a-0"), members=(A,))
    found = verify(group, IDS)
    assert [fault.topic_partition.partition for fault in found.faults] == [1, 2]
    assert {fault.fault for fault in found.faults} == {OwnershipFault.UNOWNED}


def test_a_malformed_registration_is_no_sound_group() -> None:
    """A malformed registration is no sound group: it stops the next rebalance of Scala members."""
    broken = MemberStatus(member_id="g_x", problem="no JSON")
    group = replace(HEALTHY, members=(*HEALTHY.members, broken))
    found = verify(group, IDS)
    assert found.malformed == ("g_x",)
    assert found.faults == ()
    assert not found.sound
    assert zookeeper_state(group, IDS) is GroupState.REBALANCING
    owned = _with(_owned(2, "g_x-0", 5), group)
    assert [fault.fault for fault in verify(owned, IDS).faults] == [OwnershipFault.NO_STREAM]


def test_topics_that_are_missing_are_named() -> None:
    """Missing topics are named; a topic without partitions is not missing."""
    group = group_of(members=(member("g_a", {"gone": 1, "bare": 1}),))
    found = verify(group, IDS)
    assert found.missing_topics == ("gone",)
    assert (found.checked, found.sound) == (0, True)


def test_a_strategy_with_other_owners_names_the_partitions() -> None:
    """A strategy that would assign other owners names the partitions that differ."""
    swapped = _with(_owned(1, "g_a-0"), _with(_owned(0, "g_a-1")))
    found = verify(swapped, IDS)
    assert found.sound
    assert found.expectations["range"].differing == (TopicPartition("t", 0), TopicPartition("t", 1))
    assert "range" not in found.strategies


def test_a_partition_that_should_have_no_owner_differs() -> None:
    """A partition that has an owner and should have none differs, too."""
    extra = _with(_owned(0, "g_a-0", 1, "other"))
    assert verify(extra, IDS).expectations["range"].differing == (TopicPartition("other", 0),)


def test_faults_are_in_the_order_of_partitions() -> None:
    """Faults are sorted by partition, of whatever kind they are."""
    ids = {"t": tuple(range(40))}
    owned = [_owned(number, "garbage") for number in range(0, 40, 3)]
    found = verify(group_of(*owned, members=(A,)), ids)
    assert [fault.topic_partition.partition for fault in found.faults] == list(range(40))


def test_round_robin_over_unequal_subscriptions_is_impossible() -> None:
    """Round-robin over unequal subscriptions is impossible, with the assignor's reason."""
    group = group_of(members=(A, member("g_c", {"other": 1})))
    expectation = verify(group, IDS).expectations["roundrobin"]
    assert not expectation.met
    assert expectation.reason is not None
    assert "round-robin needs" in expectation.reason
    assert Expectation().met


def test_round_robin_is_distinguished_from_range() -> None:
    """Round-robin is distinguished from range by two topics of one partition."""
    ids = {"alpha": (0,), "beta": (0,)}
    members = (member("g_a", {"alpha": 1, "beta": 1}), member("g_b", {"alpha": 1, "beta": 1}, 2))
    ranged = group_of(
        _owned(0, "g_a-0", 1, "alpha"), _owned(0, "g_a-0", 1, "beta"), members=members
    )
    dealt = group_of(_owned(0, "g_b-0", 2, "alpha"), _owned(0, "g_a-0", 1, "beta"), members=members)
    assert verify(ranged, ids).strategies == ("range",)
    assert verify(dealt, ids).strategies == ("roundrobin",)


def test_members_that_order_colliding_topics_differently_compute_different_shares() -> None:
    """Of topics with equal hashes, members with another order claim the same one.

    Nobody claims the other one.
    """
    ids = {"Aa": (0,), "BB": (0,)}
    members = (member("g_a", {"Aa": 1, "BB": 1}), member("g_b", {"BB": 1, "Aa": 1}, 2))
    owners = expected_owners("roundrobin", group_view(group_of(members=members), ids))
    assert not isinstance(owners, CannotAssign)
    assert len(owners) == 1


def test_a_coordinators_group_is_owned_by_members() -> None:
    """Owners in a coordinator's group are members; sessions and strategies do not apply."""
    members = (MemberStatus(member_id="c-1", streams={"t": 1}),)
    owned = [_owned(n, "c-1", None) for n in range(3)]
    group = group_of(*owned, members=members, kind=GroupKind.COORDINATOR)
    found = verify(group, IDS, frozenset())
    assert found.sound
    assert found.expectations == {}
    stranger = _with(_owned(1, "c-2", None), group)
    assert [fault.fault for fault in verify(stranger, IDS).faults] == [OwnershipFault.NO_MEMBER]


def test_a_group_without_members_is_empty_or_dead() -> None:
    """A group without members is empty if it has offsets, else dead; owner nodes are faults."""
    committed = (CommittedOffset(1, "zookeeper", 0),)
    left = group_of(GroupPartition(TopicPartition("t", 0), committed=committed))
    assert verify(left, IDS).sound
    assert zookeeper_state(left, IDS) is GroupState.EMPTY
    assert zookeeper_state(group_of(), None) is GroupState.DEAD
    orphan = group_of(_owned(0, "g_a-0"))
    assert [fault.fault for fault in verify(orphan, IDS).faults] == [OwnershipFault.NOT_READ]


def test_without_the_topics_the_state_is_unknown() -> None:
    """Without the topics a group's state is unknown."""
    assert zookeeper_state(HEALTHY, None) is GroupState.UNKNOWN


@pytest.mark.parametrize(
    ("reported", "state"),
    [
        ("Stable", GroupState.STABLE),
        ("PreparingRebalance", GroupState.REBALANCING),
        ("CompletingRebalance", GroupState.REBALANCING),
        ("AwaitingSync", GroupState.REBALANCING),
        ("Assigning", GroupState.REBALANCING),
        ("Reconciling", GroupState.REBALANCING),
        ("Empty", GroupState.EMPTY),
        ("Dead", GroupState.DEAD),
        ("", GroupState.UNKNOWN),
        ("Sleeping", GroupState.UNKNOWN),
    ],
)
def test_the_states_of_coordinators_are_known(reported: str, state: GroupState) -> None:
    """The states that coordinators of all versions report are known; others are unknown."""
    assert coordinator_state(reported) is state


def test_streams_in_huge_numbers_are_counted_and_not_listed() -> None:
    """Streams in huge numbers are counted without a list of them.

    By range those of a member whose id is first would have everything.
    """
    most = 2**31 - 1
    stranger = member("g_0", {"t": most}, session_id=3)
    group = group_of(*HEALTHY.partitions, members=(*HEALTHY.members, stranger))
    found = verify(group, IDS, frozenset({1, 2, 3}))
    assert found.sound
    by_range = expected_owners("range", group_view(group, IDS))
    assert not isinstance(by_range, CannotAssign)
    assert sorted(map(str, by_range.values())) == ["g_0-0", "g_0-1", "g_0-10"]
    assert len(found.expectations["range"].differing) == 3
    assert found.expectations["roundrobin"].reason is None
