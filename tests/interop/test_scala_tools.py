"""The original's tools check, export and import our members' offsets in ZooKeeper."""

from pathlib import Path

import pytest

from tests.interop.mixed_group import MixedGroup

pytestmark = pytest.mark.sandbox
CHECKER = "kafka.tools.ConsumerOffsetChecker"
ROW = "{:<15} {:<30} {:<3} {:<15} {:<15} {:<15} {}"
HEADER = ROW.format("Group", "Topic", "Pid", "Offset", "logSize", "Lag", "Owner").rstrip()


def checker_rows(group: MixedGroup) -> list[str]:
    """Return the rows that the offset checker prints below its header."""
    zookeeper = group.cluster.zookeeper_connect
    result = group.cluster.run_scala_tool(CHECKER, "--zookeeper", zookeeper, "--group", group.name)
    assert result.status == 0, result.errors
    header, *rows = result.lines
    assert header.rstrip() == HEADER
    return [row.rstrip() for row in rows]


def test_the_offset_checker_shows_owners_and_offsets_of_our_group(group: MixedGroup) -> None:
    """Owners of both kinds, offset, log size and lag of each partition are exact."""
    topic = group.topic(3)
    ours = group.ours({topic: 2}, "a-ours")
    group.await_values(group.write(4, topic), ours)
    scala = group.scala(topic, "b-scala")
    group.await_settled([topic], ["a-ours", "b-scala"])
    group.await_values(group.write(3, topic), ours, scala)
    group.await_committed(topic)
    owners = [f"{ours.consumer_id}-0", f"{ours.consumer_id}-1", f"{scala.consumer_id}-0"]
    assert checker_rows(group) == [
        ROW.format(group.name, topic, number, 7, 7, 0, owner) for number, owner in enumerate(owners)
    ]

    scala.leave()
    ours.leave()
    group.write(2, topic)
    assert checker_rows(group) == [
        ROW.format(group.name, topic, number, 7, 9, 2, "none") for number in range(3)
    ]


def test_exported_offsets_of_our_group_can_be_imported_again(
    group: MixedGroup, tmp_path: Path
) -> None:
    """The file has a line for each node; after the import our next member continues there."""
    topic = group.topic(2)
    first = group.ours({topic: 1})
    before = group.write(5, topic)
    group.await_values(before, first)
    first.leave()
    zookeeper = ("--zkconnect", group.cluster.zookeeper_connect)
    saved = tmp_path / "offsets"
    result = group.cluster.run_scala_tool(
        *("kafka.tools.ExportZkOffsets", *zookeeper),
        *("--group", group.name, "--output-file", str(saved)),
    )
    assert result.status == 0, result.errors
    assert sorted(saved.read_text().splitlines()) == [
        f"/consumers/{group.name}/offsets/{topic}/0:5",
        f"/consumers/{group.name}/offsets/{topic}/1:5",
    ]

    second = group.ours({topic: 1})
    after = group.write(5, topic)
    group.await_values(after, second)
    second.leave()
    assert sorted(second.values) == sorted(after)
    assert group.peek.offsets(topic) == {0: "10", 1: "10"}

    result = group.cluster.run_scala_tool(
        "kafka.tools.ImportZkOffsets", *zookeeper, "--input-file", str(saved)
    )
    assert result.status == 0, result.errors
    assert group.peek.offsets(topic) == {0: "5", 1: "5"}
    third = group.ours({topic: 1})
    group.await_values(after, third)
    third.leave()
    assert sorted(third.values) == sorted(after)
