"""The doctor on a real cluster: each sick group is told, repaired, undone, repaired, and well."""

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

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
from tests.support.traffic import write
from tests.support.waiting import wait_until
from zkconsumer.cli.main import main
from zkconsumer.model import TopicPartition
from zkconsumer.zk.paths import GroupPaths

pytestmark = pytest.mark.sandbox

LOOKS = ("--look-apart-ms", "1500", "--commit-interval-ms", "1200")
TOLD = {
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
"""What is wrong with each group; None: with the cluster."""
CLAIMED = GroupPaths("claimed").owner(FULL_PARTITIONS[1])
GHOSTLY = GroupPaths("haunted").member(GHOST)
FOREIGN = GroupPaths("foreign").member(PYKAFKA)
BEHIND = GroupPaths("behind").offset(TopicPartition(SHORT, 0))
LATE = GroupPaths("late").offset(TopicPartition(DROPPED, 0))


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    """Where all of them lie."""
    with opened_ward(tmp_path_factory.mktemp("ward")) as ward:
        yield ward


def call(ward: Ward, *flags: str) -> int:
    """The exit status."""
    return main(["doctor", "--zookeeper", ward.cluster.zookeeper_connect, *flags])


def reported(
    ward: Ward, capsys: pytest.CaptureFixture[str], *groups: str
) -> dict[str | None, set[str]]:
    """What one look finds about these groups."""
    capsys.readouterr()
    call(ward, "--json", "--quick", *(flag for group in groups for flag in ("--group", group)))
    return by_group(capsys.readouterr().out)


def by_group(text: str) -> dict[str | None, set[str]]:
    """The kinds of findings of each group, with what follows from each."""
    found: dict[str | None, set[str]] = defaultdict(set)
    for finding in json.loads(text)["findings"]:
        found[finding["group"]] |= {
            finding["code"],
            *(it["code"] for it in finding["consequences"]),
        }
    return dict(found)


def is_well(found: dict[str | None, set[str]]) -> bool:
    """Whether nothing is said but that nobody is in it any more."""
    return all(codes <= {"group-stopped"} for codes in found.values())


@pytest.fixture(scope="module")
def diagnosis(ward: Ward) -> str:
    """What is said of all of them, before anything is repaired."""
    with redirect_stdout(StringIO()) as message:
        assert call(ward, "--json", *LOOKS) == 3
    return message.getvalue()


def test_each_group_is_told_what_it_has(diagnosis: str) -> None:
    """Nothing else is said of it; the owner that a killed member left is named."""
    assert by_group(diagnosis) == TOLD, diagnosis
    whole = json.loads(diagnosis)
    assert whole["sessions_known"]
    assert whole["looks_apart_ms"] >= 1_500
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


@pytest.mark.usefixtures("diagnosis")
def test_repairs(ward: Ward, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """All that are offered are done, come back, and are done again; then real members read all."""
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
    assert "only its owner can make it again" in capsys.readouterr().err
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
