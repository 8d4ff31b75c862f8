"""The table and the JSON of a plan, before and after."""

import json

from zkconsumer.cli.formats.offset_plan import plan_json, plan_text
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.plan import Outcome
from zkconsumer.offsets.planning import LogRange, Present, ToOffsets, plan_offsets
from zkconsumer.offsets.store import FetchedOffset

T0, T1, T2 = (TopicPartition("t", number) for number in (0, 1, 10))
GONE = TopicPartition("gone", 0)
PRESENT = Present(
    stored={T0: FetchedOffset(30), T1: FetchedOffset(5), T2: FetchedOffset(None)},
    partitions=[T0, T1, T2],
    logs={T0: LogRange(10, 50), T1: LogRange(0, 5), T2: LogRange(7, 900)},
)
PLAN = plan_offsets(ToOffsets({T0: 11, T1: 5, T2: 8, GONE: 3}), PRESENT)


def test_a_dry_run() -> None:
    """What each has and gets, and how much it has to read."""
    assert plan_text("g", PLAN) == (
        "PARTITION  LOG START  LOG END  OFFSET  NEW OFFSET  LAG  NEW LAG  RESULT\n"
        "gone-0             -        -       -           3    -        -"
        "  left out: the cluster has no such partition\n"
        "t-0               10       50      30          11   20       39  to be set\n"
        "t-1                0        5       5           5    0        0  the same\n"
        "t-10               7      900       -           8    -      892  to be set\n"
        "group g: 2 of 4 offsets to be set; nothing was written yet\n"
    )
    value = json.loads(plan_json("g", PLAN))
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
        "fate": "write",
    }


def test_a_refused_one() -> None:
    """Notes and refusals stand below the table."""
    plan = plan_offsets(ToOffsets({T0: 60}), PRESENT)
    lines = plan_text("g", plan).splitlines()
    assert lines[1].endswith("kept")
    assert lines[2].startswith("refused: t-0: 60 is not in its log [10, 50)")
    assert lines[3] == "group g: 0 of 1 offsets to be set; refused, nothing was written"
    assert json.loads(plan_json("g", plan))["status"] == "refused"
    nothing = plan_offsets(ToOffsets({}), PRESENT)
    assert plan_text("g", nothing).startswith("refused: ")


def test_what_came_of_it() -> None:
    """Each partition by what was read back."""
    found = {T0: FetchedOffset(11), T1: FetchedOffset(5), T2: FetchedOffset(None)}
    outcome = Outcome(plan=PLAN.plan, found=found, errors={T2: "no"}, doubts=("a member came",))
    lines = plan_text("g", PLAN, outcome).splitlines()
    assert lines[2].endswith("  set")
    assert lines[4].endswith("NOT SET: no; it holds none")
    assert lines[-2:] == [
        "doubtful: a member came",
        "group g: 1 of 2 offsets written, NOT verified",
    ]
    value = json.loads(plan_json("g", PLAN, outcome))
    assert value["status"] == "not verified"
    assert [one.get("now") for one in value["partitions"]] == [None, 11, 5, None]
    assert [one["written"] for one in value["partitions"]] == [False, True, False, False]
    assert value["partitions"][3]["error"] == "no; it holds none"
    sound = Outcome(plan=PLAN.plan, found=found | {T2: FetchedOffset(8)})
    assert plan_text("g", PLAN, sound).endswith("group g: 2 of 2 offsets written, verified\n")
