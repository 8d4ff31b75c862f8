"""Kafka's own tool shows our members: their partitions, offsets and lag."""

import re

import pytest

from tests.interop.coordinated.conftest import GroupOn
from tests.interop.coordinated.group import GROUP_COMMANDS, WITH_TWO_CONSUMERS, CoordinatorGroup
from tests.support.matrix import in_matrix

VERSIONS = ("0.9.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.8.2", "3.9.1")


def describe(group: CoordinatorGroup, topic: str) -> list[dict[str, str]]:
    """Return the rows of ``kafka-consumer-groups --describe``, by column."""
    kafka = group.cluster.kafka
    result = group.cluster.run_scala_tool(
        GROUP_COMMANDS.get(kafka, "kafka.admin.ConsumerGroupCommand"),
        *(["--new-consumer"] if kafka in WITH_TWO_CONSUMERS else []),
        *("--bootstrap-server", group.cluster.bootstrap_servers),
        *("--describe", "--group", group.name),
    )
    assert result.status == 0, result.errors
    # 0.9 separates columns by a comma and blanks, and has blanks in their names.
    lines = [re.sub(r", +", "\t", line.strip()) for line in result.lines if topic in line]
    header = next(line for line in result.lines if "PARTITION" in line)
    names = [
        name.replace(" ", "-") for name in (header.split(", ") if "," in header else header.split())
    ]
    rows = [line.split("\t") if "\t" in line else line.split() for line in lines]
    return [dict(zip(names, row, strict=False)) for row in rows]


@pytest.mark.sandbox
@in_matrix("version", VERSIONS, ["0.9.0.1", "1.1.1", "3.9.1"])
def test_the_versions_own_tool_describes_us(group_on: GroupOn, version: str) -> None:
    """It prints a row for each partition, with committed offset, log end, and member."""
    group = group_on(version)
    topic = group.topic(2)
    both = group.partitions(topic, 2)
    group.ours(topic, client_id="first")
    group.ours(topic, client_id="second")
    group.await_shared(both, 2)
    group.await_all(group.write(both, 7))
    group.await_committed()
    rows = describe(group, topic)
    assert sorted(row["PARTITION"] for row in rows) == ["0", "1"]
    for row in rows:
        assert (row["CURRENT-OFFSET"], row["LOG-END-OFFSET"], row["LAG"]) == ("7", "7", "0")
    # 0.9 has the client id and the host as the owner.
    clients = [row.get("CLIENT-ID") or row["OWNER"].partition("_/")[0] for row in rows]
    assert sorted(clients) == ["first", "second"]
    assert all(row.get("CONSUMER-ID", row.get("OWNER")) not in {"-", None} for row in rows)
