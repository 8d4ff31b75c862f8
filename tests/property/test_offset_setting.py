"""Offsets are set to any aim, with any failure: they are written, refused, or rolled back."""

import contextlib
import io
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.offset_cluster import MemoryCluster
from tests.support.shares import examples
from zkconsumer.cli.main import main
from zkconsumer.cli.offsets import set_, undo
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.plan import OffsetStorage

PARTITIONS = tuple(TopicPartition(topic, n) for topic, n in (("t", 0), ("t", 1), ("u", 0)))
OFFSETS = st.integers(0, 40)
STORED = st.dictionaries(st.sampled_from(PARTITIONS), OFFSETS)
LOGS = st.fixed_dictionaries(
    {tp: st.tuples(OFFSETS, OFFSETS).map(lambda pair: (min(pair), max(pair))) for tp in PARTITIONS}
)
AIMS = st.one_of(
    st.sampled_from(
        [["--to-earliest"], ["--to-latest"], ["--to-current"], ["--to-time", "1500000000000"]]
    ),
    st.integers(-50, 50).map(lambda count: [f"--shift-by={count}"]),
    OFFSETS.map(lambda offset: ["--to-offset", str(offset)]),
)
SCOPES = st.sampled_from([[], ["--topic", "t"], ["--topic", "t:1"], ["--topic", "u"]])
OUTSIDE = st.sampled_from([[], ["--outside", "clamp"], ["--outside", "keep"]])
STORAGES = st.sampled_from(
    [[], *(["--storage", storage] for storage in ("zookeeper", "kafka", "both"))]
)
Held = Mapping[OffsetStorage, Mapping[TopicPartition, int]]


class OffsetSettingWorld:
    """A group with offsets in both storages, and the command."""

    def __init__(self, logs: Mapping[TopicPartition, tuple[int, int]], held: Held) -> None:
        self.cluster = MemoryCluster(logs)
        for place, offsets in held.items():
            self.cluster.hold("g", place, offsets)

    def held(self) -> dict[OffsetStorage, dict[TopicPartition, int]]:
        """Return the group's offsets in each storage."""
        return {place: self.cluster.numbers("g", place) for place in OffsetStorage}

    def run(self, *flags: str) -> tuple[int, dict[str, Any]]:
        """Run the command; return the exit status, and the report if there is one."""
        out = io.StringIO()
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
            for module in (set_, undo):
                patch.setattr(module, "open_offsets", self.cluster.open)
            status = main(["offsets", "set", "--zookeeper", "z", "--yes", "--json", *flags])
        return status, json.loads(out.getvalue() or "{}")


@settings(max_examples=examples(50), deadline=None)
@given(
    logs=LOGS,
    held=st.fixed_dictionaries(dict.fromkeys(OffsetStorage, STORED)),
    flags=st.tuples(AIMS, SCOPES, OUTSIDE, STORAGES).map(
        lambda parts: [flag for part in parts for flag in part]
    ),
    fails=st.dictionaries(st.sampled_from(OffsetStorage), st.integers(0, 2)),
)
def test_offsets_are_set_or_refused_and_can_be_rolled_back(
    logs: dict[TopicPartition, tuple[int, int]],
    held: Held,
    flags: list[str],
    fails: dict[OffsetStorage, int],
) -> None:
    """Whatever fails meanwhile, the report is true, and the file restores every offset."""
    world = OffsetSettingWorld(logs, held)
    before = world.held()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "back.json")
        call = ["--group", "g", *flags, "--roll-back-file", str(file)]
        planned, plan = world.run(*call, "--dry-run")
        assert world.held() == before
        for place, count in fails.items():
            world.cluster.stores["g"][place].fail_after = count
        status, report = world.run(*call)
        after = world.held()
        if planned == 2:
            assert (status, after, file.exists()) == (2, before, False)
            return
        reported = [
            (OffsetStorage(group["storage"]), part)
            for group in report["groups"]
            for part in group["partitions"]
        ]
        for place, part in reported:
            tp = TopicPartition(part["topic"], part["partition"])
            assert part["before"] == before[place].get(tp)
            if part.get("written"):
                assert after[place][tp] == part["wanted"] != part["before"]
            elif "now" in part:
                assert after[place].get(tp) == part["now"]
            else:
                assert after[place].get(tp) == part["before"], "it was not begun"
        touched = {
            (place, TopicPartition(item["topic"], item["partition"])) for place, item in reported
        }
        for place, offsets in after.items():
            untouched = {tp: it for tp, it in offsets.items() if (place, tp) not in touched}
            assert untouched.items() <= before[place].items()
        assert (status == 0) == (report["status"] == "done")
        if status == 0:
            wanted = [[part["wanted"] for part in group["partitions"]] for group in plan["groups"]]
            assert all(numbers == wanted[0] for numbers in wanted), "both places hold the same"
        for place in fails:
            world.cluster.stores["g"][place].fail_after = None
        if file.exists():
            status, report = world.run("--roll-back", str(file))
            assert (status, report["status"]) == (0, "done")
        assert world.held() == before
