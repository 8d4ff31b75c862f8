"""``zkconsumer offsets set`` on real clusters, old and new, with real members."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import warm
from tests.support.clusters import BrokerOf, fresh_name
from tests.support.kafka_offsets import KafkaOffsets
from tests.support.traffic import partitions_of, write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree, offset_path
from zkconsumer.cli.main import main
from zkconsumer.config import ConsumerConfig
from zkconsumer.connector.connector import ZookeeperConsumerConnector
from zkconsumer.consumer.kafka_consumer import KafkaConsumer
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox


class OffsetsSetWorld:
    """A topic of two partitions with 6 and 3 messages, a group, and the command."""

    def __init__(self, cluster: Sandbox, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.cluster = cluster
        self.group, self.topic = fresh_name("setting"), fresh_name("setting")
        cluster.create_topic(self.topic, partitions=2)
        self.partitions = partitions_of(self.topic, 2)
        write(cluster, self.partitions[0], [b"a%d" % number for number in range(6)])
        write(cluster, self.partitions[1], [b"b%d" % number for number in range(3)])
        self.tree = ZkTree(cluster)
        self.kafka = KafkaOffsets(cluster, self.group)
        self.file = folder / "back.json"
        self._capsys = capsys

    def set(self, *flags: str) -> tuple[int, dict[str, Any]]:
        """Set the group's offsets; return the exit status and the report."""
        self.file.unlink(missing_ok=True)
        return self.run("--group", self.group, "--roll-back-file", str(self.file), *flags)

    def run(self, *flags: str) -> tuple[int, dict[str, Any]]:
        """Run the command with these flags; return the exit status and the report."""
        zookeeper = ("--zookeeper", self.cluster.zookeeper_connect)
        status = main(["offsets", "set", *zookeeper, "--yes", "--json", *flags])
        printed = self._capsys.readouterr()
        assert printed.out, printed.err
        report: dict[str, Any] = json.loads(printed.out)
        return status, report

    def in_zookeeper(self) -> list[int]:
        """Return the group's offsets in ZooKeeper."""
        return list(self.tree.offsets(self.group).values())

    def in_kafka(self) -> list[int]:
        """Return the group's offsets in Kafka, as another client reads them."""
        return [offset for _, offset in sorted(self.kafka.offsets(self.partitions).items())]

    def config(self) -> ConsumerConfig:
        """Return the settings of a member of the old consumer."""
        return ConsumerConfig(
            {
                "group.id": self.group,
                "zookeeper.connect": self.cluster.zookeeper_connect,
                "auto.offset.reset": "smallest",
                "consumer.timeout.ms": "10000",
            }
        )

    def read(self, count: int) -> list[bytes]:
        """Read with a member of the old consumer, commit, and leave; return the values, sorted."""
        with ZookeeperConsumerConnector(self.config()) as consumer:
            (stream,) = consumer.create_message_streams({self.topic: 1})[self.topic]
            values = [next(stream).raw_value or b"" for _ in range(count)]
            consumer.commit_offsets()
        return sorted(values)


@pytest.fixture
def old(cluster: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> OffsetsSetWorld:
    """Give a group on 0.8.2.2."""
    return OffsetsSetWorld(cluster, tmp_path, capsys)


@pytest.fixture
def new(broker_of: BrokerOf, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> OffsetsSetWorld:
    """Give a group on 3.9.1."""
    return OffsetsSetWorld(broker_of("3.9.1"), tmp_path, capsys)


def test_the_next_member_starts_at_the_offsets_that_were_set(old: OffsetsSetWorld) -> None:
    """--roll-back restores the former offsets; a group with members is refused."""
    assert len(old.read(9)) == 9
    with ZookeeperConsumerConnector(old.config()) as consumer:
        consumer.create_message_streams({old.topic: 1})
        wait_until(lambda: len(old.tree.owners(old.group, old.topic)) == 2, what="owned")
        status, report = old.set("--to-earliest")
        assert (status, report["status"], old.in_zookeeper()) == (2, "refused", [6, 3])
        assert consumer.consumer_id in report["groups"][0]["refusals"][0]
        assert not old.file.exists()
    status, report = old.set("--shift-by", "-2")
    assert (status, report["status"], old.in_zookeeper()) == (0, "done", [4, 1])
    assert old.read(4) == [b"a4", b"a5", b"b1", b"b2"]
    status, report = old.run("--roll-back", str(old.file))
    assert (status, report["status"]) == (0, "done"), "it has come back to where it was"
    assert old.in_zookeeper() == [6, 3]


def test_old_logs_find_times_by_whole_segments(old: OffsetsSetWorld) -> None:
    """A time before the only segment leads to its start, a later one to the end; a note says so."""
    old.read(9)
    status, report = old.set("--to-time", "2020-01-01")
    assert (status, old.in_zookeeper()) == (0, [0, 0])
    assert any("whole segments" in note for note in report["groups"][0]["notes"])
    status, report = old.set("--to-time", "2100-01-01", "--topic", f"{old.topic}:1")
    assert (status, old.in_zookeeper()) == (0, [0, 3])


def test_new_logs_find_times_by_record(new: OffsetsSetWorld) -> None:
    """The group is in Kafka; its next member starts there, and while it lives, nothing is set."""
    new.kafka.put({tp: OffsetAndMetadata(1) for tp in new.partitions})
    status, report = new.set("--by-duration", "PT1H")
    assert (status, report["groups"][0]["storage"], new.in_kafka()) == (0, "kafka", [0, 0])
    assert not any("whole segments" in note for note in report["groups"][0]["notes"])
    status, report = new.set("--to-time", "2100-01-01")
    assert (status, new.in_kafka()) == (0, [6, 3])
    assert "no record is that new" in report["groups"][0]["notes"][0]
    assert new.set("--to-offset", "2")[0] == 0
    with KafkaConsumer(
        new.topic,
        bootstrap_servers=new.cluster.bootstrap_servers,
        group_id=new.group,
        session_timeout_ms=6000,
        enable_auto_commit=False,
    ) as consumer:
        values: list[bytes] = []

        def poll() -> bool:
            for records in consumer.poll(500).values():
                values.extend(record.value or b"" for record in records)
            return len(values) == 5

        wait_until(poll, what="what comes from there on")
        assert sorted(values) == [b"a2", b"a3", b"a4", b"a5", b"b2"]
        # Even with --force the coordinator accepts only its members' commits.
        assert new.set("--to-latest")[0] == 2
        status, report = new.set("--to-latest", "--force")
        assert (status, report["status"], new.in_kafka()) == (1, "not verified", [2, 2])
        errors = [partition["error"] for partition in report["groups"][0]["partitions"]]
        assert all("the group has members: stop them" in error for error in errors)
    assert new.set("--to-latest")[0] == 0
    assert new.run("--roll-back", str(new.file))[0] == 0
    assert new.in_kafka() == [2, 2]


def test_offsets_in_both_storages_are_set_and_rolled_back(old: OffsetsSetWorld) -> None:
    """Each storage gets its own former offsets back."""
    for tp, offset in zip(old.partitions, (2, 2), strict=True):
        old.tree.put(offset_path(old.group, tp), b"%d" % offset)
    old.kafka.put({old.partitions[0]: OffsetAndMetadata(4)})
    status, report = old.set("--shift-by", "1")
    assert [group["storage"] for group in report["groups"]] == ["zookeeper", "kafka"]
    assert (status, old.in_zookeeper(), old.in_kafka()) == (0, [5, 3], [5, 3])
    status, report = old.run("--roll-back", str(old.file))
    assert (status, old.in_zookeeper()) == (0, [2, 2])
    assert old.kafka.offsets(old.partitions) == {TopicPartition(old.topic, 0): 4}


def test_exported_offsets_of_a_coordinator_s_group_are_imported_again(
    new: OffsetsSetWorld, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An export covers it like groups in ZooKeeper, and in the same format."""
    new.kafka.put({tp: OffsetAndMetadata(2) for tp in new.partitions})
    zookeeper = ("--zookeeper", new.cluster.zookeeper_connect)
    saved = tmp_path / "saved"
    assert main(["offsets", "export", *zookeeper, "--output-file", str(saved)]) == 0
    lines = [f"/consumers/{new.group}/offsets/{new.topic}/{number}:2" for number in (0, 1)]
    assert [line for line in saved.read_text().splitlines() if new.group in line] == lines
    saved.write_text("\n".join(lines))
    new.kafka.put({tp: OffsetAndMetadata(0) for tp in new.partitions})
    flags = ("--input-file", str(saved), "--roll-back-file", str(new.file))
    assert main(["offsets", "import", *zookeeper, *flags]) == 0
    assert new.in_kafka() == [2, 2]
    assert "in kafka: 2 of 2 offsets written, verified" in capsys.readouterr().out


def test_a_killed_command_can_be_rolled_back(old: OffsetsSetWorld, tmp_path: Path) -> None:
    """The roll-back file is written before the first offset."""
    for tp in old.partitions:
        old.tree.put(offset_path(old.group, tp), b"2")
    file = tmp_path / "back"
    words = ["--zookeeper", old.cluster.zookeeper_connect, "--group", old.group, "--to-latest"]
    command = [sys.executable, "-m", "zkconsumer", "offsets", "set", "--yes", *words]
    with warm.Popen[bytes](
        [*command, "--roll-back-file", str(file)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as process:
        assert process.stderr is not None
        assert (
            process.stderr.readline()
            == f"zkconsumer: --roll-back {file} undoes what follows\n".encode()
        )
        process.kill()
    assert old.in_zookeeper() in ([2, 2], [6, 3])
    status, report = old.run("--roll-back", str(file))
    assert (status, report["status"], old.in_zookeeper()) == (0, "done", [2, 2])
