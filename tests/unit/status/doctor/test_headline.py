"""Diagnoses in one line: group, state, cause, member; and the command that helps."""

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
    """An error."""
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
    """One, two, many; a member counts once, whatever it owns."""
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


def test_without_a_member_to_name_it_is_the_first_sentence() -> None:
    """Never a sentence without its subject."""
    what = "2 registrations can be read by us; Scala members fail. More."
    assert headline_text(diagnosis(Code.MEMBER_UNREADABLE_BY_SCALA, what=what)) == (
        "settlement: 2 registrations can be read by us"
    )


def test_of_the_cluster_no_group_is_named() -> None:
    """The cause says all, and how many partitions it is about."""
    found = diagnosis(Code.UNDER_REPLICATED, group=None)
    some = frozenset(TopicPartition("t", number) for number in range(2))
    assert headline_text(replace(found, about=some)) == "2 partitions are under-replicated"
    one = frozenset({TopicPartition("t", 0)})
    assert headline_text(replace(found, about=one)) == "1 partition is under-replicated"


def test_what_is_less_severe_is_not_called_stuck() -> None:
    """A group of another kind of clients may be well, and a rebalance may be under way."""
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
def test_every_kind_has_words_of_its_own(code: Code, severity: Severity) -> None:
    """Below its heading stands what was found: that is not said twice."""
    found = replace(diagnosis(code, "host0", what="What was found."), severity=severity)
    assert headline_of(found).cause not in {"", "What was found"}


@given(st.sampled_from(Code), st.lists(st.text(min_size=1), max_size=3), st.text(min_size=1))
def test_every_member_is_named_by_a_sentence(code: Code, members: list[str], what: str) -> None:
    """Whatever the members are called."""
    found = headline_of(diagnosis(code, *members, what=what))
    assert "{who}" not in found.cause.replace("".join(members), "")


def test_made_up_ids_are_shortened() -> None:
    """Of the original, of coordinators; others stay."""
    assert short_name("g_host-1795159360000-d62eecca-3") == "g_host"
    assert short_name("app-0b1c2d3e-1111-2222-3333-0123456789ab") == "app"
    assert short_name("mail:3f0b6f5e-61c5-4a04-9f6c-0f1f4a2f8f55") == "mail"
    assert short_name("worker-1") == "worker-1"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_a_command_can_be_pasted(group_id: str) -> None:
    """Whatever the group is called, it is one word."""
    snapshot = ClusterSnapshot(taken_ms=0, zookeeper_connect="zk1:2181,zk2:2181/kafka")
    key = GroupKey(GroupKind.ZOOKEEPER, group_id)
    command = doctor_command(diagnosis(Code.MEMBER_STALE, group=key), snapshot)
    words = shlex.split(command)
    assert words[:3] == ["zkconsumer", "doctor", "--group"]
    assert words[3:] == [group_id, "--zookeeper", "zk1:2181,zk2:2181/kafka"]


@given(st.text(), st.characters(categories=["Cc"]))
def test_no_control_character_is_ever_pasted(name: str, control: str) -> None:
    """Ctrl-C ends the line, and what follows is a command."""
    key = GroupKey(GroupKind.COORDINATOR, f"{name}{control}rm -rf .")
    snapshot = ClusterSnapshot(taken_ms=0, zookeeper_connect="zk1:2181")
    command = doctor_command(diagnosis(Code.MEMBER_STALE, group=key), snapshot)
    assert command == "zkconsumer doctor --zookeeper zk1:2181"
