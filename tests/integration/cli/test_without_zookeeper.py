"""The monitoring tools on real clusters that are reached through their brokers alone."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.bootstrap_only import (
    commit_offsets,
    described_by_kafka,
    described_by_lag,
    reading,
    write_records,
)
from tests.support.clusters import BrokerOf, fresh_name
from tests.support.kraft_topics import create_topic
from tests.support.served_page import served, until_read
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree, offset_path
from zkconsumer.cli.main import main
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox.kraft import KraftNode
from zkconsumer.sandbox.versions import kafka_version

pytestmark = [pytest.mark.sandbox, pytest.mark.long]

_GROUPS_TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


class Watched(NamedTuple):
    """A cluster without a ZooKeeper, and its groups.

    Attributes:
        node: the cluster.
        topic: with 30 records in partition 0, none in 1, 12 in 2.
        live: a group with a member that has read 20 records.
        left: a group without members, whose only offset is within the log.
        astray: a group without members, whose offset is beyond the end.
    """

    node: KraftNode
    topic: str
    live: str
    left: str
    astray: str

    @property
    def where(self) -> tuple[str, str]:
        """The flags with its address."""
        return "--bootstrap-server", self.node.bootstrap_servers


@pytest.fixture(scope="module")
def watched(kraft: KraftNode) -> Iterator[Watched]:
    """Create groups in each state on Kafka 4."""
    watched = Watched(kraft, *map(fresh_name, ("alone", "live", "left", "astray")))
    create_topic(kraft, watched.topic, partitions=3)
    write_records(kraft, watched.topic, (30, 0, 12))
    commit_offsets(kraft, watched.left, {TopicPartition(watched.topic, 2): 5})
    commit_offsets(kraft, watched.astray, {TopicPartition(watched.topic, 0): 31})
    with reading(kraft, watched.topic, watched.live, 20):
        yield watched


class CommandRunner:
    """Runs our commands on a cluster."""

    def __init__(self, watched: Watched, capsys: pytest.CaptureFixture[str]) -> None:
        self._where = watched.where
        self._capsys = capsys
        self.err = ""

    def __call__(self, *words: str) -> tuple[int, str]:
        """Return the exit status and standard output; ``err`` has standard error."""
        status = main([*words, *self._where])
        printed = self._capsys.readouterr()
        self.err = printed.err
        return status, printed.out

    def json(self, *words: str) -> tuple[int, Any]:
        """Return the exit status and the parsed JSON."""
        status, printed = self(*words, "--format", "json")
        return status, json.loads(printed)


@pytest.fixture
def tool(watched: Watched, capsys: pytest.CaptureFixture[str]) -> CommandRunner:
    """Give a runner of commands on the watched cluster."""
    return CommandRunner(watched, capsys)


def test_lag_agrees_with_kafkas_own_tool(watched: Watched, tool: CommandRunner) -> None:
    """Offsets, ends, lags and owners of every group are equal, partition by partition.

    For an offset beyond the end their lag is negative; ours is 0, with a line that says so.
    """
    for group in (watched.live, watched.left, watched.astray):
        requested = (*watched.where, "--describe", "--group", group)
        theirs = described_by_kafka(watched.node.run_tool(_GROUPS_TOOL, *requested))
        status, printed = tool("lag", "--group", group, "--no-seconds")
        assert (status, tool.err) == (0, "")
        ours = described_by_lag(printed, group)
        assert theirs
        assert ours == {
            partition: lag._replace(lag=None if lag.lag is None else max(0, lag.lag))
            for partition, lag in theirs.items()
        }
    assert tool("lag", "--group", watched.left, "--max-lag", "6")[0] == 3
    assert tool("lag", "--group", watched.left, "--max-lag", "7")[0] == 0


def test_the_other_tools_show_the_same_cluster(watched: Watched, tool: CommandRunner) -> None:
    """Groups, owners, topics and offsets are shown, without complaints of a missing ZooKeeper."""
    status, reported = tool.json("groups", "list")
    assert (status, tool.err) == (0, "")
    states = {group["group"]: (group["kind"], group["state"]) for group in reported["groups"]}
    assert states[watched.live] == ("coordinator", "stable")
    assert states[watched.left] == ("coordinator", "empty")
    status, reported = tool.json("groups", "describe", "--group", watched.live)
    assert (status, len(reported["groups"][0]["members"])) == (0, 1)
    status, reported = tool.json("verify", "--group", watched.live)
    assert (status, reported["groups"][0]["well"], reported["groups"][0]["partitions_checked"]) == (
        *(0, True),
        3,
    )
    status, reported = tool.json("topics", "describe", "--topic", watched.topic)
    [topic] = reported["topics"]
    assert (status, topic["config"], topic["deleting"]) == (0, None, None)
    assert [partition["leader"] for partition in topic["partitions"]] == [1, 1, 1]
    assert tool("topics", "under-replicated")[0] == 0
    assert tool("groups", "list", "--format", "scala")[1].splitlines().count(watched.live) == 1
    _, printed = tool("groups", "describe", "--group", watched.live, "--format", "scala")
    assert re.search(rf"{watched.topic}, 0, \d+, 30, \d+, member-", printed)
    _, printed = tool("topics", "describe", "--topic", watched.topic, "--format", "scala")
    assert "Configs:unknown" in printed, "the original always knows them"
    status, printed = tool("lag", "--group", watched.left, "--format", "scala")
    assert (status, len(printed.splitlines())) == (0, 4), "a line for each partition"
    status, reported = tool.json("get-offset", "--topic", watched.topic)
    assert [partition["offsets"] for partition in reported["partitions"]] == [[30], [0], [12]]


def test_the_doctor_finds_an_offset_beyond_the_end(watched: Watched, tool: CommandRunner) -> None:
    """It does not report the missing ZooKeeper of a cluster that has none."""
    status, reported = tool.json("doctor", "--quick")
    assert (status, reported["zookeeper"], reported["bootstrap_servers"]) == (
        *(3, None),
        watched.node.bootstrap_servers,
    )
    assert reported["sessions_known"] is False
    found = {(finding["group"], finding["code"]) for finding in reported["findings"]}
    assert (watched.astray, "offset-beyond-end") in found
    assert {code for group, code in found if group in {None, watched.live, watched.left}} == set()
    assert tool("doctor", "--fix", "--yes")[0] == 2
    assert "--fix needs a --zookeeper" in tool.err


def test_commands_that_need_a_zookeeper_are_refused(watched: Watched, tool: CommandRunner) -> None:
    """The error is one line, with the exit status of wrong usage."""
    for words in (
        ("lag", "--kind", "zookeeper"),
        ("groups", "delete", "--topic", watched.topic, "--yes"),
        ("topics", "--topics-with-overrides"),
        ("offsets", "export", "--storage", "zookeeper", "--output-file", "-"),
        ("offsets", "set", "--group", "new", "--storage", "zookeeper", "--to-latest"),
        ("groups", "describe", "--group", "no-such-group"),
    ):
        assert tool(*words) == (2, ""), words
        assert len(tool.err.splitlines()) == 1


def test_offsets_are_exported_set_and_rolled_back(
    watched: Watched, tool: CommandRunner, tmp_path: Path
) -> None:
    """The group has no members; in the end it is deleted."""
    group = fresh_name("moved")
    commit_offsets(watched.node, group, {TopicPartition(watched.topic, 0): 11})
    back = tmp_path / "back.json"

    status, saved = tool("offsets", "export", "--group", group, "--csv", "--output-file", "-")
    assert status == 0
    assert re.search(rf"{watched.topic},0,11\b", saved)
    words = ("offsets", "set", "--yes", "--group", group, "--to-earliest")
    assert tool(*words, "--roll-back-file", str(back))[0] == 0
    _, reported = tool.json("lag", "--group", group)
    assert reported["groups"][0]["partitions"][0]["offset"] == 0
    assert tool("offsets", "set", "--roll-back", str(back))[0] == 0
    _, reported = tool.json("lag", "--group", group)
    assert reported["groups"][0]["partitions"][0]["offset"] == 11
    assert tool("groups", "delete", "--group", group, "--yes")[0] == 0
    assert tool("groups", "describe", "--group", group)[0] == 2


def test_the_page_and_its_metrics_show_that_there_is_no_zookeeper(
    watched: Watched, tmp_path: Path
) -> None:
    """The cluster counts as healthy, and unknown values are absent instead of 0."""
    arguments = (*watched.where, "--interval-ms", "500")
    with served(None, tmp_path / "log", *arguments) as page:
        until_read(page)
        state = page.get("/api/state").json
        assert (state["zookeeper_connect"], state["zookeeper"], state["failures"]) == (
            *(None, "none"),
            [],
        )
        assert state["bootstrap_servers"] == watched.node.bootstrap_servers
        page_text = page.get("/").text
        assert "no ZooKeeper" in page_text
        assert "in a ZooKeeper: it has none" in page_text
        assert "no controller" not in page_text
        assert "unknown, since the cluster has none" in page.get("/groups").text
        assert "Unknown: the cluster has none" in page.get(f"/topics/{watched.topic}").text
        absent = page.get("/groups/zookeeper/g")
        assert (absent.status, "is unknown, since the cluster has none" in absent.text) == (
            *(404, True),
        )
        assert page.get(f"/groups/coordinator/{watched.live}").status == 200
        metrics = page.get("/metrics").text
        assert 'zkconsumer_cluster_info{read_through="brokers",zookeeper="none"} 1' in metrics
        assert "zkconsumer_up 1" in metrics
        lag = f'kafka_consumergroup_lag{{consumergroup="{watched.left}",'
        assert re.search(rf"^{re.escape(lag)}.*}} 7$", metrics, re.MULTILINE)
        samples = [line for line in metrics.splitlines() if not line.startswith("#")]
        assert not [sample for sample in samples if 'kind="zookeeper"' in sample]
        assert not [sample for sample in samples if "consumergroupzookeeper" in sample]
        assert not [sample for sample in samples if "clock_skew" in sample]

        assert page.end() == 0


def test_a_group_of_the_new_consumer_protocol(
    watched: Watched, tool: CommandRunner, tmp_path: Path
) -> None:
    """Members of a KIP-848 group are shown with their partitions and lag."""
    group = fresh_name("reconciled")
    arguments = (
        *(*watched.where, "--topic", watched.topic, "--group", group, "--from-beginning"),
        *("--consumer-property", "group.protocol=consumer"),
        *("--consumer-property", "auto.commit.interval.ms=100"),
    )
    with watched.node.start_tool("org.apache.kafka.tools.consumer.ConsoleConsumer", *arguments):

        def read() -> Any:
            reported = tool.json("groups", "list")[1]
            return [
                item
                for item in reported["groups"]
                if (item["group"], item["total_lag"]) == (group, 0)
            ]

        [reported] = wait_until(read, what="the member's commit")
        assert (reported["state"], reported["members"]) == ("stable", 1)
        requested = (*watched.where, "--describe", "--group", group)
        theirs = described_by_kafka(watched.node.run_tool(_GROUPS_TOOL, *requested))
        ours = described_by_lag(tool("lag", "--group", group, "--no-seconds")[1], group)
        assert set(ours) == set(theirs)
        assert ours == theirs
        assert tool("verify", "--group", group)[0] == 0
        back = str(tmp_path / "back.json")
        request = ("offsets", "set", "--yes", "--group", group, "--to-earliest")
        assert tool(*request, "--roll-back-file", back)[0] == 1, (
            "its coordinator refuses it while it has members"
        )
        assert tool.json("lag", "--group", group)[1]["groups"][0]["total_lag"] == 0
        assert (
            tool("groups", "watch", "--group", group, "--count", "2", "--interval", "0.1")[0] == 0
        )


def test_the_example_of_the_metrics_page_runs(watched: Watched) -> None:
    """The code of docs/metrics.md gives this cluster's metrics."""
    text = (Path(__file__).parents[3] / "docs/metrics.md").read_text()
    [example] = re.findall(r"```python\n(from zkconsumer.metrics.cluster .*?)```", text, re.DOTALL)
    host, _, port = watched.node.bootstrap_servers.partition(":")
    named: dict[str, Any] = {}
    exec(example.replace('"127.0.0.1", 9092', f'"{host}", {port}'), named)
    page = named["page"].decode()
    assert 'zkconsumer_cluster_info{read_through="brokers",zookeeper="none"} 1' in page
    assert f'kafka_consumergroup_lag_sum{{consumergroup="{watched.left}"' in page


@pytest.mark.parametrize("version", ["0.10.2.2", "2.8.2"])
def test_without_zookeeper_connect_the_zookeeper_is_unknown(
    version: str, broker_of: BrokerOf, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its groups are unknown, not none; coordinators' groups are shown as Kafka shows them."""
    sandbox = broker_of(version)
    where = ("--bootstrap-server", sandbox.bootstrap_servers)
    topic, group, old, bare = map(fresh_name, ("alone", "group", "old", "bare"))
    sandbox.create_topic(topic, partitions=2)
    write_records(sandbox, topic, (9, 4))
    tp = TopicPartition(topic, 0)
    ZkTree(sandbox).put(offset_path(old, tp), b"3")
    commit_offsets(sandbox, bare, {tp: 2})
    with reading(sandbox, topic, group, 5):
        requested = (*where, "--describe", "--group", group)
        theirs = described_by_kafka(
            sandbox.run_scala_tool("kafka.admin.ConsumerGroupCommand", *requested)
        )
        assert main(["lag", *where, "--group", group, "--no-seconds"]) == 0
        printed = capsys.readouterr()
        assert printed.err == "", "who names a group is told of it alone"
        ours = described_by_lag(printed.out, group)
        assert set(ours) == set(theirs) == {(topic, 0), (topic, 1)}
        assert ours == theirs
        assert main(["groups", "list", *where]) == 0
        printed = capsys.readouterr()
        assert "ZooKeeper groups: unknown, since no ZooKeeper was given" in printed.err
        assert old not in printed.out
        assert main(["groups", "list", *where, "--kind", "coordinator"]) == 0
        assert capsys.readouterr().err == ""
        assert main(["groups", "describe", *where, "--group", bare, "--format", "json"]) == 0
        [reported] = json.loads(capsys.readouterr().out)["groups"]
        assert reported["state"] == "unknown", "whoever commits there may meet in ZooKeeper"
        assert main(["lag", *where, "--group", old]) == 2
        assert "ZooKeeper groups: unknown" in capsys.readouterr().err
        assert main(["doctor", *where, "--quick", "--group", group, "--format", "json"]) == 0
        reported = json.loads(capsys.readouterr().out)
        assert "zookeeper-unknown" in {finding["code"] for finding in reported["findings"]}
        assert main(["topics", *where, "leaders", "--format", "json"]) == 0
        [reported] = json.loads(capsys.readouterr().out)["brokers"]
        assert reported["controller"] is True


def test_a_kafka_3_in_kraft_mode_has_no_zookeeper(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its API versions tell it from a 3.9 with a ZooKeeper."""
    topic, group = fresh_name("alone"), fresh_name("group")
    with KraftNode(version=kafka_version("3.9.1")) as node:
        where = ("--bootstrap-server", node.bootstrap_servers)
        create_topic(node, topic)
        write_records(node, topic, (6,))
        commit_offsets(node, group, {TopicPartition(topic, 0): 1})
        theirs = described_by_kafka(
            node.run_tool(_GROUPS_TOOL, *where, "--describe", "--group", group)
        )
        assert main(["lag", *where, "--no-seconds"]) == 0
        printed = capsys.readouterr()
        assert (printed.err, described_by_lag(printed.out, group)) == ("", theirs)
        assert main(["doctor", *where, "--quick", "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["findings"] == []
