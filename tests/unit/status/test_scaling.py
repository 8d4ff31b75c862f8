"""Which partitions each reader would have with more or fewer members and streams."""

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
    """Return partitions of one topic."""
    return tuple(TopicPartition(topic, number) for number in numbers)


def zookeeper_group(*owners: str, members: tuple[str, ...] = ("g_a", "g_b")) -> GroupStatus:
    """Return a group that reads ``t`` with a stream each, and these owners of its partitions."""
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
    """Return a plan, which must be possible."""
    plan = plan_scaling(group, PARTITIONS, scale, strategy)
    assert isinstance(plan, SharePlan)
    return plan


def test_the_same_number_of_members_keeps_all_partitions() -> None:
    """The same number of members keeps all partitions."""
    plan = planned(SETTLED, Scale(members=2))
    assert plan.readers == plan.before == {"g_a-0": tps(0, 1, 2), "g_b-0": tps(3, 4)}
    assert (plan.moved, plan.idle, plan.leaving, plan.invented) == ((), (), (), frozenset())


def test_one_more_member_gets_a_share() -> None:
    """A new member subscribes as the first one does, under an id that is marked as invented."""
    plan = planned(SETTLED, Scale(members=3))
    assert plan.readers == {
        "g_a-0": tps(0, 1),
        "g_b-0": tps(2, 3),
        "g_new-001-0": tps(4),
    }
    assert plan.invented == {"g_new-001-0"}
    assert plan.moved == tps(2, 4)
    assert {len(share) for share in plan.readers.values()} == {1, 2}


def test_more_readers_than_partitions_leave_some_idle() -> None:
    """With more readers than partitions some are idle."""
    plan = planned(SETTLED, Scale(members=3, streams=2))
    assert plan.idle == ("g_new-001-1",)
    assert [len(share) for share in plan.readers.values()] == [1, 1, 1, 1, 1, 0]


def test_one_member_less_moves_its_partitions() -> None:
    """With one member less the last one leaves, and its partitions move."""
    plan = planned(SETTLED, Scale(members=1))
    assert plan.leaving == ("g_b",)
    assert plan.readers == {"g_a-0": tps(0, 1, 2, 3, 4)}
    assert plan.moved == tps(3, 4)


def test_invented_names_are_free() -> None:
    """Invented ids differ from those of existing members."""
    group = zookeeper_group(members=("g_a",))
    namesake = MemberStatus(member_id="g_new-001", streams={"t": 2})
    group = replace(group, members=(*group.members, namesake))
    plan = planned(group, Scale(members=3))
    assert list(plan.readers) == ["g_a-0", "g_new-001-0", "g_new-001-1", "g_new-002-0"]
    assert plan.invented == {"g_new-002-0"}


def test_new_topics_are_read_by_all_members() -> None:
    """New topics are read by all members, with as many streams as they have now."""
    plan = planned(SETTLED, Scale(members=2, topics=("u", "t")), "roundrobin")
    assert sorted(tp for share in plan.readers.values() for tp in share) == [
        *tps(0, 1, 2, 3, 4),
        *tps(0, 1, topic="u"),
    ]
    assert plan.unread == ()
    assert len(plan.readers) == 2
    busy = replace(SETTLED, members=(MemberStatus(member_id="g_a", streams={"t": 3}),))
    assert len(planned(busy, Scale(members=2, topics=("u",))).readers) == 6


def test_a_group_without_members_reads_the_topics_of_its_offsets() -> None:
    """A group without members reads the topics of its offsets, or those that are named."""
    empty = zookeeper_group("", "", members=())
    assert planned(empty, Scale(members=2)).readers == {
        "g_new-001-0": tps(0, 1, 2),
        "g_new-002-0": tps(3, 4),
    }
    nothing = zookeeper_group(members=())
    refused = plan_scaling(nothing, PARTITIONS, Scale(members=2), "range")
    assert isinstance(refused, CannotAssign)
    assert "name the topics" in refused.reason


def test_what_can_not_be_assigned_is_refused() -> None:
    """Missing topics, unknown strategies and round-robin over unequal subscriptions are refused."""
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
def test_a_sticky_assignor_moves_few_partitions(assignor: str) -> None:
    """A sticky assignor moves as few partitions as balance needs, and ignores streams."""
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


def test_the_table_has_a_row_for_each_reader() -> None:
    """The table has a row for each reader, also for those that leave."""
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


def test_the_json_has_the_same_content() -> None:
    """The JSON has the same content, for programs."""
    value = json.loads(share_plan_json("g", planned(SETTLED, Scale(members=1))))
    assert value["leaving"] == ["g_b"]
    assert value["moved"] == [["t", 3], ["t", 4]]
    assert value["readers"][0]["before"] == [["t", 0], ["t", 1], ["t", 2]]
    assert len(value["readers"][0]["partitions"]) == 5


def test_consecutive_partitions_are_printed_as_ranges() -> None:
    """Consecutive partitions are printed as ranges, by topic."""
    assert partitions_text([*tps(5, 3, 1, 2, 9), *tps(0, topic="a")]) == "a:0 t:1-3,5,9"
    assert partitions_text([]) == ""


def test_more_streams_than_can_be_shown_are_refused() -> None:
    """More streams than can be shown are refused, unless their number is given."""
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
