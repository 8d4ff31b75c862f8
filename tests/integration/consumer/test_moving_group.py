"""One program in a ZooKeeper group, and, with migrated offsets, in a coordinator's group."""

from pathlib import Path

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.traffic import write
from zkconsumer import KafkaConsumer, TopicPartition
from zkconsumer.cli.main import main

pytestmark = pytest.mark.sandbox

COUNT = 40


def read(topic: str, count: int, **where: str) -> list[bytes | None]:
    """Run the program, which does not know where its group is kept."""
    config: dict[str, object] = {"auto_offset_reset": "earliest", "max_poll_records": 9, **where}
    taken: list[bytes | None] = []
    with KafkaConsumer(topic, config=config) as consumer:
        for record in consumer:
            taken.append(record.value)
            if len(taken) == count:
                break
    return taken


@pytest.mark.parametrize("version", ["0.9.0.1", "3.9.1"])
def test_a_program_moves_by_a_change_of_one_setting(
    version: str, broker_of: BrokerOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It moves there and back: no message is lost or comes twice."""
    monkeypatch.chdir(tmp_path)
    cluster = broker_of(version)
    topic, group = fresh_name("moving"), fresh_name("moving")
    cluster.create_topic(topic)
    written = [b"%d" % number for number in range(COUNT)]
    write(cluster, TopicPartition(topic, 0), written)
    old = {"zookeeper_connect": cluster.zookeeper_connect, "group_id": group}
    new = {"bootstrap_servers": cluster.bootstrap_servers, "group_id": group}
    group_flags = ("--zookeeper", cluster.zookeeper_connect, "--group", group)
    taken = read(topic, 13, **old)
    there = ("--from", "zookeeper", "--to", "kafka")
    assert main(["offsets", "migrate", *group_flags, *there]) == 0
    taken += read(topic, 14, **new)
    back = ("--from", "kafka", "--to", "zookeeper")
    assert main(["offsets", "migrate", *group_flags, *back]) == 0
    taken += read(topic, COUNT - len(taken), **old)
    assert taken == written
    assert len(list(tmp_path.iterdir())) == 2, "a roll-back file of each"
