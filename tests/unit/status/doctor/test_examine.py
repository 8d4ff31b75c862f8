"""The doctor's round over several groups, and how findings read."""

from dataclasses import replace

from tests.support.sick_world import NOW_MS, SickWorld, codes, healthy
from zkconsumer.model import TopicPartition
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import EVIDENCE_SHOWN, Code, counted, names, some
from zkconsumer.status.doctor.examine import examine, examine_group
from zkconsumer.status.doctor.group_context import GroupContext
from zkconsumer.status.model import GroupKey, GroupKind, PartFailure


def test_the_worst_comes_first_and_the_cluster_leads() -> None:
    """Then groups by name; of one, in the order of the codes."""
    world = healthy()
    world.commit(TopicPartition("gone", 0), 1)
    world.commit(TopicPartition("t", 0), 101)
    world.commit(TopicPartition("t", 0), 101, group_id="a")
    failure = PartFailure(part="p", reason="r", since_ms=NOW_MS)
    snapshot = replace(world.snapshot(), failures=(failure,))
    found = examine(snapshot, Circumstances())
    assert [
        (diagnosis.code.value, diagnosis.group and diagnosis.group.group_id) for diagnosis in found
    ] == [
        ("offset-beyond-end", "a"),
        ("offset-beyond-end", "g"),
        ("not-looked-at", None),
        ("offsets-of-deleted-topics", "g"),
    ]


def test_one_group_alone() -> None:
    """As its page shows it."""
    world = healthy()
    world.commit(TopicPartition("t", 0), 101)
    snapshot = world.snapshot()
    group = snapshot.groups[GroupKey(GroupKind.ZOOKEEPER, "g")]
    look = GroupContext(group, snapshot, Circumstances(), snapshot.partition_ids())
    assert codes(examine_group(look)) == ["offset-beyond-end"]


def test_much_evidence_is_cut_and_counted() -> None:
    """Lists of names, too."""
    lines = [str(number) for number in range(EVIDENCE_SHOWN + 2)]
    assert some(lines[:-1]) == tuple(lines[:-1])
    cut = (*lines[:EVIDENCE_SHOWN], "... and 2 more")
    assert some(lines) == some(cut) == cut
    assert names(["a", "b"], 2) == "a, b"
    assert names(["a", "b", "c"], 2) == "a, b and 1 more"


def test_numbers_agree_with_their_nouns() -> None:
    """One is singular."""
    assert counted(1, "member") == "1 member"
    assert counted(0, "member") == "0 members"


def test_a_cluster_without_anything_is_well() -> None:
    """A new one, with brokers alone."""
    assert SickWorld().findings() == ()


def test_codes_are_words_for_scripts() -> None:
    """Lower case with dashes, each once."""
    values = [code.value for code in Code]
    assert len(set(values)) == len(values)
    assert all(value == value.lower() and " " not in value and "_" not in value for value in values)
