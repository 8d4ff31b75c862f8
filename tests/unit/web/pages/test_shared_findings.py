"""A group id that old and new consumers share: one finding about two groups, shown at both."""

from dataclasses import replace

import pytest

from tests.support.cluster_with_problems import group_name, state_with_problems
from tests.support.diagnosed_cluster import NOW_MS
from zkconsumer.notify.troubles import observe
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import Code, Severity
from zkconsumer.status.doctor.examine import examine
from zkconsumer.status.doctor.narrowing import restrict_to
from zkconsumer.status.model import GroupKey, GroupKind
from zkconsumer.web.pages.cluster import cluster_page
from zkconsumer.web.pages.formatting import Tone
from zkconsumer.web.pages.group import group_page
from zkconsumer.web.pages.group_rows import group_row, group_rows
from zkconsumer.web.pages.view import PageRequest
from zkconsumer.web.rendering import render

OLD = GroupKey(GroupKind.ZOOKEEPER, group_name("spare"))
NEW = GroupKey(GroupKind.COORDINATOR, group_name("spare"))
FINDING_TEXT = "it exists both in ZooKeeper and at a coordinator"
REQUEST = PageRequest(path="/", query={"findings": "all"}, now_ms=NOW_MS + 2_000)


@pytest.mark.parametrize("key", [OLD, NEW])
def test_the_page_of_either_group_shows_it(key: GroupKey) -> None:
    """The page of either group has the finding, and its verdict is not green."""
    state = state_with_problems()
    found = [finding.code for finding in state.judgements.findings(key)]
    assert found.count(Code.GROUP_OLD_AND_NEW) == 1
    verdict = group_row(state, key).verdict
    assert verdict.tone is Tone.BAD
    assert FINDING_TEXT in verdict.sentence
    shown = render(group_page(state, REQUEST, key), REQUEST, state)
    assert f'data-code="{Code.GROUP_OLD_AND_NEW}"' in shown


def test_both_rows_of_a_list_show_it() -> None:
    """The rows of both groups have it, in the list of groups and on a topic's page."""
    for row in group_rows(state_with_problems(), [OLD, NEW]):
        assert FINDING_TEXT in row.verdict.sentence


def test_the_cluster_page_and_the_doctor_list_it_once() -> None:
    """The cluster page and the doctor list it once, under the group in ZooKeeper."""
    state = state_with_problems()
    listed = cluster_page(state, REQUEST).context["findings"]
    everything = examine(state.snapshot, Circumstances())
    for findings in (listed, everything):
        assert isinstance(findings, list | tuple)
        assert [
            diagnosis.group for diagnosis in findings if diagnosis.code is Code.GROUP_OLD_AND_NEW
        ] == [OLD]


@pytest.mark.parametrize("key", [OLD, NEW])
def test_the_doctor_lists_it_for_either_group(key: GroupKey) -> None:
    """``doctor --group`` lists it for either kind of group."""
    found = examine(restrict_to(state_with_problems().snapshot, [key]), Circumstances())
    assert [diagnosis.group for diagnosis in found if diagnosis.code is Code.GROUP_OLD_AND_NEW] == [
        OLD
    ]


def test_it_is_reported_once_for_the_group() -> None:
    """Notifications report it once, for the group: silencing the group silences it."""
    state = state_with_problems()
    troubles = {condition.subject: condition.trouble for condition in observe(state).conditions}
    trouble = troubles[OLD]
    assert trouble is not None
    assert (trouble.code, trouble.severity) == (Code.GROUP_OLD_AND_NEW, Severity.ERROR)
    assert [found.code for found in troubles.values() if found is not None].count(trouble.code) == 1
    (condition,) = observe(replace(state, covered=frozenset([OLD]))).conditions
    assert condition.trouble == trouble
