"""The doctor on a real cluster: each sick group is diagnosed, fixed, undone and fixed again."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.integration.status.ward import (
    DROPPED,
    FULL_PARTITIONS,
    GHOST,
    PYKAFKA,
    RECORDS,
    SHORT,
    Ward,
    opened_ward,
)
from tests.support.browser import accessibility_violations, chromium, dark_scheme, window
from tests.support.served_page import served, until_read
from tests.support.traffic import write
from tests.support.waiting import wait_until
from zkconsumer.cli.main import main
from zkconsumer.model import TopicPartition
from zkconsumer.zk.paths import GroupPaths

pytestmark = pytest.mark.sandbox

SNAPSHOT_FLAGS = ("--snapshot-interval-ms", "1500", "--commit-interval-ms", "1200")
EXPECTED = {
    None: {"leader-missing"},
    "killed": {"commits-paused"},
    "haunted": {"member-stale", "owner-missing"},
    "claimed": {"owner-persistent", "commits-paused"},
    "taken": {"owner-no-member"},
    "foreign": {"member-foreign", "owner-missing", "member-idle"},
    "garbled": {"member-unreadable"},
    "ahead": {"member-time-far-off"},
    "unequal": {"subscriptions-unequal", "owner-missing", "member-idle"},
    "spare": {"too-few-partitions"},
    "astray": {"subscribed-topic-missing"},
    "wild": {"member-not-understood"},
    "beyond": {"offset-beyond-end"},
    "numberless": {"partition-problem"},
    "late": {"offsets-of-deleted-topics"},
    "split": {"offsets-split"},
}
"""The findings about each group; None: about the cluster."""
TIME_DEPENDENT = {"commits-paused", "member-idle", "group-stopped"}
"""Findings that depend on the interval of snapshots, which differs between page and doctor."""
HAUNTED_PAGE = "/groups/zookeeper/haunted"
CLAIMED = GroupPaths("claimed").owner(FULL_PARTITIONS[1])
GHOSTLY = GroupPaths("haunted").member(GHOST)
FOREIGN = GroupPaths("foreign").member(PYKAFKA)
BEHIND = GroupPaths("behind").offset(TopicPartition(SHORT, 0))
LATE = GroupPaths("late").offset(TopicPartition(DROPPED, 0))


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    """Open the cluster with all sick groups."""
    with opened_ward(tmp_path_factory.mktemp("ward")) as ward:
        yield ward


def call(ward: Ward, *flags: str) -> int:
    """Run the doctor; return the exit status."""
    return main(["doctor", "--zookeeper", ward.cluster.zookeeper_connect, *flags])


def reported(
    ward: Ward, capsys: pytest.CaptureFixture[str], *groups: str
) -> dict[str | None, set[str]]:
    """Return the findings of one snapshot about these groups."""
    capsys.readouterr()
    call(ward, "--json", "--quick", *(flag for group in groups for flag in ("--group", group)))
    return by_group(capsys.readouterr().out)


def by_group(text: str) -> dict[str | None, set[str]]:
    """Return the codes of the findings about each group, with their consequences."""
    found: dict[str | None, set[str]] = defaultdict(set)
    for finding in json.loads(text)["findings"]:
        found[finding["group"]] |= {
            finding["code"],
            *(consequence["code"] for consequence in finding["consequences"]),
        }
    return dict(found)


def is_well(found: dict[str | None, set[str]]) -> bool:
    """Return whether there are no findings, except that a group has no members any more."""
    return all(codes <= {"group-stopped"} for codes in found.values())


@pytest.fixture(scope="module")
def diagnosis(ward: Ward) -> str:
    """Return the doctor's output about all groups, before anything is fixed."""
    with redirect_stdout(StringIO()) as message:
        assert call(ward, "--json", *SNAPSHOT_FLAGS) == 3
    return message.getvalue()


def test_each_group_has_its_finding(diagnosis: str) -> None:
    """There are no others; the finding names the owner that a killed member left behind."""
    assert by_group(diagnosis) == EXPECTED, diagnosis
    whole = json.loads(diagnosis)
    assert whole["sessions_known"]
    assert whole["snapshot_interval_ms"] >= 1_500
    findings: dict[str, Any] = {finding["code"]: finding for finding in whole["findings"]}
    causes = {finding["group"]: finding for finding in whole["findings"] if finding["consequences"]}
    assert {group: cause["code"] for group, cause in causes.items()} == {
        "haunted": "member-stale",
        "claimed": "owner-persistent",
        "foreign": "member-foreign",
        "unequal": "member-idle",
    }
    assert "owner killed_member-0" in findings["commits-paused"]["evidence"][0]
    assert "replicas 1 (is gone" in findings["leader-missing"]["evidence"][0]


def on_page(page: Page) -> dict[str | None, set[str]]:
    """Return the codes of the findings that are shown, by group, with their consequences."""
    shown: list[tuple[str, str, list[str]]] = page.locator("article.finding").evaluate_all(
        """found => found.map(it => [it.dataset.group, it.dataset.code,
            [...it.querySelectorAll(".consequences > li")].map(li => li.dataset.code)])"""
    )
    return timeless((group or None, {code, *follows}) for group, code, follows in shown)


def timeless(found: Iterable[tuple[str | None, set[str]]]) -> dict[str | None, set[str]]:
    """Return these codes by group, without the time-dependent ones."""
    kinds: dict[str | None, set[str]] = defaultdict(set)
    for group, codes in found:
        if codes - TIME_DEPENDENT:
            kinds[group] |= codes - TIME_DEPENDENT
    return dict(kinds)


def for_the_page(diagnosis: str) -> dict[str | None, set[str]]:
    """Return the doctor's findings without its notes, which are on the groups' own pages."""
    findings = json.loads(diagnosis)["findings"]
    return timeless(
        (finding["group"], {shown["code"] for shown in (finding, *finding["consequences"])})
        for finding in findings
        if finding["severity"] != "note"
    )


@dataclass(frozen=True, kw_only=True)
class PageView:
    """What a browser with a certain width shows of the sick cluster."""

    findings: dict[str | None, set[str]]
    too_wide: list[str]
    accessibility_violations: list[str]
    verdict: str
    verdict_of_group: str
    command: str
    is_clean: bool


@pytest.fixture(scope="module")
def views(
    ward: Ward, diagnosis: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[int, PageView]:
    """Return the page before anything is fixed, by width."""
    log = tmp_path_factory.mktemp("page") / "log"
    with (
        served(ward.cluster.zookeeper_connect, log, "--interval-ms", "1000") as server,
        chromium() as browser,
    ):
        until_read(server)
        wanted = for_the_page(diagnosis)
        return {width: view_at(browser, server.address, width, wanted) for width in (1440, 390)}


def view_at(
    browser: Browser, address: str, width: int, wanted: dict[str | None, set[str]]
) -> PageView:
    """Wait for these findings, if they come, then check every view in both colour schemes."""
    with window(browser, address, viewport={"width": width, "height": 900}) as opened:
        with suppress(AssertionError):
            wait_until(
                lambda: on_page(opened.open("/?findings=all")) == wanted,
                what="the page to show what the doctor says",
            )
        findings = on_page(opened.open("/?findings=all"))
        too_wide: list[str] = []
        found: list[str] = []
        for path in ("/?findings=all", "/groups", HAUNTED_PAGE, "/topics"):
            page = opened.open(path)
            if page.evaluate("document.documentElement.scrollWidth") > width:
                too_wide.append(path)
            found += accessibility_violations(page)
            with dark_scheme(page):
                found += accessibility_violations(page, "dark")
        verdict = opened.open("/").locator("#verdict").inner_text()
        page = opened.open(HAUNTED_PAGE)
        return PageView(
            findings=findings,
            too_wide=too_wide,
            accessibility_violations=found,
            verdict=verdict,
            verdict_of_group=page.locator("#verdict").inner_text(),
            command=page.locator("article.finding code.command").first.inner_text(),
            is_clean=opened.assert_clean(),
        )


@pytest.mark.parametrize("width", [1440, 390])
def test_the_page_shows_what_the_doctor_says(
    ward: Ward, diagnosis: str, views: dict[int, PageView], width: int
) -> None:
    """In Chromium and both colour schemes: the same findings, with commands, none off-screen.

    The headline names the worst problem; that of a stuck group names its member.
    """
    shown = views[width]
    assert shown.findings == for_the_page(diagnosis)
    assert shown.too_wide == []
    assert shown.accessibility_violations == []
    assert "2 partitions are offline" in shown.verdict
    assert " is stuck: " in shown.verdict_of_group
    assert GHOST in shown.verdict_of_group
    assert "zkconsumer doctor --fix --group haunted" in shown.command
    assert ward.cluster.zookeeper_connect in shown.command
    assert shown.is_clean


@pytest.mark.usefixtures("diagnosis", "views")
def test_repairs(ward: Ward, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """All offered fixes are made, undone, and made again; then real members read everything."""
    ward.cluster.start_broker(1)
    wait_until(
        lambda: (
            reported(ward, capsys, "behind") == {"behind": {"offset-below-log", "group-stopped"}}
        ),
        what="the log that was cut",
    )
    sick = {path: ward.node(path) for path in (CLAIMED, GHOSTLY, FOREIGN, BEHIND, LATE)}
    assert None not in sick.values()
    undo = str(tmp_path / "undo.json")
    assert call(ward, "--quick", "--fix", "--yes", "--undo-file", undo) == 3
    assert [ward.node(path) for path in (CLAIMED, GHOSTLY, FOREIGN, LATE)] == [None] * 4
    repaired = ward.node(BEHIND)
    assert repaired is not None
    assert int(repaired) > 3
    assert call(ward, "--undo", undo, "--yes") == 1
    assert "only its owner can create it again" in capsys.readouterr().err
    back = {**sick, FOREIGN: None}
    assert {path: ward.node(path) for path in sick} == back
    assert call(ward, "--quick", "--fix", "--yes", "--undo-file", f"{undo}.2") == 3
    whole = ward.scala("claimed", "--max-messages", str(2 * RECORDS))
    assert whole.wait(30_000).lines == ["value"] * 2 * RECORDS
    stuck = ward.tools["foreign"]
    for tp in FULL_PARTITIONS:
        write(ward.cluster, tp, [b"read again"])
    wait_until(lambda: stuck.lines.count("read again") == 2, what="the original to read again")
    for group in ("claimed", "foreign", "haunted"):
        wait_until(
            lambda group=group: is_well(reported(ward, capsys, group)),  # type: ignore[misc]
            what=f"{group} to be well",
        )
    assert is_well(reported(ward, capsys, "late"))
    member = ward.join("behind", SHORT)
    wait_until(lambda: member.delivered, what="a record of the log that was cut")
    assert member.delivered[0].offset == int(repaired)
