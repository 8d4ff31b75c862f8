"""The brokers as the leader finder asks for them: from ZooKeeper, or as last seen there."""

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
    """Reads ``/brokers/ids``; while ZooKeeper is away, what it said last. Thread: leader finder."""

    def __init__(self, registry: GroupRegistry) -> None:
        self._registry = registry
        self._last: RegisteredBrokers | None = None

    def read(self) -> Sequence[Broker]:
        """The live brokers.

        Raises:
            RegistryError: ZooKeeper can't be asked, and never could.
        """
        try:
            self._last = self._registry.read_brokers()
        except RegistryError as error:
            if self._last is None or not self._last.brokers:
                raise
            log.info("brokers as last seen: %s", error)
        return self._last.brokers

    def versions_of(self, broker: Broker) -> BrokerVersions | None:
        """What a broker serves by its registration; None where it is to be asked. Thread: any.

        Those of 0.8 and 0.9 can't say, and register as no later one does (but for one that is told
        to be taken for such: what it is sent, it serves).
        """
        found = self._last
        is_old = found is not None and (found.are_old or broker.id in found.old_ids)
        return of_generation(OLDEST) if is_old else None
