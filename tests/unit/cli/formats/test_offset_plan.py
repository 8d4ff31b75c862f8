"""The table and the JSON of an offset plan, before and after it is carried out."""

import json
from dataclasses import replace
from typing import Any

import pytest

from zkconsumer.cli.formats.offset_plan import OffsetStoreReport, plans_json, plans_text
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.plan import MigrationOutcome, OffsetStorage
from zkconsumer.offsets.planning import GroupAndLogs, LogRange, OffsetPlan, ToOffsets, plan_offsets
from zkconsumer.offsets.store import FetchedOffset

T0, T1, T2 = (TopicPartition("t", number) for number in (0, 1, 10))
GONE = TopicPartition("gone", 0)
PRESENT = GroupAndLogs(
    stored={T0: FetchedOffset(30), T1: FetchedOffset(5), T2: FetchedOffset(None)},
    partitions=[T0, T1, T2],
    logs={T0: LogRange(10, 50), T1: LogRange(0, 5), T2: LogRange(7, 900)},
)
PLAN = plan_offsets(ToOffsets({T0: 11, T1: 5, T2: 8, GONE: 3}), PRESENT)


def plan_text(plan: OffsetPlan, outcome: MigrationOutcome | None = None) -> str:
    """Return the table of a plan for group ``g`` in ZooKeeper."""
    return plans_text(
        [
            OffsetStoreReport(
                group_id="g", storage=OffsetStorage.ZOOKEEPER, plan=plan, outcome=outcome
            )
        ]
    )


def plan_json(plan: OffsetPlan, outcome: MigrationOutcome | None = None) -> dict[str, Any]:
    """Return the parsed JSON of the same plan."""
    report = OffsetStoreReport(
        group_id="g", storage=OffsetStorage.ZOOKEEPER, plan=plan, outcome=outcome
    )
    value: dict[str, Any] = json.loads(plans_json([report]))["groups"][0]
    return value


def test_a_dry_run_shows_offsets_and_lags() -> None:
    """Each partition is shown with its present and new offset and lag."""
    assert plan_text(PLAN) == (
        "PARTITION  LOG START  LOG END  OFFSET  NEW OFFSET  LAG  NEW LAG  RESULT\n"
        "gone-0             -        -       -           3    -        -"
        "  skipped: there is no such partition\n"
        "t-0               10       50      30          11   20       39  to be set\n"
        "t-1                0        5       5           5    0        0  the same\n"
        "t-10               7      900       -           8    -      892  to be set\n"
        "group g in zookeeper: 2 of 4 offsets to be set; nothing was written yet\n"
    )
    value = plan_json(PLAN)
    assert value["status"] == "planned"
    assert value["partitions"][1] == {
        "topic": "t",
        "partition": 0,
        "log_start": 10,
        "log_end": 50,
        "before": 30,
        "wanted": 11,
        "lag_before": 20,
        "lag_wanted": 39,
        "action": "write",
    }


def test_the_table_fits_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is wrapped like any other, without losing a number."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    words = plan_text(PLAN).split()
    monkeypatch.setenv("COLUMNS", "60")
    text = plan_text(PLAN)
    assert max(len(line) for line in text.splitlines()[:-1]) <= 60
    assert set(words) <= set(text.split())


def test_a_refused_plan_names_its_reasons() -> None:
    """Notes and refusals are printed below the table."""
    plan = plan_offsets(ToOffsets({T0: 60}), PRESENT)
    lines = plan_text(plan).splitlines()
    assert lines[1].endswith("kept")
    assert lines[2].startswith("refused: t-0: 60 is not in its log [10, 50)")
    assert (
        lines[3] == "group g in zookeeper: 0 of 1 offsets to be set; refused, nothing was written"
    )
    assert plan_json(plan)["status"] == "refused"
    nothing = plan_offsets(ToOffsets({}), PRESENT)
    assert plan_text(nothing).startswith("refused: ")


def test_an_outcome_shows_what_was_read_back() -> None:
    """Each partition's result is what was read back after the write."""
    found = {T0: FetchedOffset(11), T1: FetchedOffset(5), T2: FetchedOffset(None)}
    outcome = MigrationOutcome(
        plan=PLAN.plan, found=found, errors={T2: "no"}, doubts=("a member came",)
    )
    lines = plan_text(PLAN, outcome).splitlines()
    assert lines[2].endswith("  set")
    assert lines[4].endswith("NOT SET: no; it holds none")
    assert lines[-2:] == [
        "doubtful: a member came",
        "group g in zookeeper: 1 of 2 offsets written, NOT verified",
    ]
    value = plan_json(PLAN, outcome)
    assert value["status"] == "not verified"
    assert [partition.get("now") for partition in value["partitions"]] == [None, 11, 5, None]
    assert [partition["written"] for partition in value["partitions"]] == [
        False,
        True,
        False,
        False,
    ]
    assert value["partitions"][3]["error"] == "no; it holds none"
    sound = MigrationOutcome(plan=PLAN.plan, found=found | {T2: FetchedOffset(8)})
    assert plan_text(PLAN, sound).endswith(
        "group g in zookeeper: 2 of 2 offsets written, verified\n"
    )


def test_several_stores_are_reported_with_their_roll_back() -> None:
    """Each store has a table; after one that could not be verified no other is started."""
    both = [
        OffsetStoreReport(group_id="g", storage=storage, plan=PLAN) for storage in OffsetStorage
    ]
    assert plans_text(both).count("nothing was written yet\n") == 2
    assert json.loads(plans_json(both))["status"] == "planned"
    failed = MigrationOutcome(plan=PLAN.plan, found={})
    begun = [replace(both[0], outcome=failed), both[1]]
    text = plans_text(begun, "back.json")
    assert "group g in zookeeper: 0 of 2 offsets written, NOT verified\n" in text
    assert text.endswith(
        "group g in kafka: 2 of 4 offsets to be set; NOT begun: earlier writes could not "
        "be verified\n--roll-back back.json undoes it\n"
    )
    value = json.loads(plans_json(begun, "back.json"))
    assert (value["status"], value["roll_back_file"]) == ("not verified", "back.json")
    assert [group["status"] for group in value["groups"]] == ["not verified", "not begun"]
    found = {T0: FetchedOffset(11), T1: FetchedOffset(5), T2: FetchedOffset(8)}
    sound = [
        replace(offset_store_report, outcome=MigrationOutcome(plan=PLAN.plan, found=found))
        for offset_store_report in both
    ]
    assert json.loads(plans_json(sound))["status"] == "done"
