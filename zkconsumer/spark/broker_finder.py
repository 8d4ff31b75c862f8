"""Finds brokers: those given, registered in ZooKeeper, or listed by other brokers."""

import logging
from collections.abc import Callable, Iterable

from zkconsumer.errors import ConnectFailed, RegistryError
from zkconsumer.model import Broker
from zkconsumer.spark.address import ClusterAddress
from zkconsumer.spark.zookeeper import open_zookeeper
from zkconsumer.zk.group_reader import read_brokers
from zkconsumer.zk.group_values import BrokerList
from zkconsumer.zk.live_brokers import why_no_brokers

log = logging.getLogger(__name__)


class BrokerFinder:
    """Finds brokers; connects to ZooKeeper briefly, as a last resort. Thread: one at a time.

    Args:
        address: the cluster's address.
        read: reads the registrations.

    Attributes:
        are_old: whether all brokers were of 0.8 or 0.9 according to their last registrations.
    """

    def __init__(
        self,
        address: ClusterAddress,
        *,
        read: Callable[[ClusterAddress], BrokerList] | None = None,
    ) -> None:
        self._address = address
        self._read = read or read_registered
        self._known: tuple[Broker, ...] = ()
        self._is_doubted = False
        self.are_old = False

    def brokers(self) -> tuple[Broker, ...]:
        """Return the last known live brokers; after a failure, also those given or registered.

        Given brokers have negative ids, since their ids are unknown.

        Raises:
            RegistryError: ZooKeeper does not respond, and no broker is known.
            ConnectFailed: no live broker is registered in ZooKeeper; says why.
        """
        if self._known and not self._is_doubted:
            return self._known
        return tuple(
            dict.fromkeys((*self._known, *(self._address.bootstrap or self._registered())))
        )

    def learn(self, brokers: Iterable[Broker]) -> None:
        """Record the live brokers that a broker's response lists."""
        self._known = tuple(sorted(brokers))
        self._is_doubted = False

    def doubt(self) -> None:
        """Record a failure: known brokers may be gone."""
        self._is_doubted = True

    def _registered(self) -> tuple[Broker, ...]:
        try:
            found = self._read(self._address)
        except (RegistryError, ConnectFailed) as error:
            if not self._known:
                raise
            log.info("brokers as last seen: %s", error)
            return ()
        self.are_old = found.are_old
        return found.brokers


def read_registered(address: ClusterAddress) -> BrokerList:
    """Read the brokers registered in ZooKeeper, over a separate session.

    Raises:
        RegistryError: ZooKeeper does not respond.
        ConnectFailed: no broker is registered; says why.
    """
    where = address.zookeeper_connect
    assert where is not None, "an address names brokers or ZooKeeper"
    store = open_zookeeper(address)
    try:
        found = read_brokers(store, None, protocol=address.broker_security.protocol)
        why = None if found.brokers else why_no_brokers(store, where)
    finally:
        store.close()
    for reason in found.malformed.values():
        log.warning("a broker's registration can't be read: %s", reason)
    if why is not None:
        raise ConnectFailed(str(why))
    return found
