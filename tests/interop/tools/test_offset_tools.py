"""Our offset commands and the original's on one cluster: same input, same output, same nodes."""

from pathlib import Path

import pytest

from tests.interop.mixed_group import MixedGroup
from tests.support.clusters import fresh_name
from tests.support.traffic import partitions_of, write
from tests.support.zk_tree import ZkTree, offset_path
from zkconsumer.cli.main import main
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox
EXPORT, IMPORT = "kafka.tools.ExportZkOffsets", "kafka.tools.ImportZkOffsets"
UPDATE = "kafka.tools.UpdateOffsetsInZK"


class OffsetToolWorld:
    """A topic of three partitions with 4, 7 and 0 messages, and a group without members."""

    def __init__(self, cluster: Sandbox, folder: Path) -> None:
        self.cluster = cluster
        self.topic = fresh_name("tools")
        self.group = fresh_name("tools")
        cluster.create_topic(self.topic, partitions=3)
        self.partitions = partitions_of(self.topic, 3)
        write(cluster, self.partitions[0], [b"m"] * 4)
        write(cluster, self.partitions[1], [b"m"] * 7)
        self.tree = ZkTree(cluster)
        self.folder = folder

    def put(self, *offsets: int, group: str | None = None) -> None:
        """Write offsets of the group."""
        for tp, offset in zip(self.partitions, offsets, strict=False):
            self.tree.put(offset_path(group or self.group, tp), str(offset).encode())

    def nodes(self) -> dict[TopicPartition, int]:
        """Return the group's offsets in ZooKeeper."""
        return self.tree.offsets(self.group)

    def theirs(self, main_class: str, *arguments: str) -> tuple[int, str]:
        """Run the original's tool; return status and output."""
        result = self.cluster.run_scala_tool(main_class, *arguments)
        return result.status, "".join(f"{line}\n" for line in result.lines)

    def ours(self, command: str, *arguments: str) -> int:
        """Run our command; return the status."""
        return main(["offsets", command, *arguments])

    @property
    def zkconnect(self) -> tuple[str, str]:
        """The flag with ZooKeeper's address, which both take."""
        return ("--zkconnect", self.cluster.zookeeper_connect)


@pytest.fixture
def world(cluster: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OffsetToolWorld:
    """Create the topic and the group; default output files go to the test's folder."""
    monkeypatch.chdir(tmp_path)
    return OffsetToolWorld(cluster, tmp_path)


def test_both_export_the_same_and_each_imports_the_others_export(
    world: OffsetToolWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """The files only differ in the order of lines, which in the original is ZooKeeper's."""
    other = fresh_name("tools")
    world.put(3, 5, 0)
    world.put(1, group=other)
    groups = ("--group", world.group, "--group", other)
    theirs, ours = world.folder / "theirs", world.folder / "ours"
    status, _ = world.theirs(EXPORT, *world.zkconnect, *groups, "--output-file", str(theirs))
    assert (
        status,
        world.ours("export", *world.zkconnect, *groups, "--output-file", str(ours)),
    ) == (
        0,
        0,
    )
    assert sorted(ours.read_text().splitlines()) == sorted(theirs.read_text().splitlines())
    assert ours.read_text() == "".join(sorted(theirs.read_text().splitlines(keepends=True)))

    saved = world.nodes()
    world.put(2, 6, 0)
    assert world.ours("import", *world.zkconnect, "--input-file", str(theirs)) == 0
    assert world.nodes() == saved
    world.put(2, 6, 0)
    assert world.theirs(IMPORT, *world.zkconnect, "--input-file", str(ours))[0] == 0
    assert world.nodes() == saved
    assert "group" in capsys.readouterr().out


def test_both_read_a_file_with_an_empty_line_the_same_way(
    world: OffsetToolWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --format scala neither prints anything."""
    first, second, third = (offset_path(world.group, tp) for tp in world.partitions)
    file = world.folder / "saved"
    file.write_text(f"{first}:1\n{second}:5:8\n{first}:3\n\n{third}:9\n")
    flags = (*world.zkconnect, "--input-file", str(file))
    assert world.theirs(IMPORT, *flags) == (0, "")
    expected = world.nodes()
    assert sorted(expected.values()) == [3, 5]
    world.tree.delete_tree(f"/consumers/{world.group}")
    assert world.ours("import", *flags, "--format", "scala") == 0
    assert (world.nodes(), capsys.readouterr().out) == (expected, "")


def test_both_set_a_topic_to_an_end_with_the_same_output(
    world: OffsetToolWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """The output is equal byte for byte, and so are the nodes."""
    world.put(1, 1, 0)
    file = world.folder / "group.properties"
    # The original requires all mandatory settings of a consumer in this file.
    file.write_text(
        f"group.id={world.group}\nzookeeper.connect={world.cluster.zookeeper_connect}\n"
    )
    for goal, expected in (("latest", [4, 7, 0]), ("earliest", [0, 0, 0])):
        world.put(1, 1, 0)
        theirs = world.theirs(UPDATE, goal, str(file), world.topic)
        found = world.nodes()
        assert list(found.values()) == expected
        world.put(1, 1, 0)
        status = world.ours("update", goal, str(file), world.topic, "--format", "scala")
        assert (status, capsys.readouterr().out) == theirs
        assert world.nodes() == found


def test_a_group_with_a_scala_member_is_refused_and_its_next_member_starts_at_our_offsets(
    group: MixedGroup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """While it lives, nothing is set; the next member reads the last two messages again."""
    monkeypatch.chdir(tmp_path)
    topic = group.topic(1)
    zookeeper = ("--zookeeper", group.cluster.zookeeper_connect)
    command = ["offsets", "set", *zookeeper, "--group", group.name, "--shift-by", "-2", "--yes"]
    first = group.scala(topic)
    values = group.write(5, topic)
    group.await_values(values, first)
    group.await_committed(topic)
    assert main(command) == 2
    assert group.peek.offsets(topic) == {0: "5"}
    first.leave()
    assert main(command) == 0
    assert group.peek.offsets(topic) == {0: "3"}
    second = group.scala(topic)
    group.await_values(values[-2:], second)
    second.leave()
    assert sorted(second.values) == sorted(values[-2:])
