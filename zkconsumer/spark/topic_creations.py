"""Looks up topics' creations in ZooKeeper or from brokers, to detect recreated topics.

Creations are optional: if neither responds, queries continue without them.
"""

import logging
from collections.abc import Callable, Collection
from typing import Final

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import ZkConsumerError
from zkconsumer.spark import zookeeper
from zkconsumer.spark.address import ClusterAddress
from zkconsumer.spark.creations import Creations
from zkconsumer.zk.store import ZkStore
from zkconsumer.zk.topic_nodes import topic_czxids

log = logging.getLogger(__name__)

_AGAIN_AFTER_MS: Final = 10_000
"""The pause after a failure: a query must not wait for unreachable brokers."""


class TopicCreations:
    """Looks up topic creations. Thread: one at a time; ``close`` any.

    Args:
        address: where the cluster is.
        view_of: reads metadata from brokers, if ZooKeeper is not given.
        clock: measures the pause after a failure.
    """

    def __init__(
        self,
        address: ClusterAddress,
        *,
        view_of: Callable[[Collection[str]], ClusterView],
        clock: Clock | None = None,
    ) -> None:
        self._address = address
        self._view_of = view_of
        self._clock = clock or SystemClock()
        self._store: ZkStore | None = None
        self._not_before_ms: int | None = None
        self._without_ids = False

    def read(self, topics: Collection[str]) -> Creations:
        """Return the known creations of topics; empty if they can't be looked up now."""
        now_ms = self._clock.now_ms()
        if not topics or (self._not_before_ms is not None and now_ms < self._not_before_ms):
            return {}
        self._not_before_ms = None
        try:
            if self._address.zookeeper_connect is not None:
                return self._in_zookeeper(topics)
            return self._by_id(topics)
        except ZkConsumerError as error:
            log.info("whether topics were created again is not known now: %s", error)
            self._not_before_ms = self._clock.now_ms() + _AGAIN_AFTER_MS
            self.close()
            return {}

    def close(self) -> None:
        """Close the ZooKeeper session. Idempotent."""
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _in_zookeeper(self, topics: Collection[str]) -> Creations:
        if self._store is None:
            self._store = zookeeper.open_zookeeper(self._address)
        if not self._store.connected:
            return {}  # the query does not wait for it
        found = topic_czxids(self._store, topics)
        return {topic: f"czxid:{czxid:x}" for topic, czxid in found.items()}

    def _by_id(self, topics: Collection[str]) -> Creations:
        if self._without_ids:
            return {}
        view = self._view_of(topics)
        # Brokers before 2.8 have no topic ids.
        self._without_ids = bool(view.partitions) and not view.topic_ids
        return {topic: f"id:{topic_id.hex()}" for topic, topic_id in view.topic_ids.items()}
