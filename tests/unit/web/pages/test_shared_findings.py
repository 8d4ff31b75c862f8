"""A group id that old and new consumers use: one trouble of two groups, said wherever either is."""

from dataclasses import replace

import pytest

from tests.support.sick_world import NOW_MS
from tests.support.troubled_world import group_name, troubled_state
from zkconsumer.notify.troubles import observe
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import Code, Severity
from zkconsumer.status.doctor.examine import examine
from zkconsumer.status.doctor.narrowing import about
from zkconsumer.status.model import GroupKey, GroupKind
from zkconsumer.web.pages.cluster import cluster_page
from zkconsumer.web.pages.group import group_page
from zkconsumer.web.pages.group_rows import group_row, group_rows
from zkconsumer.web.pages.view import PageRequest
from zkconsumer.web.pages.words import Tone
from zkconsumer.web.rendering import render

OLD = GroupKey(GroupKind.ZOOKEEPER, group_name("spare"))
NEW = GroupKey(GroupKind.COORDINATOR, group_name("spare"))
SAID = "it exists both in ZooKeeper and at a coordinator"
REQUEST = PageRequest(path="/", query={"findings": "all"}, now_ms=NOW_MS + 2_000)


@pytest.mark.parametrize("key", [OLD, NEW])
def test_the_page_of_either_group_says_it(key: GroupKey) -> None:
    """Its verdict is no green one, and the finding stands there."""
    state = troubled_state()
    found = [finding.code for finding in state.judgements.findings(key)]
    assert found.count(Code.GROUP_OLD_AND_NEW) == 1
    verdict = group_row(state, key).verdict
    assert verdict.tone is Tone.BAD
    assert SAID in verdict.sentence
    shown = render(group_page(state, REQUEST, key), REQUEST, state)
    assert f'data-code="{Code.GROUP_OLD_AND_NEW}"' in shown


def test_both_rows_of_a_list_say_it() -> None:
    """On the page of all groups, and of a topic."""
    for row in group_rows(troubled_state(), [OLD, NEW]):
        assert SAID in row.verdict.sentence


def test_the_cluster_page_and_the_doctor_list_it_once() -> None:
    """One cause is one finding, under the group of ZooKeeper."""
    state = troubled_state()
    listed = cluster_page(state, REQUEST).context["findings"]
    everything = examine(state.snapshot, Circumstances())
    for findings in (listed, everything):
        assert isinstance(findings, list | tuple)
        assert [it.group for it in findings if it.code is Code.GROUP_OLD_AND_NEW] == [OLD]


@pytest.mark.parametrize("key", [OLD, NEW])
def test_the_doctor_of_either_group_says_it(key: GroupKey) -> None:
    """``doctor --group``, of whichever kind."""
    found = examine(about(troubled_state().snapshot, [key]), Circumstances())
    assert [it.group for it in found if it.code is Code.GROUP_OLD_AND_NEW] == [OLD]


def test_it_is_told_once_and_of_the_group() -> None:
    """Not of the cluster: silencing the group silences it. The other group is not told as well."""
    state = troubled_state()
    told = {it.subject: it.trouble for it in observe(state).conditions}
    trouble = told[OLD]
    assert trouble is not None
    assert (trouble.code, trouble.severity) == (Code.GROUP_OLD_AND_NEW, Severity.ERROR)
    assert [it.code for it in told.values() if it is not None].count(trouble.code) == 1
    (look,) = observe(replace(state, covered=frozenset([OLD]))).conditions
    assert look.trouble == trouble
