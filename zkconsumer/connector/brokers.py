"""The brokers as the leader finder asks for them: from ZooKeeper, or as last seen there."""

import logging
from collections.abc import Sequence

from zkconsumer.errors import RegistryError
from zkconsumer.model import Broker
from zkconsumer.zk.registry import GroupRegistry

log = logging.getLogger(__name__)


class BrokerList:
    """Reads ``/brokers/ids``; while ZooKeeper is away, what it said last. Thread: leader finder."""

    def __init__(self, registry: GroupRegistry) -> None:
        self._registry = registry
        self._last: Sequence[Broker] = ()

    def read(self) -> Sequence[Broker]:
        """The live brokers.

        Raises:
            RegistryError: ZooKeeper can't be asked, and never could.
        """
        try:
            self._last = self._registry.read_brokers().brokers
        except RegistryError as error:
            if not self._last:
                raise
            log.info("brokers as last seen: %s", error)
        return self._last
