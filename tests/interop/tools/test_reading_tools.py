"""Our reading commands and the original's on one cluster: the same output, byte for byte."""

from collections.abc import Callable

import pytest

from tests.golden.capture_scala_tools import run_later
from tests.golden.scala_tool_scenes import (
    CHECKER,
    GROUP_COMMAND,
    OFFSET_SHELL,
    TOPIC_COMMAND,
    VERIFY,
)
from tests.support.clusters import fresh_name
from tests.support.traffic import partitions_of, write
from tests.support.zk_tree import ZkTree, offset_path, owner_path
from zkconsumer.cli.main import main
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox


class ReadingToolWorld:
    """A topic of three partitions with 4, 7 and 0 messages, and a group without members.

    It has persistent owner nodes for two partitions and offsets of two: one partition has both.
    """

    def __init__(self, cluster: Sandbox) -> None:
        self.cluster = cluster
        self.topic = fresh_name("tools")
        self.group = fresh_name("tools")
        cluster.create_topic(self.topic, partitions=3, config={"retention.ms": "86400000"})
        self.partitions = partitions_of(self.topic, 3)
        for tp, count in zip(self.partitions, (4, 7, 0), strict=True):
            if count:
                write(cluster, tp, [b"m"] * count)
        self.tree = ZkTree(cluster)
        self.fill(self.group)

    def fill(self, group: str) -> None:
        """Create the nodes of a group."""
        first, second, third = self.partitions
        self.tree.put(f"/consumers/{group}/ids")
        for tp, owner in ((first, "a-0"), (second, "a-1")):
            self.tree.put(owner_path(group, tp), owner.encode())
        for tp, offset in ((first, 3), (third, 9)):
            self.tree.put(offset_path(group, tp), str(offset).encode())

    @property
    def zookeeper(self) -> tuple[str, str]:
        """The flag with ZooKeeper's address, as most of the tools take it."""
        return ("--zookeeper", self.cluster.zookeeper_connect)

    @property
    def of_group(self) -> tuple[str, ...]:
        """The flags with ZooKeeper's address and the group."""
        return (*self.zookeeper, "--group", self.group)


@pytest.fixture
def world(cluster: Sandbox) -> ReadingToolWorld:
    """Create the topic and the group."""
    return ReadingToolWorld(cluster)


RunBoth = Callable[..., str]


@pytest.fixture
def run_both(world: ReadingToolWorld, capsys: pytest.CaptureFixture[str]) -> RunBoth:
    """Give a function that runs both with the same arguments and returns their equal output."""

    def run(main_class: str, command: str, *arguments: str) -> str:
        if main_class == GROUP_COMMAND:
            theirs = run_later(main_class, list(arguments))
        else:
            theirs = world.cluster.run_scala_tool(main_class, *arguments)
        capsys.readouterr()
        yes = ["--yes"] if "--delete" in arguments else []
        assert main([command, *arguments, "--format", "scala", *yes]) == theirs.status == 0
        printed = capsys.readouterr()
        assert printed.out == theirs.output
        for line in printed.err.splitlines():
            # log4j adds lines of its own, and so does our confirmation prompt of a deletion.
            assert yes or line in theirs.errors
        return printed.out

    return run


def test_the_offset_checker(world: ReadingToolWorld, run_both: RunBoth) -> None:
    """Rows are with and without an offset, with and without an owner, and one beyond the end."""
    reported = run_both(CHECKER, "lag", *world.of_group, "--broker-info")
    assert [line.split()[3:6] for line in reported.splitlines()[1:4]] == [
        ["3", "4", "1"],
        ["-1", "7", "unknown"],
        ["9", "0", "-9"],
    ]
    assert "-> " in reported


def test_topics_are_described(world: ReadingToolWorld, run_both: RunBoth) -> None:
    """They are selected by a regular expression, and have settings of their own."""
    reported = run_both(
        TOPIC_COMMAND, "topics", *world.zookeeper, "--describe", "--topic", f"{world.topic}|x"
    )
    assert "PartitionCount:3" in reported
    assert "Configs:retention.ms=86400000" in reported


def test_offsets_are_listed(world: ReadingToolWorld, run_both: RunBoth) -> None:
    """They are in the order of the arguments; a missing partition is an error."""
    brokers = ("--broker-list", world.cluster.bootstrap_servers, "--topic", world.topic)
    reported = run_both(
        OFFSET_SHELL, "get-offset", *brokers, "--time", "-1", "--partitions", "1,0,9"
    )
    assert reported == f"{world.topic}:1:7\n{world.topic}:0:4\n"


def test_a_group_without_members_verifies(world: ReadingToolWorld, run_both: RunBoth) -> None:
    """It is the only case in which the original's result is right."""
    zookeeper = ("--zookeeper.connect", world.cluster.zookeeper_connect)
    reported = run_both(VERIFY, "verify", *zookeeper, "--group", world.group)
    assert reported == "Rebalance operation successful !\n"


def test_groups_are_described(world: ReadingToolWorld, run_both: RunBoth) -> None:
    """The output is that of the tool of 0.9."""
    reported = run_both(GROUP_COMMAND, "groups", *world.of_group, "--describe")
    assert f"{world.group}, {world.topic}, 0, 3, 4, 1, a-0\n" in reported


def test_both_delete_the_same(world: ReadingToolWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """Each deletes one of two equal groups; what is left is equal, and so is the output."""
    left, message = [], []
    other = fresh_name("tools")
    for group in (world.group, other):
        if group == other:
            world.fill(group)
        keeps = [f"/consumers/{group}/{kind}/other/0" for kind in ("owners", "offsets")]
        for path in keeps:
            world.tree.put(path, b"1")
        arguments = [*world.zookeeper, "--delete", "--group", group, "--group", "none"]
        arguments += ["--topic", world.topic]
        if group == world.group:
            message.append(run_later(GROUP_COMMAND, arguments).output)
        else:
            assert main(["groups", *arguments, "--yes", "--format", "scala"]) == 0
            message.append(capsys.readouterr().out)
        root = f"/consumers/{group}"
        folders = [root, f"{root}/owners", f"{root}/offsets"]
        left.append([world.tree.children(path) for path in folders])
    assert message[0].replace(world.group, other) == message[1]
    assert left == [[["ids", "offsets", "owners"], ["other"], ["other"]]] * 2
