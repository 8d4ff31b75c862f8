"""The brokers as the leader finder sees them: read from ZooKeeper, or the last known list."""

import logging
from collections.abc import Sequence

from zkconsumer.errors import RegistryError
from zkconsumer.model import Broker
from zkconsumer.wire.negotiation import BrokerVersions, of_generation
from zkconsumer.wire.versions import OLDEST
from zkconsumer.zk.group_values import BrokerList as RegisteredBrokers
from zkconsumer.zk.registry import GroupRegistry

log = logging.getLogger(__name__)


class LiveBrokers:
    """Reads ``/brokers/ids``; returns the last known list while ZooKeeper is away.

    Thread: leader finder.
    """

    def __init__(self, registry: GroupRegistry) -> None:
        self._registry = registry
        self._last: RegisteredBrokers | None = None

    def read(self) -> Sequence[Broker]:
        """Return the live brokers, or the last known ones.

        Raises:
            RegistryError: ZooKeeper can't be read, and never could.
        """
        try:
            self._last = self._registry.read_brokers()
        except RegistryError as error:
            if self._last is None or not self._last.brokers:
                raise
            log.info("brokers as last seen: %s", error)
        return self._last.brokers

    def versions_of(self, broker: Broker) -> BrokerVersions | None:
        """Return what a broker serves by its registration; None: ask the broker. Thread: any.

        Brokers of 0.8 and 0.9 can't be asked, and no later broker registers as they do (except one
        that is configured to register so: it serves what it is sent).
        """
        registered = self._last
        is_old = registered is not None and (registered.are_old or broker.id in registered.old_ids)
        return of_generation(OLDEST) if is_old else None
