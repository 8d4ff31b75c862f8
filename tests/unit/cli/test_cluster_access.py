"""What commands open, and the groups they name."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.support.opened_cluster import opening, parsed_arguments
from tests.support.status import group_of, snapshot_of
from tests.support.status_world import StatusWorld
from zkconsumer.cli.cluster_access import open_cluster
from zkconsumer.cli.cluster_responses import find_group
from zkconsumer.cli.without_zookeeper import print_unknown
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
    """A cluster."""
    world = StatusWorld()
    yield world
    world.close()


@pytest.mark.parametrize("flag", ["--zookeeper", "--zkconnect", "--zookeeper.connect"])
def test_zookeeper_has_the_names_of_the_originals(flag: str) -> None:
    """Each tool had its own."""
    assert parsed_arguments(flag, "zk:2181/chroot").zookeeper == "zk:2181/chroot"


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "ten", "1234567890"])
def test_a_wrong_duration_is_refused(text: str) -> None:
    """As wrong usage."""
    with pytest.raises(SystemExit, match="2"):
        parsed_arguments(f"--timeout-ms={text}")


def test_no_cluster_is_refused_in_words() -> None:
    """Both ways to say where one is are named."""
    both = r"--zookeeper HOSTS, or --bootstrap-server HOSTS"
    with pytest.raises(ConfigError, match=both), open_cluster(parsed_arguments()):
        pass


def test_groups_of_a_zookeeper_that_nobody_gave_are_refused() -> None:
    """Rather than said to be none."""
    args = parsed_arguments("--bootstrap-server", "b0:9092")
    args.kind = GroupKind.ZOOKEEPER
    with pytest.raises(ConfigError, match="--kind zookeeper needs"), open_cluster(args):
        pass


def test_what_is_not_known_is_said_once_to_who_asks_for_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And with the name of a group that is not there, which may be in ZooKeeper."""
    alone = BrokersAlone(bootstrap_servers="b:9092", no_zookeeper=False)
    snapshot = ClusterSnapshot(taken_ms=0, zookeeper_connect=None, brokers_alone=alone)
    print_unknown(snapshot, None)
    assert "unknown, since no ZooKeeper was given" in capsys.readouterr().err
    print_unknown(snapshot, GroupKind.COORDINATOR)
    assert capsys.readouterr().err == ""
    with pytest.raises(ConfigError, match=r"no group g at a coordinator.*unknown, since"):
        find_group(snapshot, "g", None)


def test_no_broker_to_ask(world: StatusWorld) -> None:
    """It says where it looked, and what to look at."""
    for number in range(2):
        world.tree.delete(f"/brokers/ids/{number}")
    args = parsed_arguments("--zookeeper", "zk")
    with (
        opening(world)(args) as access,
        pytest.raises(RegistryError, match=r"registered in zk: .* down"),
    ):
        _ = access.client


def test_a_group_is_found_or_its_like_are_named() -> None:
    """In one place, or in the one that is said."""
    one, other = group_of(), group_of(kind=GroupKind.COORDINATOR)
    orders = group_of(group_id="orders-eu")
    snapshot = snapshot_of(one, other, orders, at_ms=0)
    assert find_group(snapshot, "g", GroupKind.COORDINATOR) is other
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
