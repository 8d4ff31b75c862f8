"""The components of a consumer, as far as its public class needs them."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from zkconsumer.clock import Clock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.metadata_manager import MetadataManager
from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.measuring.measures import Measures
from zkconsumer.consumer.one_caller import SingleCaller
from zkconsumer.consumer.poll_loop import PollLoop
from zkconsumer.consumer.session import PollSession
from zkconsumer.consumer.wakeup import Wakeup
from zkconsumer.fetch.polled.engine import PollEngine
from zkconsumer.model import TopicPartition
from zkconsumer.records.consumer_record import RecordOrigin
from zkconsumer.scope import ThreadScope

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerComponents:
    """All components of one consumer.

    Attributes:
        stops: functions that request components to stop, called in order; none of them blocks.
        scope: the threads of all components.
        origins: the data shared by a partition's records, created as needed.
    """

    config: PollConfig
    clock: Clock
    wakeup: Wakeup
    one_caller: SingleCaller
    scope: ThreadScope
    client: ClusterClient
    metadata: MetadataManager
    engine: PollEngine
    session: PollSession
    loop: PollLoop
    measures: Measures
    stops: tuple[Callable[[], None], ...]
    origins: dict[TopicPartition, RecordOrigin] = field(default_factory=dict)

    def origin(self, tp: TopicPartition) -> RecordOrigin:
        """Return the data shared by a partition's records."""
        found = self.origins.get(tp)
        if found is None:
            found = self.origins[tp] = self.config.objects.origin_of(tp)
        return found

    def close(self, timeout_ms: int, *, commit: bool) -> None:
        """Leave the group and end all threads, within a time limit whatever the network does."""
        deadline_ms = self.clock.now_ms() + timeout_ms
        try:
            # Keep some of the time for components that did not stop in order.
            self.session.close(timeout_ms - min(1000, timeout_ms // 4), commit=commit)
        finally:
            for stop in self.stops:
                stop()
            left = self.scope.close(max(0, deadline_ms - self.clock.now_ms()))
            self.config.objects.close()
        if left:
            log.error("%s: still running after %d ms: %s", self.scope.name, timeout_ms, left)
