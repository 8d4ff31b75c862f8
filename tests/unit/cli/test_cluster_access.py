"""Connecting to the cluster that a command names, and finding its group."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.support.opened_cluster import opening, parsed_arguments
from tests.support.status import group_of, snapshot_of
from tests.support.status_world import StatusWorld
from zkconsumer.cli.cluster_access import open_cluster
from zkconsumer.cli.cluster_responses import find_group, print_unknown
from zkconsumer.errors import ConfigError, RegistryError
from zkconsumer.model import Broker
from zkconsumer.status.model import (
    BrokersAlone,
    BrokerStatus,
    ClusterSnapshot,
    GroupKind,
)


@pytest.fixture
def world() -> Iterator[StatusWorld]:
    """A cluster in memory."""
    world = StatusWorld()
    yield world
    world.close()


@pytest.mark.parametrize("flag", ["--zookeeper", "--zkconnect", "--zookeeper.connect"])
def test_zookeeper_is_accepted_under_all_names_of_the_original(flag: str) -> None:
    """Each of the original's tools has its own name for the flag."""
    assert parsed_arguments(flag, "zk:2181/chroot").zookeeper == "zk:2181/chroot"


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "ten", "1234567890"])
def test_a_wrong_duration_is_refused(text: str) -> None:
    """A time-out must be a positive integer of milliseconds."""
    with pytest.raises(SystemExit, match="2"):
        parsed_arguments(f"--timeout-ms={text}")


def test_a_missing_cluster_is_an_error() -> None:
    """The error names both flags that can give one."""
    both = r"--zookeeper HOSTS, or --bootstrap-server HOSTS"
    with pytest.raises(ConfigError, match=both), open_cluster(parsed_arguments()):
        pass


def test_zookeeper_groups_need_zookeeper() -> None:
    """Without ZooKeeper they are refused, rather than reported as none."""
    args = parsed_arguments("--bootstrap-server", "b0:9092")
    args.kind = GroupKind.ZOOKEEPER
    with pytest.raises(ConfigError, match="--kind zookeeper needs"), open_cluster(args):
        pass


def test_groups_unknown_without_zookeeper_are_mentioned(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A list of all groups, and the error for an unknown one, say that ZooKeeper was not given."""
    alone = BrokersAlone(bootstrap_servers="b:9092", no_zookeeper=False)
    snapshot = ClusterSnapshot(taken_ms=0, zookeeper_connect=None, brokers_alone=alone)
    print_unknown(snapshot, None)
    assert "unknown, since no ZooKeeper was given" in capsys.readouterr().err
    print_unknown(snapshot, GroupKind.COORDINATOR)
    assert capsys.readouterr().err == ""
    with pytest.raises(ConfigError, match=r"no group g at a coordinator.*unknown, since"):
        find_group(snapshot, "g", None)


def test_an_error_says_that_no_broker_is_registered(world: StatusWorld) -> None:
    """The error names the ZooKeeper path that was read, and what to check."""
    for number in range(2):
        world.tree.delete(f"/brokers/ids/{number}")
    args = parsed_arguments("--zookeeper", "zk")
    with (
        opening(world)(args) as access,
        pytest.raises(RegistryError, match=r"registered in zk: .* down"),
    ):
        _ = access.client


def test_a_group_is_found_or_similar_names_are_suggested() -> None:
    """A group that exists in both places needs ``--kind``."""
    in_zookeeper, in_kafka = group_of(), group_of(kind=GroupKind.COORDINATOR)
    orders = group_of(group_id="orders-eu")
    snapshot = snapshot_of(in_zookeeper, in_kafka, orders, at_ms=0)
    assert find_group(snapshot, "g", GroupKind.COORDINATOR) is in_kafka
    assert find_group(snapshot, "orders-eu", None) is orders
    with pytest.raises(ConfigError, match="--kind zookeeper or --kind coordinator"):
        find_group(snapshot, "g", None)
    with pytest.raises(ConfigError, match=r"did you mean orders-eu\?"):
        find_group(snapshot, "order-eu", None)
    with pytest.raises(ConfigError, match=r"\(coordinator\)"):
        find_group(snapshot, "orders-eu", GroupKind.COORDINATOR)
    nothing = snapshot_of(at_ms=0)
    with pytest.raises(ConfigError, match="but no broker is registered"):
        find_group(nothing, "g", None)
    brokers = (BrokerStatus(broker=Broker(1, "b", 9092), seen_ms=0),)
    with pytest.raises(ConfigError, match="the cluster has no groups"):
        find_group(replace(nothing, brokers=brokers), "g", None)
