"""Our tools' output equals the original's, byte for byte.

``python -m tests.golden.capture_scala_tools`` captures it again.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import pytest

from tests.golden.scala_tool_scenes import BROKEN_IMPORT, IMPORTED, LONG_GROUP, LONG_OFFSETS, TOPICS
from tests.golden.scala_tool_world import CapturedRuns, group_of, read_captured_runs, snapshot
from tests.interop.traffic import value_of
from zkconsumer.cli.formats import group_command, performance, scala_lines, topic_command
from zkconsumer.cli.formats.group_command import Deletion, describe_group_text
from zkconsumer.cli.formats.offset_checker import checker_text, no_group_text
from zkconsumer.cli.formats.performance import PerfCount, PerfStyle
from zkconsumer.cli.formats.topic_command import DescriptionFilter, describe_text, topic_list_text
from zkconsumer.cli.formats.zk_offsets import export_text, read_as_original
from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.status.model import ClusterSnapshot, TopicStatus

FETCH_SIZE = 1024 * 1024


@pytest.fixture(scope="module")
def responses() -> CapturedRuns:
    """Return the captured runs of the original's tools."""
    return read_captured_runs()


@pytest.fixture(scope="module")
def cluster(responses: CapturedRuns) -> ClusterSnapshot:
    """Return the cluster while both brokers ran."""
    return snapshot(responses.golden["brokers"])


@pytest.fixture(scope="module")
def halved(responses: CapturedRuns) -> ClusterSnapshot:
    """Return the cluster without broker 1."""
    return snapshot(responses.golden["brokers"], broker_1_down=True)


def without_internal(text: str) -> str:
    """Return the lines that are not about the brokers' internal topic, which no fact describes."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if "__consumer_offsets" not in line)


def test_the_offset_checkers_table(responses: CapturedRuns, cluster: ClusterSnapshot) -> None:
    """It agrees for missing and impossible offsets, missing owners, wide names and no topics."""
    g1 = group_of(cluster, "g1")
    assert checker_text(cluster, g1) == responses.output("checker")
    assert checker_text(cluster, g1, broker_info=True) == responses.output("checker, brokers")
    wide = group_of(cluster, LONG_GROUP)
    assert checker_text(cluster, wide) == responses.output("checker, wide")
    empty = group_of(cluster, "without-topics")
    assert checker_text(cluster, empty) == responses.output("checker, no topics")
    assert no_group_text("no-such-group") == responses.output("checker, no group")


def test_the_offset_checker_with_a_broker_down(
    responses: CapturedRuns, halved: ClusterSnapshot
) -> None:
    """A partition without a leader has a line of another kind."""
    group = group_of(halved, "half-dead")
    assert checker_text(halved, group, broker_info=True) == responses.output("checker, down")


def test_rows_where_the_original_stops(responses: CapturedRuns, cluster: ClusterSnapshot) -> None:
    """The output ends at an invalid number, and at a topic without offsets."""
    assert responses.output("checker, garbage").startswith("Exiting due to: For input string")
    rows = checker_text(cluster, group_of(cluster, "garbage")).splitlines()
    assert rows[1].split() == ["garbage", "orders", "0", "unknown", "7", "unknown", "x"]
    assert responses.output("checker, a topic without offsets").startswith("Exiting due to: ")
    rows = checker_text(cluster, group_of(cluster, "g1"), topics=["single"]).splitlines()
    assert rows[1].split() == ["g1", "single", "0", "-1", "0", "unknown", "none"]


def test_exported_files(responses: CapturedRuns) -> None:
    """The file has one line per node, group by group."""
    orders = [TopicPartition("orders", number) for number in range(3)]
    one = {orders[0]: 3, orders[2]: 2}
    assert export_text({"g1": one}) == responses.golden["files"]["one"]
    long = next(name for name in TOPICS if len(name) > 30)
    healthy = export_text({"healthy": dict.fromkeys(orders, 0)})
    offsets = {TopicPartition(long, number): offset for number, offset in LONG_OFFSETS.items()}
    # The original's groups are in ZooKeeper's order.
    assert healthy + export_text({LONG_GROUP: offsets}) == responses.golden["files"]["two"]


def test_imported_files(responses: CapturedRuns) -> None:
    """All sorts of lines are written as by the original, which fails on one without a colon."""
    written = {
        path: text
        for path, text in responses.golden["nodes"].items()
        if path.startswith("/consumers/imported/offsets/orders/") or path == "/anywhere/else"
    }
    assert read_as_original(IMPORTED, "file") == written
    assert responses.of("import, broken")["status"] == 1
    assert not any(path.startswith("/consumers/broken") for path in responses.golden["nodes"])
    with pytest.raises(ConfigError, match="file:2: 'without a colon'"):
        read_as_original(BROKEN_IMPORT, "file")


def test_updated_offsets(responses: CapturedRuns) -> None:
    """There is one line per partition and a total, and nothing for a missing topic."""
    assert scala_lines.updated_text({2: 0, 1: 0, 0: 0}) == responses.output("update earliest")
    assert scala_lines.updated_text({0: 7, 1: 5, 2: 0}) == responses.output("update latest")
    assert scala_lines.updated_text({}) == responses.output("update, no topic")
    assert responses.output("update, usage") == scala_lines.UPDATE_USAGE


def test_verified_rebalances(responses: CapturedRuns) -> None:
    """The messages agree, though the original has them swapped."""
    assert scala_lines.verified_text(every_partition_owned=False) == responses.output("verify")
    right = scala_lines.verified_text(every_partition_owned=True)
    assert right == responses.output("verify, no members")


def test_offsets_of_the_shell(responses: CapturedRuns) -> None:
    """It agrees for some or no offsets, and for partitions missing or without a leader."""

    def printed(run: str) -> tuple[str, str]:
        return responses.output(run), responses.of(run)["errors"]

    latest = {0: [7], 1: [5], 2: [0]}

    def text(
        topic: str, offsets: Mapping[int, list[int] | None], requested: Sequence[int] | None = None
    ) -> tuple[str, str]:
        return scala_lines.offset_shell_text(topic, offsets, requested or list(offsets))

    assert text("orders", latest) == printed("latest")
    assert text("orders", {0: [0], 1: [0], 2: [0]}) == printed("earliest")
    assert text("orders", latest, [2, 0, 9]) == printed("some partitions")
    assert text("segments", {0: [4, 2, 0]}) == printed("several offsets")
    assert text("orders", {0: [], 1: [], 2: []}) == printed("before all")
    assert text("no-such-topic", {}) == printed("no topic")
    assert text("single", {0: None, 1: [0]}) == printed("down")


def test_listed_and_described_topics(responses: CapturedRuns, cluster: ClusterSnapshot) -> None:
    """Settings are in the order of Java's table, small or large, and options select topics."""
    alive = {0, 1}
    assert topic_list_text(cluster.topics) == responses.output("topics")
    assert describe_text(cluster.topics, live_brokers=alive) == responses.output("describe")
    orders = [topic for topic in cluster.topics if topic.name == "orders"]
    assert describe_text(orders, live_brokers=alive) == responses.output("describe one")
    assert describe_text([], live_brokers=alive) == responses.output("describe none")
    changed = describe_text(cluster.topics, live_brokers=alive, only=DescriptionFilter.OVERRIDDEN)
    assert changed == responses.output("describe overridden")
    under = describe_text(
        cluster.topics, live_brokers=alive, only=DescriptionFilter.UNDER_REPLICATED
    )
    assert under == responses.output("describe under-replicated, none")


def test_described_topics_with_a_broker_down(
    responses: CapturedRuns, halved: ClusterSnapshot
) -> None:
    """It agrees for topics under-replicated, without a leader, and marked for deletion."""

    def reported(
        *topics: TopicStatus, only: DescriptionFilter = DescriptionFilter.EVERYTHING
    ) -> str:
        return topic_command.describe_text(topics, live_brokers={0}, only=only)

    under = without_internal(responses.output("describe under-replicated"))
    assert reported(*halved.topics, only=DescriptionFilter.UNDER_REPLICATED) == under
    unavailable = without_internal(responses.output("describe unavailable"))
    assert reported(*halved.topics, only=DescriptionFilter.UNAVAILABLE) == unavailable
    two = [topic for topic in halved.topics if topic.name in {"orders", "single"}]
    assert reported(*two) == responses.output("describe, down")
    assert topic_list_text(halved.topics) == without_internal(responses.output("topics, down"))


def test_the_later_group_command(
    responses: CapturedRuns, cluster: ClusterSnapshot, halved: ClusterSnapshot
) -> None:
    """It agrees for groups in ZooKeeper that are listed, described and deleted."""

    def described(of: ClusterSnapshot, group_id: str) -> str:
        group = group_of(of, group_id)
        topics = dict.fromkeys(partition.topic_partition.topic for partition in group.partitions)
        return describe_group_text(of, group, group_id, list(topics))

    assert described(cluster, "g1") == responses.output("group")
    assert described(cluster, "healthy") == responses.output("group, healthy")
    assert described(halved, "half-dead") == responses.output("group, down")
    none = describe_group_text(cluster, None, "no-such-group")
    assert none == responses.output("group, none")
    listed = responses.output("groups")
    assert group_command.group_list_text(listed.split()) == listed
    fates = {"deleted": Deletion.DONE, "healthy": Deletion.ACTIVE, "no": Deletion.NO_GROUP}
    lines = [group_command.deletion_text(group_id, fate) for group_id, fate in fates.items()]
    assert "".join(lines) == responses.output("delete")
    of_topic = {
        "deleted-topic": Deletion.DONE,
        "healthy": Deletion.ACTIVE,
        "no": Deletion.NO_GROUP,
    }
    lines = [
        group_command.deletion_text(group_id, fate, "orders") for group_id, fate in of_topic.items()
    ]
    assert "".join(lines) == responses.output("delete topic")
    of_all = group_command.all_topic_deletion_text("segments")
    assert of_all == responses.output("delete topic of all")


def read_bytes(count: int) -> int:
    """Return the size of the first messages of the topic that is read."""
    tp = TopicPartition("perf", 0)
    return sum(len(value_of(tp, number)) for number in range(count))


def time_of(text: str, pattern: str) -> int:
    """Return the milliseconds since the epoch of a time in UTC."""
    stamp, _, ms = text.replace(".", ":").rpartition(":")
    at = datetime.strptime(f"{stamp} +0000", f"{pattern} %z")
    return int(at.timestamp()) * 1000 + int(ms)


@pytest.mark.parametrize("run", ["perf", "perf, other date"])
def test_the_row_of_a_measurement(responses: CapturedRuns, run: str) -> None:
    """All seven numbers follow from times, bytes and messages."""
    plain = run == "perf"
    lines = responses.output(run).splitlines()
    if plain:
        assert lines.pop(0) == performance.HEADER
    count = 6000 if plain else 400
    style = (
        PerfStyle(fetch_size=FETCH_SIZE)
        if plain
        else PerfStyle(fetch_size=2_000_000, date_format="dd/MM/yy 'at' H:mm:ss.SSS")
    )
    pattern = "%Y-%m-%d %H:%M:%S" if plain else "%d/%m/%y at %H:%M:%S"
    start, end = (time_of(cell, pattern) for cell in lines[0].split(", ")[:2])
    row = style.row(
        start,
        end,
        elapsed_ms=end - start - 5000,
        byte_count=read_bytes(count),
        message_count=count,
    )
    assert [row] == lines


def test_the_rows_of_a_detailed_measurement(responses: CapturedRuns) -> None:
    """Each row counts from the previous one, the last from the start of its interval."""
    header, *lines = responses.output("perf, detailed").splitlines()
    assert header == performance.DETAILED_HEADER
    style = PerfStyle(fetch_size=FETCH_SIZE)
    for line, (before, count) in zip(lines, [(0, 2000), (2000, 4000), (4000, 6000)], strict=False):
        end = time_of(line.split(", ")[0], "%Y-%m-%d %H:%M:%S")
        since = PerfCount(byte_count=read_bytes(before), message_count=before)
        until = PerfCount(byte_count=read_bytes(count), message_count=count)
        # The start of an interval is not printed; one number of milliseconds must fit all cells.
        rows = {
            style.detailed_row(end, 0, since=since, until=until, elapsed_ms=elapsed_ms)
            for elapsed_ms in range(1, 2000)
        }
        assert line in rows
    assert len(lines) == 4
