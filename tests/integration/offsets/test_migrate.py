"""``zkconsumer offsets migrate`` on real clusters, old and new."""

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.kafka_offsets import KafkaOffsets
from tests.support.traffic import partitions_of, write
from tests.support.zk_tree import ZkTree
from zkconsumer.cli.main import main
from zkconsumer.cli.offsets.opening import open_offsets
from zkconsumer.config import ConsumerConfig
from zkconsumer.connector.connector import ZookeeperConsumerConnector
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.offsets.migration.plan import OffsetStorage
from zkconsumer.sandbox import Sandbox
from zkconsumer.wire.messages.group_members import (
    JoinGroupProtocol,
    JoinGroupRequest,
    LeaveGroupRequest,
)

pytestmark = pytest.mark.sandbox

VERSIONS = ["0.8.2.2", "0.9.0.1", "0.11.0.3", "3.9.1"]
"""OffsetCommit 1, 2, 3 and 8; members that only ZooKeeper knows, and members at coordinators."""
TIMEOUT_MS = 10_000


class MigrationCommand:
    """A group on a cluster, and the command as its operator runs it."""

    def __init__(
        self, cluster: Sandbox, directory: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.cluster = cluster
        self.group = fresh_name("migrating")
        self.topic = fresh_name("migrating")
        cluster.create_topic(self.topic, partitions=3)
        self.partitions = partitions_of(self.topic, 3)
        self.zookeeper = ZkTree(cluster)
        self.kafka = KafkaOffsets(cluster, self.group)
        self.file = directory / "back.json"
        self._capsys = capsys

    def put(self, numbers: dict[int, int]) -> None:
        """Write offsets to ZooKeeper, as old members do."""
        for partition, offset in numbers.items():
            path = f"/consumers/{self.group}/offsets/{self.topic}/{partition}"
            self.zookeeper.put(path, str(offset).encode())

    def node(self, partition: int) -> bytes | None:
        """Return the data of an offset node in ZooKeeper."""
        node = self.zookeeper.get(f"/consumers/{self.group}/offsets/{self.topic}/{partition}")
        return None if node is None else node.data

    def in_kafka(self) -> dict[int, int]:
        """Return the group's offsets in Kafka, as another client reads them."""
        return {tp.partition: at for tp, at in self.kafka.offsets(self.partitions).items()}

    def migrate(self, *flags: str, back: bool = False) -> tuple[int, dict[str, Any]]:
        """Migrate the group; return the exit status and the report."""
        places = ("kafka", "zookeeper") if back else ("zookeeper", "kafka")
        wait = () if "--wait-ms" in flags else ("--wait-ms", "0")
        return self.run(
            *("--group", self.group, "--from", places[0], "--to", places[1], *wait),
            *("--roll-back-file", str(self.file), *flags),
        )

    def run(self, *flags: str) -> tuple[int, dict[str, Any]]:
        """Run the command with these flags; return the exit status and the report."""
        zookeeper = self.cluster.zookeeper_connect
        status = main(["offsets", "migrate", "--zookeeper", zookeeper, "--json", *flags])
        printed = self._capsys.readouterr()
        assert printed.out, printed.err
        report: dict[str, Any] = json.loads(printed.out)
        return status, report


@pytest.fixture(params=VERSIONS)
def world(
    request: pytest.FixtureRequest,
    broker_of: BrokerOf,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> MigrationCommand:
    """Give a group on each version."""
    return MigrationCommand(broker_of(request.param), tmp_path, capsys)


@pytest.fixture
def old_world(
    broker_of: BrokerOf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> MigrationCommand:
    """Give a group on 0.8.2.2."""
    return MigrationCommand(broker_of("0.8.2.2"), tmp_path, capsys)


@contextmanager
def live_member(world: MigrationCommand) -> Iterator[str]:
    """Join the coordinator's group; the member does not rejoin by itself."""
    dialer = BrokerDialer(
        TcpConnector(), client_id="t", connect_timeout_ms=TIMEOUT_MS, request_timeout_ms=TIMEOUT_MS
    )
    connection = dialer.dial(world.kafka.coordinator())
    join = JoinGroupRequest(
        group_id=world.group,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocols=(JoinGroupProtocol(name="range", metadata=b""),),
    )
    try:
        # Version 3 is the last one that accepts a member at the first request.
        member = connection.call(join, timeout_ms=TIMEOUT_MS, at_most=3).member_id
        yield member
        leave = LeaveGroupRequest(group_id=world.group, member_id=member)
        assert connection.call(leave, timeout_ms=TIMEOUT_MS, at_most=2).error_code == 0
    finally:
        connection.close()
        dialer.stop()


def test_offsets_are_migrated_verified_and_rolled_back(world: MigrationCommand) -> None:
    """Another client finds the offsets, and the former ones after the roll-back."""
    world.put({0: 5, 1: 0, 2: 7})
    world.kafka.put({world.partitions[2]: OffsetAndMetadata(3, "note")})
    status, planned = world.migrate("--dry-run")
    assert (status, planned["status"], world.in_kafka()) == (0, "planned", {2: 3})
    assert not world.file.exists()
    status, report = world.migrate()
    assert (status, report["status"]) == (0, "done")
    assert [note.partition(":")[0] for note in report["notes"]] == [
        f"{tp}" for tp in (world.partitions[0], world.partitions[2])
    ], "the logs are empty"
    assert [partition["now"] for partition in report["partitions"]] == [5, 0, 7]
    assert world.in_kafka() == {0: 5, 1: 0, 2: 7}
    assert world.node(0) == b"5"
    status, report = world.run("--roll-back", report["roll_back_file"])
    assert (status, report["status"]) == (0, "done")
    assert world.kafka.entries(world.partitions) == {world.partitions[2]: (3, "note")}


def test_offsets_are_migrated_back_to_zookeeper(world: MigrationCommand) -> None:
    """All of the group's offsets are found, even if the broker can't list them, and rolled back."""
    other = fresh_name("migrating")
    world.cluster.create_topic(other)
    elsewhere = TopicPartition(other, 0)
    world.kafka.put(
        {world.partitions[1]: OffsetAndMetadata(9, "note"), elsewhere: OffsetAndMetadata(4)}
    )
    world.put({1: 2})
    status, report = world.migrate(back=True)
    assert (status, report["status"]) == (0, "done")
    assert world.node(1) == b"9"
    node = world.zookeeper.get(f"/consumers/{world.group}/offsets/{other}/0")
    assert node is not None
    assert node.data == b"4"
    assert world.run("--roll-back", str(world.file))[0] == 0
    assert world.node(1) == b"2"
    assert world.zookeeper.get(f"/consumers/{world.group}/offsets/{other}/0") is None


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_a_member_at_the_coordinator_prevents_a_migration(
    version: str, broker_of: BrokerOf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The refusal names it, and nothing is written; once it has left, the migration succeeds."""
    world = MigrationCommand(broker_of(version), tmp_path, capsys)
    world.put({0: 5})
    with live_member(world) as member:
        status, report = world.migrate()
        assert (status, report["status"]) == (2, "refused")
        assert member in report["refusals"][0]
        address = argparse.Namespace(
            zookeeper=world.cluster.zookeeper_connect,
            bootstrap_servers=None,
            command_config=None,
            timeout_ms=TIMEOUT_MS,
        )
        with open_offsets(address) as cluster:
            # If a member joins in the last moment, the coordinator itself refuses the write.
            kafka = cluster.of(world.group, with_kafka=True).storage(OffsetStorage.KAFKA)
            late = kafka.write({world.partitions[0]: OffsetAndMetadata(5)})
        assert "the group has members" in str(late[world.partitions[0]])
    assert world.in_kafka() == {}
    assert world.migrate()[0] == 0
    assert world.in_kafka() == {0: 5}


def test_a_member_in_zookeeper_is_waited_for(old_world: MigrationCommand) -> None:
    """With --wait-ms 0 it is refused; the offset that the member commits at its end is migrated."""
    world = old_world
    write(world.cluster, world.partitions[0], [b"a", b"b"])
    config = ConsumerConfig(
        zookeeper_connect=world.cluster.zookeeper_connect,
        group_id=world.group,
        auto_offset_reset="smallest",
    )
    connector = ZookeeperConsumerConnector(config)
    with connector:
        (stream,) = connector.create_message_streams({world.topic: 1})[world.topic]
        messages = iter(stream)
        next(messages), next(messages)
        connector.commit_offsets()
        status, report = world.migrate()
        assert (status, report["status"]) == (2, "refused")
        assert connector.consumer_id in report["refusals"][0]
        assert world.in_kafka() == {}
    assert world.migrate("--wait-ms", "20000")[0] == 0
    assert world.in_kafka()[0] == 2


def test_a_target_that_is_ahead_is_refused_kept_or_overwritten(old_world: MigrationCommand) -> None:
    """A flag decides; without one it is refused."""
    world = old_world
    world.put({0: 5, 1: 6})
    world.kafka.put({world.partitions[0]: OffsetAndMetadata(50)})
    status, report = world.migrate()
    assert (status, report["status"]) == (2, "refused")
    assert "the target is at 50" in report["refusals"][0]
    assert world.in_kafka() == {0: 50}
    assert world.migrate("--keep-ahead")[0] == 0
    assert world.in_kafka() == {0: 50, 1: 6}
    world.file.unlink()
    assert world.migrate("--force")[0] == 0
    assert world.in_kafka() == {0: 5, 1: 6}


def test_offsets_of_a_deleted_topic_are_not_migrated(old_world: MigrationCommand) -> None:
    """The report names them, and the others are migrated."""
    world = old_world
    world.put({0: 5})
    world.zookeeper.put(f"/consumers/{world.group}/offsets/no-such-topic/0", b"8")
    status, report = world.migrate()
    assert status == 0
    fates = {partition["topic"]: partition["action"] for partition in report["partitions"]}
    assert fates == {world.topic: "write", "no-such-topic": "no such partition"}
    assert world.in_kafka() == {0: 5}
