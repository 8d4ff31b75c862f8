"""The doctor's examination of several groups, and how findings are worded."""

from dataclasses import replace

from tests.support.diagnosed_cluster import NOW_MS, DiagnosedCluster, codes, healthy
from zkconsumer.model import TopicPartition
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import EVIDENCE_SHOWN, Code, counted, shorten
from zkconsumer.status.doctor.examine import examine, examine_group
from zkconsumer.status.doctor.group_context import GroupContext
from zkconsumer.status.model import GroupKey, GroupKind, PartFailure


def test_the_worst_comes_first_and_the_cluster_leads() -> None:
    """Findings are sorted by severity, the cluster's first, then by group, then by code."""
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


def test_one_group_can_be_examined_alone() -> None:
    """One group can be examined alone, as for its page."""
    world = healthy()
    world.commit(TopicPartition("t", 0), 101)
    snapshot = world.snapshot()
    group = snapshot.groups[GroupKey(GroupKind.ZOOKEEPER, "g")]
    context = GroupContext(group, snapshot, Circumstances(), snapshot.partition_ids())
    assert codes(examine_group(context)) == ["offset-beyond-end"]


def test_long_evidence_is_shortened_and_counted() -> None:
    """Long evidence is shortened, with a count of the rest."""
    lines = [str(number) for number in range(EVIDENCE_SHOWN + 2)]
    assert shorten(lines[:-1]) == tuple(lines[:-1])
    cut = (*lines[:EVIDENCE_SHOWN], "... and 2 more")
    assert shorten(lines) == shorten(cut) == cut


def test_numbers_agree_with_their_nouns() -> None:
    """A count of one has a noun in the singular."""
    assert counted(1, "member") == "1 member"
    assert counted(0, "member") == "0 members"


def test_a_cluster_without_anything_is_well() -> None:
    """A new cluster, with brokers and nothing else, has no findings."""
    assert DiagnosedCluster().findings() == ()


def test_codes_are_words_for_scripts() -> None:
    """Codes are in lower case with dashes, and unique, for use in scripts."""
    values = [code.value for code in Code]
    assert len(set(values)) == len(values)
    assert all(value == value.lower() and " " not in value and "_" not in value for value in values)
