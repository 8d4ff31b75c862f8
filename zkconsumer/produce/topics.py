"""Ensures that topics exist before they are written to.

From 0.10.1 on the controller creates topics on request (KIP-4), and since 2.8 every broker forwards
the request to it. Older brokers create a topic with their default number of partitions on a
metadata request, if configured so (``auto.create.topics.enable``).
Source: Kafka 0.10.1 and 3.9 ``CreateTopicsRequest``, ``KafkaAdminClient``.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.call_deadline import CallDeadline, StopFlag
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import (
    BrokerError,
    ConfigError,
    RequestTimedOut,
    TransportError,
)
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.topic_admin import (
    BROKER_DEFAULT,
    FIRST_WITH_DEFAULTS,
    CreateTopicsRequest,
    CreateTopicsResponse,
    NewTopic,
)

_BACKOFF_MS: Final = 100
_MOST_REPLICAS: Final = 3
_THERE: Final = frozenset({ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS})
_PERHAPS_THERE: Final = ErrorCode.REQUEST_TIMED_OUT


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsuredTopic:
    """A topic that exists, and whose partitions have leaders.

    Attributes:
        partitions: the number of partitions; may differ from the requested number if the topic
            existed, or was auto-created by an old broker.
        created: whether it did not exist before.
    """

    partitions: int
    created: bool


def ensure_topics(
    client: ClusterClient,
    dialer: BrokerDialer,
    wanted: Mapping[str, int],
    *,
    timeout_ms: int,
    replication_factor: int | None = None,
    clock: Clock | None = None,
) -> dict[str, EnsuredTopic]:
    """Create missing topics; return when all can be written to.

    Args:
        client: the client of the cluster; its ``stop`` interrupts this call.
        dialer: opens connections.
        wanted: the number of partitions for each topic.
        timeout_ms: the time limit of the call.
        replication_factor: of created topics; None for the cluster's default; if a broker can't
            apply that (before 2.4), three, or the number of brokers if that is less.
        clock: for deadlines.

    Raises:
        ConfigError: the brokers don't create topics; the message says what to do.
        BrokerError: a topic is refused; the message names it and the reason.
        RequestTimedOut: a partition has no leader within the time limit.
        ZkConsumerError: as ``ClusterClient.view``.
    """
    if not wanted:
        return {}
    creation = _Creation(client, dialer, dict(wanted), replication_factor)
    deadline = CallDeadline(
        clock or SystemClock(), StopFlag(), limit_ms=timeout_ms, backoff_ms=_BACKOFF_MS
    )
    return creation.run(deadline)


@dataclass(frozen=True, slots=True)
class _Creation:
    """One call of ``ensure_topics``. Thread: one."""

    client: ClusterClient
    dialer: BrokerDialer
    wanted: Mapping[str, int]
    replication_factor: int | None

    def run(self, deadline: CallDeadline) -> dict[str, EnsuredTopic]:
        view = self.client.view(self.wanted, timeout_ms=deadline.left_ms)
        missing = set(_missing(view, self.wanted))
        requested = False
        while True:
            _check_allowed(view)
            absent = sorted(_missing(view, missing))
            if absent and not requested:
                requested = self._create(view, absent, deadline)
            waiting = [topic for topic in self.wanted if not _can_be_written(view, topic)]
            if not waiting:
                return {
                    topic: EnsuredTopic(
                        partitions=len(view.partitions[topic]), created=topic in missing
                    )
                    for topic in self.wanted
                }
            if not deadline.pause():
                raise RequestTimedOut(
                    f"{_all(waiting)}: not every partition has a leader in time: check that enough "
                    "brokers are up"
                )
            view = self.client.view(self.wanted, timeout_ms=max(1, deadline.left_ms))

    def _create(self, view: ClusterView, topics: Collection[str], deadline: CallDeadline) -> bool:
        """Request the topics; return False if the request has to be repeated."""
        if not view.brokers:
            # Only a 0.8 cluster without topics responds like this.
            self._create_on_demand(topics, deadline)
            return True
        try:
            connection = self.dialer.dial(
                _brokers_to_try(view), timeout_ms=max(1, deadline.left_ms)
            )
        except TransportError:
            if deadline.left_ms <= 0:
                raise
            return False
        try:
            if not connection.versions.has(ApiKey.CREATE_TOPICS):
                self._create_on_demand(topics, deadline)
                return True
            return self._request(connection, view, topics, deadline)
        except TransportError:
            if deadline.left_ms <= 0:
                raise
            return False
        finally:
            connection.close()

    def _request(
        self,
        connection: NegotiatedConnection,
        view: ClusterView,
        topics: Collection[str],
        deadline: CallDeadline,
    ) -> bool:
        takes_defaults = connection.version_of(CreateTopicsRequest) >= FIRST_WITH_DEFAULTS
        replicas = self.replication_factor
        if replicas is None:
            replicas = BROKER_DEFAULT if takes_defaults else min(_MOST_REPLICAS, len(view.brokers))
        left_ms = max(1, deadline.left_ms)
        request = CreateTopicsRequest(
            topics=tuple(
                NewTopic(
                    name=topic,
                    num_partitions=self.wanted[topic],
                    replication_factor=replicas,
                )
                for topic in topics
            ),
            timeout_ms=left_ms,
        )
        return _all_accepted(connection.call(request, timeout_ms=left_ms))

    def _create_on_demand(self, topics: Collection[str], deadline: CallDeadline) -> None:
        """Auto-create topics, on brokers that lack CreateTopics."""
        view = self.client.view(topics, timeout_ms=max(1, deadline.left_ms), allow_auto_create=True)
        refused = sorted(_missing(view, topics))
        if refused:
            raise ConfigError(
                f"{_all(refused)} missing, and the brokers, older than Kafka 0.10.1, create no "
                "topics on demand (auto.create.topics.enable=false): create with Kafka's own tools"
            )


def _all_accepted(response: CreateTopicsResponse) -> bool:
    """Return whether all topics exist, or are being created; False if the request may be repeated.

    Raises:
        BrokerError: a topic is refused.
    """
    settled = True
    for topic in response.topics:
        code = topic.error_code
        if code in _THERE or code == _PERHAPS_THERE:
            continue
        if not ErrorCode.of(code).retriable:
            reported = f": {topic.error_message}" if topic.error_message else ""
            raise BrokerError(
                code,
                "CreateTopics",
                f"topic {topic.name} could not be created: {error_name(code)}{reported}",
            )
        settled = False
    return settled


def _brokers_to_try(view: ClusterView) -> Broker:
    """Return the controller; any broker if it is unknown, or not a broker (Kafka 4)."""
    controller = view.brokers.get(-1 if view.controller_id is None else view.controller_id)
    return controller or next(iter(view.brokers.values()))


def _check_allowed(view: ClusterView) -> None:
    """Check for permanent errors.

    Raises:
        BrokerError: a name is invalid, or a topic is not authorized.
    """
    for topic, code in view.errors.items():
        if not ErrorCode.of(code).retriable:
            raise BrokerError(code, "Metadata", f"topic {topic}: {error_name(code)}")


def _missing(view: ClusterView, topics: Collection[str]) -> list[str]:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return [topic for topic in topics if view.errors.get(topic) == unknown]


def _can_be_written(view: ClusterView, topic: str) -> bool:
    partitions = view.partitions.get(topic, ())
    led = [TopicPartition(topic, partition) in view.leaders for partition in partitions]
    return bool(led) and all(led)


def _all(topics: Collection[str]) -> str:
    names = sorted(topics)
    return f"topic{'s' if len(names) > 1 else ''} {', '.join(names)}"
