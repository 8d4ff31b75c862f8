"""Which brokers a query requests metadata from."""

import pytest

from zkconsumer.errors import ConnectFailed, RegistryError
from zkconsumer.model import Broker
from zkconsumer.spark.address import ClusterAddress
from zkconsumer.spark.broker_finder import BrokerFinder
from zkconsumer.zk.absence import NoBrokers
from zkconsumer.zk.group_values import BrokerList

ONE, TWO, THREE = (Broker(number, f"h{number}", 9092) for number in (1, 2, 3))


class Registry:
    """The brokers in ZooKeeper, and how often they were read; None for a ZooKeeper that is down."""

    def __init__(self, *brokers: Broker) -> None:
        self.brokers: tuple[Broker, ...] | None = brokers
        self.are_old = False
        self.snapshots = 0

    def read(self, address: ClusterAddress) -> BrokerList:
        """Return the registered brokers."""
        assert address == AT_ZOOKEEPER
        self.snapshots += 1
        if self.brokers is None:
            raise RegistryError("ZooKeeper z:1 does not answer")
        if not self.brokers:
            raise ConnectFailed(str(NoBrokers(zookeeper_connect="z:1", is_cluster=False)))
        return BrokerList(brokers=self.brokers, malformed={}, are_old=self.are_old)


AT_ZOOKEEPER = ClusterAddress(zookeeper_connect="z:1")


def test_registered_brokers_are_read_once() -> None:
    """ZooKeeper is read until a broker has named the others, and not again."""
    registry = Registry(ONE, TWO)
    finder = BrokerFinder(AT_ZOOKEEPER, read=registry.read)
    assert finder.brokers() == (ONE, TWO)
    finder.learn([TWO, ONE, THREE])
    assert finder.brokers() == finder.brokers() == (ONE, TWO, THREE)
    assert registry.snapshots == 1


def test_known_brokers_are_kept_beside_the_registered_ones() -> None:
    """When known brokers are in doubt they are kept, and the registered ones are added.

    All those that were known may be gone, and so may those that are registered.
    """
    registry = Registry(ONE)
    finder = BrokerFinder(AT_ZOOKEEPER, read=registry.read)
    finder.learn([ONE, TWO])
    finder.doubt()
    registry.brokers = (ONE, THREE)
    assert finder.brokers() == (ONE, TWO, THREE)
    finder.learn([THREE])
    assert finder.brokers() == (THREE,)


def test_without_zookeeper_the_known_brokers_are_kept() -> None:
    """A running query does not need ZooKeeper: it keeps to the brokers that it knows."""
    registry = Registry(ONE)
    finder = BrokerFinder(AT_ZOOKEEPER, read=registry.read)
    finder.learn([ONE, TWO])
    registry.brokers = None
    finder.doubt()
    assert finder.brokers() == (ONE, TWO)


def test_a_query_does_not_start_without_zookeeper() -> None:
    """A query does not start without ZooKeeper if that is the only way to the cluster."""
    registry = Registry()
    registry.brokers = None
    with pytest.raises(RegistryError, match="z:1"):
        BrokerFinder(AT_ZOOKEEPER, read=registry.read).brokers()


def test_a_cluster_without_brokers_is_named() -> None:
    """Where no brokers are registered, the error suggests that the chroot may be missing."""
    with pytest.raises(ConnectFailed, match=r"registered in z:1, .*chroot"):
        BrokerFinder(AT_ZOOKEEPER, read=Registry().read).brokers()


def test_brokers_that_are_given_need_no_zookeeper() -> None:
    """With brokers in the options ZooKeeper is not read, not even in doubt."""
    registry = Registry(THREE)
    given = (Broker(-1, "a", 1), Broker(-2, "b", 2))
    address = ClusterAddress(zookeeper_connect="z:1", bootstrap=given)
    finder = BrokerFinder(address, read=registry.read)
    assert finder.brokers() == given
    finder.learn([ONE])
    finder.doubt()
    assert finder.brokers() == (ONE, *given)
    assert registry.snapshots == 0


@pytest.mark.parametrize("are_old", [True, False])
def test_registrations_tell_whether_brokers_are_old(are_old: bool) -> None:
    """Whether brokers are old is as last registered: a cluster may be upgraded during a query."""
    registry = Registry(ONE)
    finder = BrokerFinder(AT_ZOOKEEPER, read=registry.read)
    for seen in (not are_old, are_old):
        registry.are_old = seen
        finder.doubt()
        finder.brokers()
    assert finder.are_old == are_old
