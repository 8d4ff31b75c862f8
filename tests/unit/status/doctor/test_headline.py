"""Findings in one line: group, state, cause and member; and the command that helps."""

import shlex
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.model import TopicPartition
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity
from zkconsumer.status.doctor.headline import (
    doctor_command,
    headline_of,
    headline_text,
    short_name,
)
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupKind

GROUP = GroupKey(GroupKind.ZOOKEEPER, "settlement")


def diagnosis(
    code: Code, *culprits: str, what: str = "", group: GroupKey | None = GROUP
) -> Diagnosis:
    """Return an error with this code."""
    return Diagnosis(
        code=code,
        severity=Severity.ERROR,
        what=what,
        evidence=(),
        repair="",
        group=group,
        culprits=culprits,
    )


def test_group_cause_and_member_are_named() -> None:
    """A headline names one or two members, or one and a count; a member's streams count once."""
    ids = [f"settlement_host{number}-1795159360000-0b7c11a{number}" for number in range(3)]
    assert headline_text(diagnosis(Code.MEMBER_STALE, ids[0])) == (
        "settlement is stuck: settlement_host0 is registered but gone"
    )
    assert headline_of(diagnosis(Code.COMMITS_PAUSED, f"{ids[0]}-0", f"{ids[0]}-1")).cause == (
        "settlement_host0 is no longer committing"
    )
    assert headline_of(diagnosis(Code.MEMBER_STALE, *ids[:2])).cause == (
        "settlement_host0 and settlement_host1 are registered but gone"
    )
    assert headline_of(diagnosis(Code.MEMBER_STALE, *ids)).cause == (
        "settlement_host0 and 2 more are registered but gone"
    )


def test_without_a_member_the_headline_is_the_first_sentence() -> None:
    """Without a member the headline is the finding's first sentence."""
    what = "2 registrations can be read by us; Scala members fail. More."
    assert headline_text(diagnosis(Code.MEMBER_UNREADABLE_BY_SCALA, what=what)) == (
        "settlement: 2 registrations can be read by us"
    )


def test_a_headline_about_the_cluster_names_no_group() -> None:
    """A headline about the cluster has the cause and the number of partitions, and no group."""
    found = diagnosis(Code.UNDER_REPLICATED, group=None)
    some = frozenset(TopicPartition("t", number) for number in range(2))
    assert headline_text(replace(found, about=some)) == "2 partitions are under-replicated"
    single = frozenset({TopicPartition("t", 0)})
    assert headline_text(replace(found, about=single)) == "1 partition is under-replicated"


def test_only_errors_say_that_a_group_is_stuck() -> None:
    """Only errors say that a group is stuck: warnings and notes are worded less strongly."""
    member = "settlement_host0-1795159360000-0b7c11a0"
    for code in (Code.MEMBER_UNREADABLE, Code.MEMBER_FOREIGN, Code.MEMBER_UNREADABLE_BY_SCALA):
        assert headline_of(diagnosis(code, member)).state == "can't rebalance"
        assert headline_of(replace(diagnosis(code, member), severity=Severity.WARNING)).state == ""
    missing = diagnosis(Code.OWNER_MISSING)
    assert headline_of(missing).state == "is stuck"
    assert headline_of(replace(missing, severity=Severity.WARNING)).state == "may be stuck"
    assert headline_of(replace(missing, severity=Severity.NOTE)).state == ""


@pytest.mark.parametrize("severity", Severity)
@pytest.mark.parametrize("code", Code)
def test_every_code_has_a_cause_of_its_own(code: Code, severity: Severity) -> None:
    """Each code has a cause of its own, which does not repeat the finding's text."""
    found = replace(diagnosis(code, "host0", what="What was found."), severity=severity)
    assert headline_of(found).cause not in {"", "What was found"}


@given(st.sampled_from(Code), st.lists(st.text(min_size=1), max_size=3), st.text(min_size=1))
def test_every_member_is_named_by_a_sentence(code: Code, members: list[str], what: str) -> None:
    """Each member's name is put into the sentence, whatever it is."""
    found = headline_of(diagnosis(code, *members, what=what))
    assert "{who}" not in found.cause.replace("".join(members), "")


def test_generated_ids_are_shortened() -> None:
    """Generated ids of the original and of coordinators are shortened, and others are not."""
    assert short_name("g_host-1795159360000-d62eecca-3") == "g_host"
    assert short_name("app-0b1c2d3e-1111-2222-3333-0123456789ab") == "app"
    assert short_name("mail:3f0b6f5e-61c5-4a04-9f6c-0f1f4a2f8f55") == "mail"
    assert short_name("worker-1") == "worker-1"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_a_command_can_be_pasted(group_id: str) -> None:
    """A command can be pasted: the group is one word of it, whatever its name."""
    snapshot = ClusterSnapshot(taken_ms=0, zookeeper_connect="zk1:2181,zk2:2181/kafka")
    key = GroupKey(GroupKind.ZOOKEEPER, group_id)
    command = doctor_command(diagnosis(Code.MEMBER_STALE, group=key), snapshot)
    arguments = shlex.split(command)
    assert arguments[:3] == ["zkconsumer", "doctor", "--group"]
    assert arguments[3:] == [group_id, "--zookeeper", "zk1:2181,zk2:2181/kafka"]


@given(st.text(), st.characters(categories=["Cc"]))
def test_no_control_character_is_ever_pasted(name: str, control: str) -> None:
    """A name with a control character is left out of commands: Ctrl-C would end the line."""
    key = GroupKey(GroupKind.COORDINATOR, f"{name}{control}rm -rf .")
    snapshot = ClusterSnapshot(taken_ms=0, zookeeper_connect="zk1:2181")
    command = doctor_command(diagnosis(Code.MEMBER_STALE, group=key), snapshot)
    assert command == "zkconsumer doctor --zookeeper zk1:2181"
