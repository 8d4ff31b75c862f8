"""Who would get what with more or fewer members and streams."""

import json
from dataclasses import replace

import pytest

from zkconsumer.assignment.strategy import CannotAssign
from zkconsumer.cli.formats.share_plan import partitions_text, share_plan_json, share_plan_text
from zkconsumer.model import TopicPartition
from zkconsumer.status.model import GroupKind, GroupPartition, GroupStatus, MemberStatus
from zkconsumer.status.scaling import Scale, SharePlan, plan_scaling

PARTITIONS = {"t": (0, 1, 2, 3, 4), "u": (0, 1)}


def tps(*numbers: int, topic: str = "t") -> tuple[TopicPartition, ...]:
    """Partitions of one topic."""
    return tuple(TopicPartition(topic, number) for number in numbers)


def zookeeper_group(*owners: str, members: tuple[str, ...] = ("g_a", "g_b")) -> GroupStatus:
    """A group that reads ``t``, a stream each, and the owners of its partitions."""
    return GroupStatus(
        group_id="g",
        kind=GroupKind.ZOOKEEPER,
        seen_ms=0,
        members=tuple(MemberStatus(member_id=member, streams={"t": 1}) for member in members),
        partitions=tuple(
            GroupPartition(TopicPartition("t", number), owner or None)
            for number, owner in enumerate(owners)
        ),
    )


SETTLED = zookeeper_group("g_a-0", "g_a-0", "g_a-0", "g_b-0", "g_b-0")


def planned(group: GroupStatus, scale: Scale, strategy: str = "range") -> SharePlan:
    """A plan that can be made."""
    plan = plan_scaling(group, PARTITIONS, scale, strategy)
    assert isinstance(plan, SharePlan)
    return plan


def test_as_it_is_nothing_moves() -> None:
    """The same members get what they have."""
    plan = planned(SETTLED, Scale(members=2))
    assert plan.readers == plan.before == {"g_a-0": tps(0, 1, 2), "g_b-0": tps(3, 4)}
    assert (plan.moved, plan.idle, plan.leaving, plan.invented) == ((), (), (), frozenset())


def test_one_more_member() -> None:
    """It does as the first does, under a name that is told to be invented."""
    plan = planned(SETTLED, Scale(members=3))
    assert plan.readers == {
        "g_a-0": tps(0, 1),
        "g_b-0": tps(2, 3),
        "g_new-001-0": tps(4),
    }
    assert plan.invented == {"g_new-001-0"}
    assert plan.moved == tps(2, 4)
    assert {len(share) for share in plan.readers.values()} == {1, 2}


def test_more_readers_than_partitions() -> None:
    """Some get nothing."""
    plan = planned(SETTLED, Scale(members=3, streams=2))
    assert plan.idle == ("g_new-001-1",)
    assert [len(share) for share in plan.readers.values()] == [1, 1, 1, 1, 1, 0]


def test_one_member_less() -> None:
    """The last one leaves, and what it had moves."""
    plan = planned(SETTLED, Scale(members=1))
    assert plan.leaving == ("g_b",)
    assert plan.readers == {"g_a-0": tps(0, 1, 2, 3, 4)}
    assert plan.moved == tps(3, 4)


def test_invented_names_are_free() -> None:
    """Somebody may be called so."""
    group = zookeeper_group(members=("g_a",))
    namesake = MemberStatus(member_id="g_new-001", streams={"t": 2})
    group = replace(group, members=(*group.members, namesake))
    plan = planned(group, Scale(members=3))
    assert list(plan.readers) == ["g_a-0", "g_new-001-0", "g_new-001-1", "g_new-002-0"]
    assert plan.invented == {"g_new-002-0"}


def test_topics_that_nobody_reads_yet() -> None:
    """All members would read them, with as many streams as now."""
    plan = planned(SETTLED, Scale(members=2, topics=("u", "t")), "roundrobin")
    assert sorted(tp for share in plan.readers.values() for tp in share) == [
        *tps(0, 1, 2, 3, 4),
        *tps(0, 1, topic="u"),
    ]
    assert plan.unread == ()
    assert len(plan.readers) == 2
    busy = replace(SETTLED, members=(MemberStatus(member_id="g_a", streams={"t": 3}),))
    assert len(planned(busy, Scale(members=2, topics=("u",))).readers) == 6


def test_a_group_without_members() -> None:
    """It reads what it has offsets of, or what is said."""
    empty = zookeeper_group("", "", members=())
    assert planned(empty, Scale(members=2)).readers == {
        "g_new-001-0": tps(0, 1, 2),
        "g_new-002-0": tps(3, 4),
    }
    nothing = zookeeper_group(members=())
    refused = plan_scaling(nothing, PARTITIONS, Scale(members=2), "range")
    assert isinstance(refused, CannotAssign)
    assert "name the topics" in refused.reason


def test_what_can_not_be_shared_out() -> None:
    """Missing topics, unknown strategies, uneven subscriptions under round-robin."""
    refused = plan_scaling(SETTLED, PARTITIONS, Scale(members=2, topics=("x", "t")), "range")
    assert refused == CannotAssign("the cluster has no partitions of x")
    for kind in GroupKind:
        group = GroupStatus(group_id="g", kind=kind, seen_ms=0, members=SETTLED.members)
        refused = plan_scaling(group, PARTITIONS, Scale(members=2), "best")
        assert isinstance(refused, CannotAssign)
        assert "best" in refused.reason
    uneven = GroupStatus(
        group_id="g",
        kind=GroupKind.ZOOKEEPER,
        seen_ms=0,
        members=(*SETTLED.members, MemberStatus(member_id="g_c", streams={"u": 1})),
    )
    assert isinstance(
        plan_scaling(uneven, PARTITIONS, Scale(members=3), "roundrobin"), CannotAssign
    )
    with pytest.raises(ValueError, match="no group"):
        Scale(members=0)
    with pytest.raises(ValueError, match="no group"):
        Scale(members=1, streams=0)


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_a_coordinators_group_that_sticks(assignor: str) -> None:
    """Only what evenness needs goes to the new member; streams mean nothing there."""
    group = GroupStatus(
        group_id="g",
        kind=GroupKind.COORDINATOR,
        seen_ms=0,
        members=tuple(MemberStatus(member_id=name, streams={"t": 1}) for name in "ab"),
        partitions=tuple(
            GroupPartition(TopicPartition("t", number), "ab"[number % 2]) for number in range(5)
        ),
    )
    plan = planned(group, Scale(members=3, streams=7), assignor)
    assert list(plan.readers) == ["a", "b", "new-001"]
    assert plan.invented == {"new-001"}
    assert len(plan.moved) == 1
    assert {len(share) for share in plan.readers.values()} == {1, 2}
    whole = planned(group, Scale(members=1), "range")
    assert whole.readers == {"a": tps(0, 1, 2, 3, 4)}
    assert whole.leaving == ("b",)


def test_the_table() -> None:
    """A line a reader, also of those that go."""
    assert share_plan_text("g", planned(SETTLED, Scale(members=3))) == (
        "READER             NOW  THEN  PARTITIONS\n"
        "g_a-0              3    2     t:0-1\n"
        "g_b-0              2    2     t:2-3\n"
        "g_new-001-0 (new)  -    1     t:4\n"
        "note: ids of new members are invented; with real ones the order may differ, so that "
        "the same shares go to other readers\n"
        "group g: 1 to 2 partitions per reader; 2 would change hands\n"
    )
    text = share_plan_text("g", planned(SETTLED, Scale(members=1, streams=6)))
    assert text.splitlines()[-4:] == [
        "g_b-0   2    -",
        "leaving: g_b",
        "idle: 1 of 6 readers would get nothing",
        "group g: 1 partition per reader for 5 of them, none for 1; 4 would change hands",
    ]


def test_the_json() -> None:
    """The same, for programs."""
    value = json.loads(share_plan_json("g", planned(SETTLED, Scale(members=1))))
    assert value["leaving"] == ["g_b"]
    assert value["moved"] == [["t", 3], ["t", 4]]
    assert value["readers"][0]["before"] == [["t", 0], ["t", 1], ["t", 2]]
    assert len(value["readers"][0]["partitions"]) == 5


def test_neighbours_are_ranges() -> None:
    """By topic, in order."""
    assert partitions_text([*tps(5, 3, 1, 2, 9), *tps(0, topic="a")]) == "a:0 t:1-3,5,9"
    assert partitions_text([]) == ""


def test_more_streams_than_can_be_shown_are_not_planned() -> None:
    """How many a member has now, it registered; with a number of one's own it is planned."""
    stranger = MemberStatus(member_id="g_0", streams={"t": 2**31 - 1})
    group = replace(SETTLED, members=(*SETTLED.members, stranger))
    ids = {"t": tuple(range(5))}
    plan = plan_scaling(group, ids, Scale(members=3), "range")
    assert isinstance(plan, CannotAssign)
    assert "streams are too many to plan" in plan.reason
    assert "2147483647: give their number" in plan.reason
    enough = plan_scaling(group, ids, Scale(members=3, streams=2), "range")
    assert isinstance(enough, SharePlan)
    assert len(enough.readers) == 6
