"""The components of a consumer that its public class uses."""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from zkconsumer.clock import Clock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.metadata_manager import MetadataManager
from zkconsumer.consumer.arguments import topics_of
from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.measuring.measures import Measures
from zkconsumer.consumer.one_caller import SingleCaller
from zkconsumer.consumer.poll_loop import PollLoop
from zkconsumer.consumer.session import PollSession
from zkconsumer.consumer.wakeup import Wakeup
from zkconsumer.errors import NoBrokersAvailable, RemoteProtocolError
from zkconsumer.fetch.polled.engine import PollEngine
from zkconsumer.model import TopicPartition
from zkconsumer.records.consumer_record import RecordOrigin
from zkconsumer.scope import ThreadScope
from zkconsumer.wire.releases import Release

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerComponents:
    """All components of one consumer.

    Attributes:
        stops: functions that make components stop, called in this order; none of them blocks.
        scope: the threads of all components.
        origins: the data shared by the records of each partition, created when needed.
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
        """Return the data that the records of a partition share."""
        found = self.origins.get(tp)
        if found is None:
            found = self.origins[tp] = self.config.objects.origin_of(tp)
        return found

    def connect(self, topics: Collection[str]) -> Release | None:
        """Request the metadata of the topics to read; the first poll uses the response.

        Args:
            topics: the topics that the consumer will subscribe to; may be empty.

        Returns:
            The Kafka release of the broker that responded; None if unknown.

        Raises:
            IllegalArgumentError: an item is no topic name.
            NoBrokersAvailable: no Kafka broker responded within ``bootstrap_timeout_ms``.
            AuthenticationFailed, UnsupportedVersion, BrokerError: the broker refused the request.

        Source: kafka-python's ``KafkaConsumer.bootstrap``.
        """
        try:
            self.metadata.begin(topics_of(topics), timeout_ms=self.config.bootstrap_timeout_ms)
        except RemoteProtocolError as error:
            raise NoBrokersAvailable(str(error)) from error
        return self.client.release

    def close(self, timeout_ms: int, *, commit: bool) -> None:
        """Leave the group and end all threads, within the time limit even if the network hangs."""
        deadline_ms = self.clock.now_ms() + timeout_ms
        try:
            # Reserve some of the time for threads that are slow to end.
            self.session.close(timeout_ms - min(1000, timeout_ms // 4), commit=commit)
        finally:
            for stop in self.stops:
                stop()
            left = self.scope.close(max(0, deadline_ms - self.clock.now_ms()))
            self.config.objects.close()
        if left:
            log.error("%s: still running after %d ms: %s", self.scope.name, timeout_ms, left)
