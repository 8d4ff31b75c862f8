"""What commands open, and the groups they name, on real threads."""

from collections.abc import Iterator

import pytest

from tests.support.opened_cluster import opening, parsed_arguments
from tests.support.status_world import StatusWorld
from zkconsumer.cli.cluster_access import CommandCluster
from zkconsumer.cli.cluster_responses import print_unknown
from zkconsumer.errors import ConfigError, RegistryError
from zkconsumer.model import Broker
from zkconsumer.status.model import (
    GroupKey,
    GroupKind,
)


@pytest.fixture
def world() -> Iterator[StatusWorld]:
    """A cluster in memory."""
    world = StatusWorld()
    yield world
    world.close()


def test_brokers_without_zookeeper_are_enough(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only a command that needs ZooKeeper fails, and says which option is missing."""
    access = CommandCluster(
        store=None,
        dialer=world.cluster.dialer(),
        zookeeper_connect=None,
        bootstrap=world.cluster.bootstrap,
        clock=world.clock,
    )
    try:
        snapshot = access.snapshot()
        read = access.cluster()
        with pytest.raises(ConfigError, match="give --zookeeper"):
            _ = access.store
    finally:
        access.close()
    assert [broker.broker.id for broker in read.brokers] == [0, 1]
    assert [topic.name for topic in read.topics] == ["t"]
    assert snapshot.zookeeper == "none"
    print_unknown(snapshot, None)
    assert capsys.readouterr().err == ""


def test_a_snapshot_has_groups_of_both_kinds(world: StatusWorld) -> None:
    """The brokers' addresses come from ZooKeeper."""
    world.zookeeper_group()
    with opening(world)(parsed_arguments("--zookeeper", "zk/chroot")) as access:
        snapshot = access.snapshot()
        view = access.client.view(None, timeout_ms=1_000)
    assert GroupKey(GroupKind.ZOOKEEPER, "g") in snapshot.groups
    assert snapshot.zookeeper_connect == "zk/chroot"
    assert sorted(view.brokers) == [0, 1]


def test_a_zookeeper_that_does_not_respond_is_an_error(world: StatusWorld) -> None:
    """No snapshot is taken then."""
    world.tree.store.close()
    args = parsed_arguments("--zookeeper", "zk")
    with opening(world)(args) as access, pytest.raises(RegistryError, match="can't be read"):
        access.snapshot()


def test_given_brokers_take_precedence_over_registered_addresses(world: StatusWorld) -> None:
    """The registrations in ZooKeeper may name another listener."""
    world.tree.write("/brokers/ids/0", b'{"host":"nowhere","port":1,"version":1}')
    access = CommandCluster(
        store=world.tree.store,
        dialer=world.cluster.dialer(),
        zookeeper_connect="zk",
        bootstrap=[Broker(-1, "b1", 9092)],
        clock=world.clock,
    )
    try:
        [topic] = access.snapshot().topics
    finally:
        access.close()
    assert [partition.problem for partition in topic.partitions] == [None, None]
    assert None not in [partition.log_end for partition in topic.partitions]
