"""``zkconsumer assign plan`` of a real group, compared with the rebalance that follows."""

import json
from typing import Any

import pytest

from tests.support.clusters import fresh_name
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer.cli.main import main
from zkconsumer.config import ConsumerConfig
from zkconsumer.connector.connector import ZookeeperConsumerConnector
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox


def planned(cluster: Sandbox, capsys: pytest.CaptureFixture[str], *flags: str) -> Any:
    """Run the command for its JSON plan."""
    assert main(["assign", "plan", "--zookeeper", cluster.zookeeper_connect, "--json", *flags]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
def test_the_rebalance_follows_the_plan(
    cluster: Sandbox, capsys: pytest.CaptureFixture[str], strategy: str
) -> None:
    """Each reader gets the planned partitions, and only the planned ones move."""
    group, topic = fresh_name("planned"), fresh_name("planned")
    cluster.create_topic(topic, partitions=5)
    tree = ZkTree(cluster)
    settings = {
        "zookeeper.connect": cluster.zookeeper_connect,
        "group.id": group,
        "partition.assignment.strategy": strategy,
    }

    def join(name: str) -> ZookeeperConsumerConnector:
        consumer = ZookeeperConsumerConnector(ConsumerConfig({**settings, "consumer.id": name}))
        consumer.create_message_streams({topic: 2})
        return consumer

    def owners() -> dict[int, str]:
        return {number: owner for number, (owner, _) in tree.owners(group, topic).items()}

    with join("a") as first:
        wait_until(lambda: len(owners()) == 5, what="all owned")
        before = owners()
        flags = ("--group", group, "--members", "2", "--strategy", strategy)
        plan = planned(cluster, capsys, *flags)
        assert {reader["reader"] for reader in plan["readers"] if not reader["new"]} == set(
            before.values()
        )
        # The plan's made-up member id sorts after the first member's, and so does this one.
        with join("z"):
            expected = {
                number: reader["reader"].replace(f"{group}_new-001", f"{group}_z")
                for reader in plan["readers"]
                for _, number in reader["partitions"]
            }
            wait_until(lambda: owners() == expected, what="the plan come true")
        assert first.consumer_id == f"{group}_a"
    moved = sorted(number for number, owner in before.items() if expected[number] != owner)
    assert [number for _, number in plan["moved"]] == moved
